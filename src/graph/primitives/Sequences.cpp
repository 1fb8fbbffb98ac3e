//===- Sequences.cpp - scan, sort, scatter: results made in sequence ------===//
//
// An element of these results cannot be computed from its index alone. Here are
// the verifiers, what the operators require of the symbols in shapes, and the
// loops that compute a part of the result; these ask the emitter for elements
// of the operands.
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/Scalars.h"
#include "graph/primitives/Constraints.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend::graph;

static Value indexConstant(SequenceEmitter &emitter, OpBuilder &builder, Location loc, int64_t value) {
  return emitter.elements.extent(builder, loc, SymbolicInt(value));
}

/// for (i = from; i < to; i += step), without a carried value.
static void forEach(OpBuilder &builder, Location loc, Value from, Value to, Value step,
                    llvm::function_ref<void(OpBuilder &, Value)> body) {
  auto loop = builder.create<scf::ForOp>(loc, from, to, step);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  body(inner, loop.getInductionVar());
}

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

static SmallVector<Value> concat(ValueRange first, ValueRange second) {
  SmallVector<Value> index(first);
  llvm::append_range(index, second);
  return index;
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::verify() {
  Shape input = shapeOf(getInput()), indices = shapeOf(getIndices());
  std::optional<int64_t> depth = indices.empty() ? std::nullopt : indices.back().constant();
  if (!isa<IntegerType>(tensorTypeOf(getIndices()).getElementType()) || !depth ||
      *depth > static_cast<int64_t>(input.size()))
    return emitOpError("C1: expected integer indices whose last extent is at most ")
           << input.size() << ", got " << getIndices().getType();
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

//===----------------------------------------------------------------------===//
// Sort
//===----------------------------------------------------------------------===//

static Shape sortedShape(SortOp op) {
  Shape shape = shapeOf(op.getInput());
  if (op.getLexicographic() && !shape.empty())
    shape.pop_back();
  return shape;
}

LogicalResult SortOp::verify() {
  Shape expected = sortedShape(*this);
  if (getDim() >= expected.size())
    return emitOpError("C1: dim ") << getDim() << " of a result of rank " << expected.size();
  if (!tensorTypeOf(getResult()).getElementType().isInteger(64))
    return emitOpError("C2: expected elements of type i64, got ") << getType();
  if (expected[getDim()].knownAtLeast(mostElements + 1))
    return emitOpError("C3: expected at most ")
           << mostElements << " elements to sort, got " << expected[getDim()].str();
  return verifyExtents(*this, "C2", expected);
}

void SortOp::addRequirements(Requirements &requirements) {
  requirements.addNonNegative(SymbolicInt(mostElements) - shapeOf(getInput())[getDim()]);
  requireExtents(requirements, getResult(), sortedShape(*this));
}

std::pair<unsigned, unsigned> SortOp::sequentialDims() { return {getDim(), getDim() + 1}; }

/// Sorting reads each key log n times.
bool SortOp::readsOnce(unsigned) { return false; }

/// a < b, where NaN is the largest.
static Value emitLess(OpBuilder &builder, Location loc, Type type, Value a, Value b) {
  if (!isa<FloatType>(type)) {
    auto predicate = isUnsigned(type) ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    return builder.create<arith::CmpIOp>(loc, predicate, a, b);
  }
  Value isLess = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, a, b);
  Value isNumber = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, a, a);
  Value isNaN = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, b, b);
  return builder.create<arith::OrIOp>(loc, isLess, builder.create<arith::AndIOp>(loc, isNumber, isNaN));
}

namespace {
/// Bottom-up merge sort of a sequence of positions. Each word of the result holds two positions of 32 bits, so that a
/// pass reads the half that the previous one wrote, and no other memory is needed.
class MergeSort {
public:
  MergeSort(SortOp op, Location loc, SequenceEmitter &emitter, ValueRange lane)
      : op(op), loc(loc), emitter(emitter), lane(lane), extent(shapeOf(op.getResult())[op.getDim()]) {}

  void emit(OpBuilder &builder) {
    zero = indexConstant(emitter, builder, loc, 0);
    one = indexConstant(emitter, builder, loc, 1);
    count = emitter.elements.extent(builder, loc, extent);
    forEach(builder, loc, zero, count, one, [&](OpBuilder &b, Value i) {
      emitter.store(b, loc, at(i), b.create<arith::IndexCastOp>(loc, b.getI64Type(), i));
    });
    Value from = emitPasses(builder);
    forEach(builder, loc, zero, count, one,
            [&](OpBuilder &b, Value i) { emitter.store(b, loc, at(i), read(b, i, from)); });
  }

private:
  static constexpr int64_t halfBits = 32;

  Value integer(OpBuilder &b, int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, b.getI64Type()); }
  SmallVector<Value> at(Value position) { return concat(concat(emitter.outerIndex(), position), lane); }

  /// The position in the half that begins at bit `from` of a word.
  Value read(OpBuilder &b, Value word, Value from) {
    Value shifted = b.create<arith::ShRUIOp>(loc, emitter.load(b, loc, at(word)), from);
    return b.create<arith::AndIOp>(loc, shifted, integer(b, (int64_t(1) << halfBits) - 1));
  }

  /// Writes the other half.
  void write(OpBuilder &b, Value word, Value from, Value to, Value position) {
    Value mask = b.create<arith::ShLIOp>(loc, integer(b, (int64_t(1) << halfBits) - 1), from);
    Value kept = b.create<arith::AndIOp>(loc, emitter.load(b, loc, at(word)), mask);
    Value moved = b.create<arith::ShLIOp>(loc, position, to);
    emitter.store(b, loc, at(word), b.create<arith::OrIOp>(loc, kept, moved));
  }

