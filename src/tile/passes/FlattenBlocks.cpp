//===- FlattenBlocks.cpp - loops around blocks into loops on memory -------===//
//
// Runs when schedules have been applied. Buffers become 1-D (row-major), indices
// become arithmetic, blocks dissolve into the loops around them, in the form
// that docs/decisions/0001 describes: inputs, outputs, symbols, and the range of
// parallel units to run. The units of a kernel are the iterations of its
// outermost loop, if that is parallel and alone; otherwise there is one.
//
// The sum of a reduction stays in a register where nothing but reduced loops
// stands between the block and the place of its init.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/KernelAbi.h"
#include "tile/KernelEmitter.h"
#include "tile/KernelIndices.h"
#include "tile/passes/Passes.h"
#include "tile/schedule/Nests.h"

#include "graph/Attributes.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "graph/SymbolicCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEFLATTENBLOCKS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// A reduction whose sum is carried by the loops from `outermost` inwards.
struct Accumulation {
  ForOp outermost;
  BlockOp block;
  StoreOp store;
};

class Flattener {
public:
  Flattener(func::FuncOp kernel, func::FuncOp flat, ArrayRef<StringRef> symbolNames)
      : kernel(kernel), loc(kernel.getLoc()), arguments(flat.getArguments()), abi(kernel.getNumArguments(), 0),
        emitter(flat, arguments[abi.symbols()], symbolNames) {
    for (auto [buffer, memory] : llvm::zip(kernel.getArguments(), arguments))
      mapping.map(buffer, memory);
  }

  /// Returns the number of parallel units.
  graph::SymbolicInt run(OpBuilder &builder);

private:
  ForOp parallelLoop();
  void separateInits();
  void emit(OpBuilder &builder, Block &block);
  void emit(OpBuilder &builder, Operation &op);
  void emitLoop(OpBuilder &builder, ForOp loop);
  void emitBlock(OpBuilder &builder, BlockOp block);
  void emitInstance(OpBuilder &builder, BlockOp block);
  void mapIterators(OpBuilder &builder, BlockOp block);
  void emitOther(OpBuilder &builder, Operation &op);
  void allocate(AllocOp op);
  void iterate(OpBuilder &builder, ForOp loop, llvm::function_ref<void(OpBuilder &)> body);

  std::optional<Accumulation> accumulationAt(ForOp loop);
  bool isInvariant(Operation *access, BlockOp block, ArrayRef<ForOp> loops);
  void emitAccumulation(OpBuilder &builder, const Accumulation &accumulation);
  void emitElement(OpBuilder &builder, const Accumulation &accumulation);
  Value accumulateLoops(OpBuilder &builder, const Accumulation &accumulation, ForOp loop, Value carried);
  Value accumulateBlock(OpBuilder &builder, const Accumulation &accumulation, Value carried);

  /// The conditions that depend on a loop from `loop` inwards, or (`inside` false) the others; null without any.
  Value conditionOf(OpBuilder &builder, BlockOp block, ForOp loop = {}, bool inside = false);
  Value value(OpBuilder &builder, const SymbolicInt &expression);
  Value position(OpBuilder &builder, const Access &access);
  Value memoryOf(Value buffer) { return mapping.lookup(buffer); }

  func::FuncOp kernel;
  Location loc;
  ValueRange arguments;
  /// Inputs and outputs are buffers alike.
  KernelAbi abi;
  KernelEmitter emitter;
  KernelIndices indices;
  IRMapping mapping;
};
} // namespace

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value Flattener::value(OpBuilder &builder, const SymbolicInt &expression) {
  std::set<std::string> used;
  expression.symbols(used);
  bool isFixed = llvm::none_of(used, [&](const std::string &name) { return indices.names.value(name); });
  if (isFixed)
    return emitter.extent(builder, loc, expression);
  return graph::emitSymbolicInt(builder, loc, expression, [&](StringRef name) {
    Value known = indices.names.value(name);
    return known ? mapping.lookup(known) : emitter.extent(builder, loc, SymbolicInt::symbol(name));
  });
}

