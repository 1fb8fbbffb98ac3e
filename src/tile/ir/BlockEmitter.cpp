//===- BlockEmitter.cpp - emits elements of tensors into blocks -----------===//

#include "tile/ir/BlockEmitter.h"

#include "graph/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::shapeOf;

//===----------------------------------------------------------------------===//
// Operations with expressions
//===----------------------------------------------------------------------===//

Value perpend::tile::createLoad(OpBuilder &builder, Location loc, Value buffer, ArrayRef<SymbolicInt> indices,
                                IndexNames &names) {
  SmallVector<Value> variables;
  graph::ShapeAttr list = names.write(builder.getContext(), indices, variables);
  Type scalar = cast<BufferType>(buffer.getType()).scalarType();
  return builder.create<LoadOp>(loc, scalar, buffer, variables, list);
}

void perpend::tile::createStore(OpBuilder &builder, Location loc, Value value, Value buffer,
                                ArrayRef<SymbolicInt> indices, IndexNames &names) {
  SmallVector<Value> variables;
  graph::ShapeAttr list = names.write(builder.getContext(), indices, variables);
  builder.create<StoreOp>(loc, value, buffer, variables, list);
}

ForOp perpend::tile::createFor(OpBuilder &builder, Location loc, const SymbolicInt &extent, StringRef name,
                               IndexNames &names, LoopKind kind) {
  SmallVector<Value> variables;
  graph::ShapeAttr list = names.write(builder.getContext(), extent, variables);
  auto loop =
      builder.create<ForOp>(loc, variables, list, kind, builder.getStringAttr(name), builder.getDictionaryAttr({}));
  loop.getRegion().emplaceBlock().addArgument(builder.getIndexType(), loc);
  return loop;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Records the range of a variable of a loop inside the block.
void BlockEmitter::addRange(Value variable) {
  auto argument = dyn_cast<BlockArgument>(variable);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (loop && variable == loop.getInductionVar() && isConstantIntValue(loop.getLowerBound(), 0))
    ranges.try_emplace(names.nameOf(variable), expression(loop.getUpperBound()));
}

/// The expression that index arithmetic computes; other values become symbols. Unsigned division is floordiv only if
/// neither operand can be negative.
SymbolicInt BlockEmitter::expression(Value index) {
  addRange(index);
  Operation *op = index.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantIndexOp>(op))
    return SymbolicInt(constant.value());
  if (auto computed = dyn_cast_or_null<IndexOp>(op))
    return names.read(computed.getExpression(), computed.getVariables()).front();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op))
    return names.symbol(index);
  SymbolicInt a = expression(op->getOperand(0)), b = expression(op->getOperand(1)), result;
  std::optional<IndexBounds> bounds = boundsOf(a, ranges);
  bool divides = bounds && bounds->low.knownNonNegative() && b.knownPositive();
  if (isa<arith::AddIOp>(op))
    result = a + b;
  else if (isa<arith::SubIOp>(op))
    result = a - b;
  else if (isa<arith::MulIOp>(op))
    result = a * b;
  else if (divides)
    result = isa<arith::DivUIOp>(op) ? floorDiv(a, b) : mod(a, b);
  else
    return names.symbol(index);
  return result.isPoison() ? names.symbol(index) : result;
}

Shape BlockEmitter::expressions(ValueRange index) {
  Shape list;
  for (Value value : index)
    list.push_back(simplify(expression(value), ranges));
  return list;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value BlockEmitter::element(OpBuilder &builder, Location loc, Value tensor, ValueRange index) {
  SmallVector<std::pair<SmallVector<Value>, Value>> &known = computed[tensor];
  for (auto &[at, value] : known)
    if (llvm::equal(at, index) && value.getParentRegion()->isAncestor(builder.getInsertionBlock()->getParent()))
      return value;
  Value value = newElement(builder, loc, tensor, index);
  computed[tensor].push_back({SmallVector<Value>(index), value});
  return value;
}

Value BlockEmitter::newElement(OpBuilder &builder, Location loc, Value tensor, ValueRange index) {
  if (Value buffer = bufferOf(tensor))
    return createLoad(builder, loc, buffer, expressions(index), names);
  if (DenseElementsAttr constant; matchPattern(tensor, m_Constant(&constant))) {
    auto scalar = constant.getSplatValue<Attribute>();
    if (auto integer = dyn_cast<IntegerAttr>(scalar))
      scalar = IntegerAttr::get(graph::scalarTypeOf(tensor), integer.getValue());
    return builder.create<arith::ConstantOp>(loc, cast<TypedAttr>(scalar));
  }
  return cast<graph::ElementInterface>(tensor.getDefiningOp()).element(builder, loc, index, *this);
}

Value BlockEmitter::extent(OpBuilder &builder, Location loc, const SymbolicInt &value) {
  if (std::optional<int64_t> number = value.constant())
    return builder.create<arith::ConstantIndexOp>(loc, *number);
  return names.emit(builder, loc, value);
}

/// Emits a reduction inline, as a loop that runs again at each use.
Value BlockEmitter::loop(OpBuilder &builder, Location loc, const SymbolicInt &count, Value initial, LoopBody body) {
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0), one = builder.create<arith::ConstantIndexOp>(loc, 1);
  auto loop = builder.create<scf::ForOp>(loc, zero, extent(builder, loc, count), one, initial);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value next = body(inner, loop.getInductionVar(), loop.getRegionIterArg(0));
  inner.setInsertionPointToEnd(loop.getBody());
  inner.create<scf::YieldOp>(loc, next);
  return loop.getResult(0);
}