  /// The number of passes: the least p with 2^p >= count.
  Value passes(OpBuilder &builder) {
    if (std::optional<int64_t> number = extent.constant())
      return indexConstant(emitter, builder, loc, llvm::Log2_64_Ceil(std::max<int64_t>(1, *number)));
    return emitter.elements.loop(builder, loc, SymbolicInt(halfBits), zero, [&](OpBuilder &b, Value i, Value sum) {
      Value width = b.create<arith::ShLIOp>(loc, one, i);
      Value isNeeded = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, width, count);
      return b.create<arith::SelectOp>(loc, isNeeded, b.create<arith::AddIOp>(loc, sum, one), sum).getResult();
    });
  }

  /// Returns the half that holds the sorted positions.
  Value emitPasses(OpBuilder &builder) {
    Value none = integer(builder, 0);
    auto loop = builder.create<scf::ForOp>(loc, zero, passes(builder), one, none);
    OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
    Value from = loop.getRegionIterArg(0), to = b.create<arith::SubIOp>(loc, integer(b, halfBits), from);
    Value width = b.create<arith::ShLIOp>(loc, one, loop.getInductionVar());
    Value step = b.create<arith::AddIOp>(loc, width, width);
    forEach(b, loc, zero, count, step, [&](OpBuilder &inner, Value start) {
      Value middle = inner.create<arith::MinSIOp>(loc, inner.create<arith::AddIOp>(loc, start, width), count);
      Value end = inner.create<arith::MinSIOp>(loc, inner.create<arith::AddIOp>(loc, start, step), count);
      emitMerge(inner, {start, middle, end}, from, to);
    });
    b.setInsertionPointToEnd(loop.getBody());
    b.create<scf::YieldOp>(loc, to);
    return loop.getResult(0);
  }

  struct Runs {
    Value start, middle, end;
  };

  void emitMerge(OpBuilder &builder, Runs runs, Value from, Value to) {
    auto loop = builder.create<scf::ForOp>(loc, runs.start, runs.end, one, ValueRange{runs.start, runs.middle});
    OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
    Value i = loop.getRegionIterArg(0), j = loop.getRegionIterArg(1);
    Value last = b.create<arith::SubIOp>(loc, count, one);
    Value left = read(b, b.create<arith::MinSIOp>(loc, i, last), from); // beyond its run it is not chosen
    Value right = read(b, b.create<arith::MinSIOp>(loc, j, last), from);
    Value hasLeft = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, i, runs.middle);
    Value hasRight = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, j, runs.end);
    Value isNext = op.getDescending() ? emitBefore(b, left, right) : emitBefore(b, right, left);
    Value noLeft = b.create<arith::XOrIOp>(loc, hasLeft, b.create<arith::ConstantIntOp>(loc, 1, 1));
    Value takesRight = b.create<arith::AndIOp>(loc, hasRight, b.create<arith::OrIOp>(loc, noLeft, isNext));
    write(b, loop.getInductionVar(), from, to, b.create<arith::SelectOp>(loc, takesRight, right, left));
    Value nextI = b.create<arith::SelectOp>(loc, takesRight, i, b.create<arith::AddIOp>(loc, i, one));
    Value nextJ = b.create<arith::SelectOp>(loc, takesRight, b.create<arith::AddIOp>(loc, j, one), j);
    b.create<scf::YieldOp>(loc, ValueRange{nextI, nextJ});
  }

  Value key(OpBuilder &b, Value position, ValueRange more) {
    Value index = b.create<arith::IndexCastOp>(loc, b.getIndexType(), position);
    return emitter.elements.element(b, loc, op.getInput(), concat(at(index), more));
  }

  /// Whether the element at position a is less than the one at position b.
  Value emitBefore(OpBuilder &builder, Value a, Value b) {
    Type type = tensorTypeOf(op.getInput()).getElementType();
    if (!op.getLexicographic())
      return emitLess(builder, loc, type, key(builder, a, {}), key(builder, b, {}));
    // 0 while all keys are equal, then 1 for less and 2 for greater.
    Value undecided = integer(builder, 0);
    SymbolicInt keys = shapeOf(op.getInput()).back();
    Value order = emitter.elements.loop(builder, loc, keys, undecided, [&](OpBuilder &step, Value k, Value carried) {
      Value isOpen = step.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, carried, undecided);
      auto choice = step.create<scf::IfOp>(loc, TypeRange(carried.getType()), isOpen, /*withElseRegion=*/true);
      OpBuilder then = choice.getThenBodyBuilder();
      Value x = key(then, a, k), y = key(then, b, k);
      Value greater = then.create<arith::SelectOp>(loc, emitLess(then, loc, type, y, x), integer(then, 2), undecided);
      Value result = then.create<arith::SelectOp>(loc, emitLess(then, loc, type, x, y), integer(then, 1), greater);
      then.create<scf::YieldOp>(loc, result);
      choice.getElseBodyBuilder().create<scf::YieldOp>(loc, carried);
      return choice.getResult(0);
    });
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, order, integer(builder, 1));
  }

  SortOp op;
  Location loc;
  SequenceEmitter &emitter;
  ValueRange lane;
  SymbolicInt extent;
  Value zero, one, count;
};
} // namespace

void SortOp::emitSequence(OpBuilder &builder, Location loc, SequenceEmitter &emitter) {
  emitter.forEachLane(builder, loc,
                      [&](OpBuilder &inner, ValueRange lane) { MergeSort(*this, loc, emitter, lane).emit(inner); });
}