Value Flattener::position(OpBuilder &builder, const Access &access) {
  Shape shape = cast<BufferType>(access.buffer().getType()).extents();
  SymbolicInt sum;
  for (auto [index, stride] : llvm::zip(indices.indicesOf(access), graph::rowMajorStrides(shape)))
    sum += index * stride;
  return value(builder, simplify(sum, indices.rangesAround(access.op)));
}

Value Flattener::conditionOf(OpBuilder &builder, BlockOp block, ForOp loop, bool inside) {
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  Value all;
  for (size_t i = 0; i < conditions.size(); i += 2) {
    bool isInside =
        loop && llvm::any_of(loopsAround(block, loop->getParentOp()), [&](ForOp around) {
          return usesLoop(conditions[i], around, indices.names) || usesLoop(conditions[i + 1], around, indices.names);
        });
    if (isInside != inside)
      continue;
    Value holds = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, value(builder, conditions[i]),
                                                value(builder, conditions[i + 1]));
    all = all ? builder.create<arith::AndIOp>(loc, all, holds) : holds;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Loops and blocks
//===----------------------------------------------------------------------===//

/// The loop whose iterations are the kernel's units; null: the kernel is one unit.
ForOp Flattener::parallelLoop() {
  auto body = kernel.getBody().front().without_terminator();
  auto loop = llvm::hasSingleElement(body) ? dyn_cast<ForOp>(*body.begin()) : ForOp();
  return loop && loop.getKind() == LoopKind::Parallel ? loop : ForOp();
}

/// A reduction without any instance has the value of its init: where no loop carries the sum, init is a nest of its
/// own.
void Flattener::separateInits() {
  SmallVector<BlockOp> blocks;
  kernel.walk([&](BlockOp block) { blocks.push_back(block); });
  for (BlockOp block : blocks) {
    if (!block.init() || !mayBeEmpty(block))
      continue;
    ForOp outermost;
    bool isCarried = false;
    for (ForOp loop : loopsAround(block)) {
      isCarried |= accumulationAt(loop).has_value();
      for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
        if (!outermost && block.kind(i) == IteratorKind::Reduced && usesLoop(binding, loop, indices.names))
          outermost = loop;
    }
    std::string why;
    if (!isCarried && outermost && decomposeReduction(kernel, block, outermost, why))
      indices = {}; // what it knows of operations that are gone
  }
}

graph::SymbolicInt Flattener::run(OpBuilder &builder) {
  separateInits();
  Value begin = arguments[abi.begin()], end = arguments[abi.end()];
  ForOp parallel = parallelLoop();
  auto units = builder.create<scf::ForOp>(loc, begin, end, emitter.constant(1));
  OpBuilder inner = OpBuilder::atBlockBegin(units.getBody());
  if (!parallel) {
    emit(inner, kernel.getBody().front());
    return SymbolicInt(1);
  }
  mapping.map(parallel.variable(), units.getInductionVar());
  emit(inner, *parallel.body());
  return indices.extentOf(parallel);
}

void Flattener::emit(OpBuilder &builder, Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      emit(builder, op);
}

void Flattener::emit(OpBuilder &builder, Operation &op) {
  if (auto loop = dyn_cast<ForOp>(op))
    return emitLoop(builder, loop);
  if (auto block = dyn_cast<BlockOp>(op))
    return emitBlock(builder, block);
  if (auto alloc = dyn_cast<AllocOp>(op))
    return allocate(alloc);
  if (auto index = dyn_cast<IndexOp>(op)) {
    SymbolicInt expression = indices.resolve(index.getExpression(), index.getVariables()).front();
    return mapping.map(index.getResult(), value(builder, simplify(expression, indices.rangesAround(index))));
  }
  if (auto load = dyn_cast<LoadOp>(op)) {
    Value at = position(builder, {load});
    return mapping.map(load.getResult(), emitter.loadFrom(builder, op.getLoc(), memoryOf(load.getBuffer()), at,
                                                          load.getResult().getType()));
  }
  if (auto store = dyn_cast<StoreOp>(op))
    return emitter.store(builder, op.getLoc(), mapping.lookup(store.getValue()), memoryOf(store.getBuffer()),
                         position(builder, {store}));
  emitOther(builder, op);
}

/// Scalar code, with what stands in its regions.
void Flattener::emitOther(OpBuilder &builder, Operation &op) {
  Operation *copy = op.cloneWithoutRegions(mapping);
  builder.insert(copy);
  for (auto [from, to] : llvm::zip(op.getRegions(), copy->getRegions()))
    for (Block &block : from) {
      Block &target = to.emplaceBlock();
      for (Value argument : block.getArguments())
        mapping.map(argument, target.addArgument(argument.getType(), argument.getLoc()));
      OpBuilder inner = OpBuilder::atBlockBegin(&target);
      emit(inner, block);
      if (Operation &last = block.back(); last.hasTrait<OpTrait::IsTerminator>())
        emitOther(inner, last);
    }
  for (auto [from, to] : llvm::zip(op.getResults(), copy->getResults()))
    mapping.map(from, to);
}

/// At the start of the kernel: stack memory must not grow in a loop.
void Flattener::allocate(AllocOp op) {
  BufferType type = op.getBuffer().getType();
  int64_t count = graph::elementCount(type.extents()).constant().value_or(0);
  OpBuilder start = OpBuilder::atBlockBegin(arguments.front().getParentBlock());
  MemRefType flat = bufferType(type.getElementType());
  auto sized = MemRefType::get({count}, flat.getElementType());
  Value memory = start.create<memref::AllocaOp>(loc, sized, start.getI64IntegerAttr(64));
  mapping.map(op.getBuffer(), start.create<memref::CastOp>(loc, flat, memory));
}

/// Runs `body` for every iteration.
void Flattener::iterate(OpBuilder &builder, ForOp loop, llvm::function_ref<void(OpBuilder &)> body) {
  SymbolicInt extent = indices.extentOf(loop);
  if (std::optional<int64_t> number = extent.constant(); number && loop.getKind() == LoopKind::Unrolled) {
    for (int64_t i = 0; i < *number; ++i) {
      mapping.map(loop.variable(), emitter.constant(i));
      body(builder);
    }
    return;
  }
  auto flat = builder.create<scf::ForOp>(loc, emitter.constant(0), value(builder, extent), emitter.constant(1));
  mapping.map(loop.variable(), flat.getInductionVar());
  OpBuilder inner = OpBuilder::atBlockBegin(flat.getBody());
  body(inner);
}

void Flattener::emitLoop(OpBuilder &builder, ForOp loop) {
  if (std::optional<Accumulation> accumulation = accumulationAt(loop))
    return emitAccumulation(builder, *accumulation);
  iterate(builder, loop, [&](OpBuilder &inner) { emit(inner, *loop.body()); });
}

void Flattener::emitBlock(OpBuilder &builder, BlockOp block) {
  Value condition = conditionOf(builder, block);
  if (!condition)
    return emitInstance(builder, block);
  auto choice = builder.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false);
  OpBuilder inner = choice.getThenBodyBuilder();
  emitInstance(inner, block);
}