//===----------------------------------------------------------------------===//
// Elements of sequences, which depend on one another
//===----------------------------------------------------------------------===//

namespace perpend::tile {
/// The part of the result that one instance computes: one index of the dimensions before the sequential ones, and a
/// chunk of the first dimension after them. If that is the last dimension, the chunk is whole cache lines.
class BlockSequence : public graph::SequenceEmitter {
public:
  BlockSequence(BlockEmitter &emitter, graph::SequenceInterface op)
      : SequenceEmitter(emitter), emitter(emitter), op(op), buffer(emitter.bufferOf(op->getResult(0))) {
    Shape shape = shapeOf(op->getResult(0));
    auto [first, last] = op.sequentialDims();
    before.append(shape.begin(), shape.begin() + first);
    behind.append(shape.begin() + last, shape.end());
    chunk = behind.size() == 1 ? 64 : 1;
  }

  SmallVector<BlockEmitter::Dimension> dimensions() {
    SmallVector<BlockEmitter::Dimension> list;
    for (const SymbolicInt &extent : before)
      list.push_back({extent, IteratorKind::Spatial, "i" + std::to_string(list.size())});
    if (!behind.empty())
      list.push_back({ceilDiv(behind.front(), SymbolicInt(chunk)), IteratorKind::Spatial, "lanes"});
    return list;
  }

  void emit(OpBuilder &builder, BlockOp block) {
    iterators.assign(block.iterators().begin(), block.iterators().end());
    op.emitSequence(builder, block.getLoc(), *this);
  }

  ValueRange outerIndex() override { return ArrayRef(iterators).take_front(before.size()); }

  void forEachLane(OpBuilder &builder, Location loc, LaneBody body) override {
    SmallVector<Value> lane;
    nest(builder, loc, lane, body);
  }

  Value load(OpBuilder &builder, Location loc, ValueRange index) override {
    return createLoad(builder, loc, buffer, emitter.expressions(index), emitter.names);
  }

  void store(OpBuilder &builder, Location loc, ValueRange index, Value scalar) override {
    createStore(builder, loc, scalar, buffer, emitter.expressions(index), emitter.names);
  }

private:
  void nest(OpBuilder &builder, Location loc, SmallVectorImpl<Value> &lane, LaneBody body) {
    if (lane.size() == behind.size())
      return body(builder, lane);
    const SymbolicInt &extent = behind[lane.size()];
    SymbolicInt from(0), to = extent;
    if (lane.empty()) {
      from = emitter.names.symbol(iterators.back()) * SymbolicInt(chunk);
      to = min(from + SymbolicInt(chunk), extent);
    }
    auto loop = builder.create<scf::ForOp>(loc, emitter.extent(builder, loc, from), emitter.extent(builder, loc, to),
                                           emitter.extent(builder, loc, SymbolicInt(1)));
    emitter.ranges[emitter.names.nameOf(loop.getInductionVar())] = extent;
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    lane.push_back(loop.getInductionVar());
    nest(inner, loc, lane, body);
    lane.pop_back();
  }

  BlockEmitter &emitter;
  graph::SequenceInterface op;
  Value buffer;
  Shape before, behind;
  int64_t chunk;
  SmallVector<Value> iterators;
};
} // namespace perpend::tile

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

SmallVector<BlockEmitter::Dimension> BlockEmitter::dimensionsOf(Value tensor) {
  if (auto sequence = dyn_cast<graph::SequenceInterface>(tensor.getDefiningOp()))
    return BlockSequence(*this, sequence).dimensions();
  SmallVector<Dimension> dimensions;
  for (const SymbolicInt &extent : shapeOf(tensor))
    dimensions.push_back({extent, IteratorKind::Spatial, "i" + std::to_string(dimensions.size())});
  unsigned reduced = 0;
  if (auto reduction = dyn_cast<graph::ReductionInterface>(tensor.getDefiningOp()))
    for (const SymbolicInt &extent : reduction.reducedExtents())
      dimensions.push_back({extent, IteratorKind::Reduced, "k" + std::to_string(reduced++)});
  return dimensions;
}

