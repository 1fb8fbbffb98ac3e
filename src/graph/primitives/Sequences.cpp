//===- Sequences.cpp - scatter and scan: results made in sequence ---------===//
//
// An element of these results cannot be computed from its index alone. This file has the operators' verifiers, their
// requirements on the symbols in shapes, and the loops that compute a part of a result; the loops ask the emitter for
// elements of the operands.
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/Scalars.h"
#include "graph/primitives/Constraints.h"
#include "graph/primitives/SequenceLoops.h"

using namespace mlir;
using namespace perpend::graph;

using IndexBody = llvm::function_ref<void(OpBuilder &, ValueRange)>;

static void nest(OpBuilder &builder, Location loc, SequenceEmitter &emitter, ArrayRef<SymbolicInt> extents,
                 SmallVectorImpl<Value> &index, IndexBody body) {
  if (extents.empty())
    return body(builder, index);
  Value zero = indexConstant(emitter, builder, loc, 0), one = indexConstant(emitter, builder, loc, 1);
  Value count = emitter.elements.extent(builder, loc, extents.front());
  forEach(builder, loc, zero, count, one, [&](OpBuilder &inner, Value i) {
    index.push_back(i);
    nest(inner, loc, emitter, extents.drop_front(), index, body);
    index.pop_back();
  });
}

/// Loops over all of `extents`, row-major.
static void forEachIndex(OpBuilder &builder, Location loc, SequenceEmitter &emitter, ArrayRef<SymbolicInt> extents,
                         IndexBody body) {
  SmallVector<Value> index;
  nest(builder, loc, emitter, extents, index, body);
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::verify() {
  Shape input = shapeOf(getInput()), indices = shapeOf(getIndices());
  std::optional<int64_t> depth = indices.empty() ? std::nullopt : indices.back().constant();
  if (!isa<IntegerType>(tensorTypeOf(getIndices()).getElementType()) || !depth ||
      *depth > static_cast<int64_t>(input.size()))
    return emitOpError("C1: expected integer indices of rank 1 or more, whose last extent is a number of at most ")
           << input.size() << " (the input's rank), got " << getIndices().getType();
  Shape expected(indices.begin(), indices.end() - 1), updates = shapeOf(getUpdates());
  expected.append(input.begin() + *depth, input.end());
  bool fits = updates.size() == expected.size();
  for (size_t i = 0; fits && i < updates.size(); ++i)
    fits = !provablyDiffer(updates[i], expected[i]);
  if (!fits || scalarTypeOf(getUpdates()) != scalarTypeOf(getInput()))
    return emitOpError("C2: expected updates of shape ") << toString(expected) << ", got " << getUpdates().getType();
  return getType() == getInput().getType() ? success() : emitOpError("C3: the result has the input's type");
}

void ScatterOp::addRequirements(Requirements &requirements) {
  Shape indices = shapeOf(getIndices()), input = shapeOf(getInput()), expected(indices.begin(), indices.end() - 1);
  expected.append(input.begin() + indexedDims(), input.end());
  for (auto [extent, wanted] : llvm::zip(shapeOf(getUpdates()), expected))
    requirements.addEqual(extent, wanted);
}

unsigned ScatterOp::indexedDims() { return *shapeOf(getIndices()).back().constant(); }

std::pair<unsigned, unsigned> ScatterOp::sequentialDims() { return {0, indexedDims()}; }

/// The position to which update number `at` goes, and whether it exists (null: always).
static std::pair<SmallVector<Value>, Value> emitTarget(OpBuilder &builder, Location loc, ScatterOp op, ValueRange at,
                                                       SequenceEmitter &emitter) {
  Shape shape = shapeOf(op.getInput());
  bool noSign = isUnsigned(tensorTypeOf(op.getIndices()).getElementType());
  SmallVector<Value> target;
  Value isInside;
  for (unsigned dim = 0; dim < op.indexedDims(); ++dim) {
    SmallVector<Value> source = concat(at, indexConstant(emitter, builder, loc, dim));
    Value position = emitter.elements.element(builder, loc, op.getIndices(), source);
    position = noSign ? builder.create<arith::IndexCastUIOp>(loc, builder.getIndexType(), position).getResult()
                      : builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), position).getResult();
    target.push_back(position);
    Value isHere = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, position,
                                                 emitter.elements.extent(builder, loc, shape[dim]));
    isInside = isInside ? builder.create<arith::AndIOp>(loc, isInside, isHere).getResult() : isHere;
  }
  return {target, isInside};
}