/// For scalar code that computes with them; indices are resolved without.
void Flattener::mapIterators(OpBuilder &builder, BlockOp block) {
  for (auto [iterator, binding] : llvm::zip(block.iterators(), indices.bindingsOf(block)))
    if (llvm::any_of(iterator.getUsers(), [](Operation *user) { return !isa<LoadOp, StoreOp, IndexOp>(user); }))
      mapping.map(iterator, value(builder, simplify(binding, indices.rangesAround(block))));
}

void Flattener::emitInstance(OpBuilder &builder, BlockOp block) {
  Shape bindings = indices.bindingsOf(block);
  InitOp init = block.init();
  mapIterators(builder, block);
  if (init) {
    Value isFirst = builder.create<arith::ConstantIntOp>(loc, 1, 1);
    for (auto [i, binding] : llvm::enumerate(bindings))
      if (block.kind(i) == IteratorKind::Reduced && binding != SymbolicInt(0)) {
        Value isZero =
            builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, value(builder, binding), emitter.constant(0));
        isFirst = builder.createOrFold<arith::AndIOp>(loc, isFirst, isZero);
      }
    auto choice = builder.create<scf::IfOp>(loc, isFirst, /*withElseRegion=*/false);
    OpBuilder inner = choice.getThenBodyBuilder();
    emit(inner, init.getRegion().front());
  }
  for (Operation &op : *block.body())
    if (&op != init)
      emit(builder, op);
}