/// Emits a loop for each dimension of extent other than 1, and inside them a block with an empty body.
BlockOp BlockEmitter::emitNest(OpBuilder &builder, Location loc, ArrayRef<Dimension> dimensions, StringRef name) {
  OpBuilder inner = builder;
  Shape domain, bindings;
  SmallVector<int32_t> kinds;
  SmallVector<Attribute> iteratorNames;
  for (const Dimension &dimension : dimensions) {
    SymbolicInt binding(0);
    if (dimension.extent != SymbolicInt(1)) {
      ForOp loop = createFor(inner, loc, dimension.extent, dimension.name, names);
      binding = names.symbol(loop.variable());
      inner.setInsertionPointToStart(loop.body());
    }
    domain.push_back(dimension.extent);
    bindings.push_back(binding);
    kinds.push_back(static_cast<int32_t>(dimension.kind));
    iteratorNames.push_back(builder.getStringAttr("v" + dimension.name));
  }
  SmallVector<Value> variables;
  MLIRContext *context = builder.getContext();
  graph::ShapeAttr bound = names.write(context, bindings, variables);
  auto block = inner.create<BlockOp>(
      loc, variables, builder.getStringAttr(name), kinds, graph::ShapeAttr::get(context, domain), bound,
      graph::ShapeAttr::get(context, Shape()), builder.getArrayAttr(iteratorNames), builder.getDictionaryAttr({}));
  Block &body = block.getRegion().emplaceBlock();
  for (const Dimension &dimension : dimensions)
    // An iterator with a single value stays an iterator instead of becoming the constant 0, because primitives look for
    // iterators.
    if (Value iterator = body.addArgument(builder.getIndexType(), loc); dimension.extent != SymbolicInt(1))
      ranges[names.nameOf(iterator)] = dimension.extent;
  return block;
}

void BlockEmitter::emitBody(BlockOp block, Value tensor) {
  OpBuilder builder = OpBuilder::atBlockBegin(block.body());
  if (auto sequence = dyn_cast<graph::SequenceInterface>(tensor.getDefiningOp()))
    return BlockSequence(*this, sequence).emit(builder, block);
  Location loc = tensor.getLoc();
  SmallVector<Value> iterators(block.iterators());
  ArrayRef<Value> index = ArrayRef(iterators).take_front(shapeOf(tensor).size());
  Value buffer = bufferOf(tensor);
  auto reduction = dyn_cast<graph::ReductionInterface>(tensor.getDefiningOp());
  if (!reduction) {
    Value value = cast<graph::ElementInterface>(tensor.getDefiningOp()).element(builder, loc, index, *this);
    return createStore(builder, loc, value, buffer, expressions(index), names);
  }
  auto init = builder.create<InitOp>(loc);
  OpBuilder initBuilder = OpBuilder::atBlockBegin(&init.getRegion().emplaceBlock());
  createStore(initBuilder, loc, reduction.initial(initBuilder, loc), buffer, expressions(index), names);
  Value carried = createLoad(builder, loc, buffer, expressions(index), names);
  Value next = reduction.accumulate(builder, loc, index, ArrayRef(iterators).drop_front(index.size()), carried, *this);
  createStore(builder, loc, next, buffer, expressions(index), names);
}

/// Turns the operands of index comparisons into expressions, so that primitives can read them.
void BlockEmitter::makeReadable(BlockOp block) {
  block.getRegion().walk([&](arith::CmpIOp comparison) {
    if (!comparison.getLhs().getType().isIndex())
      return;
    OpBuilder builder(comparison);
    for (OpOperand &operand : comparison->getOpOperands())
      if (!isa_and_nonnull<arith::ConstantOp, IndexOp>(operand.get().getDefiningOp()))
        operand.set(names.emit(builder, comparison.getLoc(), simplify(expression(operand.get()), ranges)));
  });
}

void perpend::tile::removeDead(BlockOp block) {
  SmallVector<Operation *> operations;
  block.getRegion().walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : llvm::reverse(operations))
    if (isOpTriviallyDead(op))
      op->erase();
}

void BlockEmitter::emitBlock(OpBuilder &builder, Value tensor, StringRef name) {
  names = {};
  ranges.clear();
  computed.clear();
  BlockOp block = emitNest(builder, tensor.getLoc(), dimensionsOf(tensor), name);
  emitBody(block, tensor);
  makeReadable(block);
  removeDead(block);
}