void ScatterOp::emitSequence(OpBuilder &builder, Location loc, SequenceEmitter &emitter) {
  Shape shape = shapeOf(getInput()), indices = shapeOf(getIndices());
  ArrayRef<SymbolicInt> indexed = ArrayRef(shape).take_front(indexedDims());
  forEachIndex(builder, loc, emitter, indexed, [&](OpBuilder &copy, ValueRange position) {
    emitter.forEachLane(copy, loc, [&](OpBuilder &inner, ValueRange lane) {
      SmallVector<Value> index = concat(position, lane);
      emitter.store(inner, loc, index, emitter.elements.element(inner, loc, getInput(), index));
    });
  });
  Type type = tensorTypeOf(getResult()).getElementType();
  forEachIndex(builder, loc, emitter, ArrayRef(indices).drop_back(), [&](OpBuilder &write, ValueRange at) {
    auto [target, isInside] = emitTarget(write, loc, *this, at, emitter);
    OpBuilder guarded = isInside ? write.create<scf::IfOp>(loc, isInside).getThenBodyBuilder() : write;
    emitter.forEachLane(guarded, loc, [&, &target = target](OpBuilder &inner, ValueRange lane) {
      SmallVector<Value> index = concat(target, lane);
      Value update = emitter.elements.element(inner, loc, getUpdates(), concat(at, lane));
      if (getKind())
        update = combine(inner, loc, *getKind(), type, emitter.load(inner, loc, index), update);
      emitter.store(inner, loc, index, update);
    });
  });
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  Shape input = shapeOf(getInput());
  if (getDim() >= input.size())
    return emitOpError("C1: dim ") << getDim() << " of a tensor of rank " << input.size();
  return getType() == getInput().getType() ? success() : emitOpError("C2: the result has the input's type");
}

std::pair<unsigned, unsigned> ScanOp::sequentialDims() { return {getDim(), getDim() + 1}; }

void ScanOp::emitSequence(OpBuilder &builder, Location loc, SequenceEmitter &emitter) {
  Value zero = indexConstant(emitter, builder, loc, 0), one = indexConstant(emitter, builder, loc, 1);
  SymbolicInt extent = shapeOf(getInput())[getDim()];
  Value count = emitter.elements.extent(builder, loc, extent);
  Value first = emitter.elements.extent(builder, loc, min(extent, SymbolicInt(1)));
  Type type = tensorTypeOf(getResult()).getElementType();
  auto emitSteps = [&](Value from, Value to, bool combines) {
    forEach(builder, loc, from, to, one, [&](OpBuilder &step, Value i) {
      Value previous = combines ? step.create<arith::SubIOp>(loc, i, one).getResult() : Value();
      emitter.forEachLane(step, loc, [&](OpBuilder &inner, ValueRange lane) {
        SmallVector<Value> index = concat(concat(emitter.outerIndex(), i), lane);
        Value next = emitter.elements.element(inner, loc, getInput(), index);
        SmallVector<Value> before = index;
        before[getDim()] = previous;
        if (combines)
          next = combine(inner, loc, getKind(), type, emitter.load(inner, loc, before), next);
        emitter.store(inner, loc, index, next);
      });
    });
  };
  emitSteps(zero, first, false);
  emitSteps(one, count, true);
}