//===----------------------------------------------------------------------===//
// Sums in registers
//===----------------------------------------------------------------------===//

bool Flattener::isInvariant(Operation *access, BlockOp block, ArrayRef<ForOp> loops) {
  for (const SymbolicInt &index : indices.indicesOf({access})) {
    std::set<std::string> used;
    index.symbols(used);
    for (ForOp loop : loops)
      if (used.count(indices.names.nameOf(loop.variable())))
        return false;
    // Values computed inside of the block may differ from instance to instance.
    for (const std::string &name : used)
      if (Value known = indices.names.value(name); known && block->isAncestor(known.getParentRegion()->getParentOp()))
        return false;
  }
  return true;
}

/// `loop` carries the sum of the one block inside: the loops from here to the block are the only ones that its reduced
/// iterators depend on, and none of them moves the element.
std::optional<Accumulation> Flattener::accumulationAt(ForOp loop) {
  SmallVector<ForOp> loops;
  BlockOp block;
  for (ForOp next = loop; next && !block;) {
    if (!llvm::hasSingleElement(*next.body()))
      return std::nullopt;
    loops.push_back(next);
    Operation &only = next.body()->front();
    block = dyn_cast<BlockOp>(only);
    next = dyn_cast<ForOp>(only);
    if (!block && !next)
      return std::nullopt;
  }
  InitOp init = block.init();
  if (!init)
    return std::nullopt;
  SmallVector<Operation *> stores;
  for (Operation &op : *block.body())
    if (isa<StoreOp>(op))
      stores.push_back(&op);
  if (stores.size() != 1 || !isa<StoreOp>(init.getRegion().front().back()))
    return std::nullopt;
  auto store = cast<StoreOp>(stores.front());
  auto initial = cast<StoreOp>(init.getRegion().front().back());
  Shape at = indices.indicesOf({store});
  if (initial.getBuffer() != store.getBuffer() || indices.indicesOf({initial}) != at ||
      !isInvariant(store, block, loops))
    return std::nullopt;
  for (const Access &access : accessesIn(block, store.getBuffer()))
    if (access.op->getParentRegion() != &init.getRegion() &&
        (indices.indicesOf(access) != at || access.op->getBlock() != block.body()))
      return std::nullopt;
  IndexRanges inside = indices.rangesAround(block, loop->getParentOp());
  for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block))) {
    std::set<std::string> used;
    binding.symbols(used);
    for (const std::string &name : used)
      if (block.kind(i) == IteratorKind::Reduced && indices.names.value(name) && !inside.count(name))
        return std::nullopt;
  }
  return Accumulation{loop, block, store};
}

void Flattener::emitAccumulation(OpBuilder &builder, const Accumulation &accumulation) {
  BlockOp reduction = accumulation.block;
  // An element that is beyond an edge is not stored.
  if (Value condition = conditionOf(builder, reduction, accumulation.outermost, /*inside=*/false)) {
    OpBuilder inner = builder.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false).getThenBodyBuilder();
    return emitElement(inner, accumulation);
  }
  emitElement(builder, accumulation);
}

void Flattener::emitElement(OpBuilder &builder, const Accumulation &accumulation) {
  BlockOp reduction = accumulation.block;
  Block &init = reduction.init().getRegion().front();
  for (Operation &op : llvm::make_range(init.begin(), std::prev(init.end())))
    emit(builder, op);
  Value initial = mapping.lookup(cast<StoreOp>(init.back()).getValue());
  Value total = accumulateLoops(builder, accumulation, accumulation.outermost, initial);
  StoreOp store = accumulation.store;
  emitter.store(builder, loc, total, memoryOf(store.getBuffer()), position(builder, {store}));
}

Value Flattener::accumulateLoops(OpBuilder &builder, const Accumulation &accumulation, ForOp loop, Value carried) {
  Operation &only = loop.body()->front();
  auto body = [&](OpBuilder &inner, Value current) {
    auto next = dyn_cast<ForOp>(only);
    return next ? accumulateLoops(inner, accumulation, next, current) : accumulateBlock(inner, accumulation, current);
  };
  SymbolicInt extent = indices.extentOf(loop);
  if (std::optional<int64_t> number = extent.constant(); number && loop.getKind() == LoopKind::Unrolled) {
    for (int64_t i = 0; i < *number; ++i) {
      mapping.map(loop.variable(), emitter.constant(i));
      carried = body(builder, carried);
    }
    return carried;
  }
  auto flat =
      builder.create<scf::ForOp>(loc, emitter.constant(0), value(builder, extent), emitter.constant(1), carried);
  mapping.map(loop.variable(), flat.getInductionVar());
  OpBuilder inner = OpBuilder::atBlockBegin(flat.getBody());
  Value next = body(inner, flat.getRegionIterArg(0));
  inner.create<scf::YieldOp>(loc, next);
  return flat.getResult(0);
}

Value Flattener::accumulateBlock(OpBuilder &builder, const Accumulation &accumulation, Value carried) {
  BlockOp block = accumulation.block;
  StoreOp store = accumulation.store;
  auto emitBody = [&](OpBuilder &inner) {
    mapIterators(inner, block);
    for (Operation &op : *block.body()) {
      auto load = dyn_cast<LoadOp>(op);
      if (isa<InitOp>(op) || &op == store)
        continue;
      if (load && load.getBuffer() == store.getBuffer())
        mapping.map(load.getResult(), carried);
      else
        emit(inner, op);
    }
    return mapping.lookup(store.getValue());
  };
  Value condition = conditionOf(builder, block, accumulation.outermost, /*inside=*/true);
  if (!condition)
    return emitBody(builder);
  auto choice = builder.create<scf::IfOp>(loc, TypeRange(carried.getType()), condition, /*withElseRegion=*/true);
  OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
  then.create<scf::YieldOp>(loc, emitBody(then));
  otherwise.create<scf::YieldOp>(loc, carried);
  return choice.getResult(0);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FlattenBlocks : perpend::tile::impl::TileFlattenBlocksBase<FlattenBlocks> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(graph::kernelAttribute) && llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<BufferType>))
        if (failed(checkAllocations(kernel)) || failed(flatten(kernel)))
          return signalPassFailure();
  }

  static LogicalResult checkAllocations(func::FuncOp kernel) {
    WalkResult result = kernel.walk([&](AllocOp op) {
      if (graph::elementCount(op.getBuffer().getType().extents()).isConstant())
        return WalkResult::advance();
      op.emitError("kernel '") << kernel.getSymName() << "': the local buffer '" << op.getName()
                               << "' has a size that depends on symbols: " << op.getBuffer().getType();
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  static LogicalResult flatten(func::FuncOp kernel) {
    OpBuilder builder(kernel);
    SmallVector<Type> buffers;
    for (Type type : kernel.getArgumentTypes())
      buffers.push_back(bufferType(cast<BufferType>(type).getElementType()));
    auto flat = builder.create<func::FuncOp>(kernel.getLoc(), kernel.getSymName(),
                                             KernelAbi::type(kernel.getContext(), buffers));
    flat->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
    flat.setPrivate();
    builder.setInsertionPointToEnd(flat.addEntryBlock());
    auto end = builder.create<func::ReturnOp>(kernel.getLoc());
    graph::SymbolicInt units;
    {
      SmallVector<StringRef> symbolNames = graph::symbolsOfKernel(kernel);
      Flattener flattener(kernel, flat, symbolNames);
      builder.setInsertionPoint(end);
      units = flattener.run(builder);
    }
    if (units.isPoison())
      return flat.emitError("expected a number of units that the symbols give, got an expression that is too long");
    flat->setAttr(extentAttribute, graph::ShapeAttr::get(kernel.getContext(), ArrayRef<graph::SymbolicInt>(units)));
    kernel.erase();
    return success();
  }
};
} // namespace
