//===- Sorting.cpp - the primitive sort -----------------------------------===//
//
// OrderCalls.cpp replaces this primitive by a call of the library, except for lexicographic keys, element types that
// the library does not support, and lines (slices along the sorted dimension) of fewer than 64 elements whose keys
// have at most 32 bits. Kernels compute a full sort by a sorting network on words that hold key and position, if keys
// have at most 32 bits and are not lexicographic, otherwise by a merge sort of positions; they select the first k
// positions with a heap. See Sequences.cpp of this folder.
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/primitives/Constraints.h"
#include "graph/primitives/SequenceLoops.h"

using namespace mlir;
using namespace perpend::graph;

/// Of the result that has all positions.
static Shape sortedShape(SortOp op) {
  Shape shape = shapeOf(op.getInput());
  if (op.getLexicographic() && !shape.empty())
    shape.pop_back();
  return shape;
}

LogicalResult SortOp::verify() {
  Shape expected = sortedShape(*this), got = shapeOf(getResult());
  if (getDim() >= expected.size())
    return emitOpError("C1: dim ") << getDim() << " of a result of rank " << expected.size();
  if (!tensorTypeOf(getResult()).getElementType().isInteger(64))
    return emitOpError("C2: expected elements of type i64, got ") << getType();
  if (expected[getDim()].knownAtLeast(mostElements + 1))
    return emitOpError("C3: expected at most ")
           << mostElements << " elements to sort, got " << expected[getDim()].str();
  if (got.size() == expected.size()) {
    if ((got[getDim()] - expected[getDim()]).knownAtLeast(1))
      return emitOpError("C4: expected at most ")
             << expected[getDim()].str() << " positions, got " << got[getDim()].str();
    expected[getDim()] = got[getDim()];
  }
  return verifyExtents(*this, "C2", expected);
}

void SortOp::addRequirements(Requirements &requirements) {
  Shape all = sortedShape(*this), expected = all;
  expected[getDim()] = shapeOf(getResult())[getDim()];
  requirements.addNonNegative(SymbolicInt(mostElements) - all[getDim()]);
  requirements.addNonNegative(all[getDim()] - expected[getDim()]);
  requireExtents(requirements, getResult(), expected);
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
/// The keys of one line, whose elements have the positions 0 to n - 1.
class Line {
public:
  Line(SortOp op, Location loc, SequenceEmitter &emitter, ValueRange lane)
      : op(op), loc(loc), emitter(emitter), lane(lane) {}

  SmallVector<Value> at(Value position) { return concat(concat(emitter.outerIndex(), position), lane); }

  /// Whether the key at position a is less than the one at position b.
  Value isLess(OpBuilder &builder, Value a, Value b) {
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

  /// Whether the key at position a stands before the one at position b in sorted order; equal ones do not.
  Value isBefore(OpBuilder &builder, Value a, Value b) {
    return op.getDescending() ? isLess(builder, b, a) : isLess(builder, a, b);
  }

  Value integer(OpBuilder &b, int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, b.getI64Type()); }

  static constexpr int64_t halfBits = 32;

  /// The number of passes: the least p with 2^p >= count.
  Value passes(OpBuilder &builder, const SymbolicInt &extent, Value count) {
    Value zero = indexConstant(emitter, builder, loc, 0), one = indexConstant(emitter, builder, loc, 1);
    if (std::optional<int64_t> number = extent.constant())
      return indexConstant(emitter, builder, loc, llvm::Log2_64_Ceil(std::max<int64_t>(1, *number)));
    return emitter.elements.loop(builder, loc, SymbolicInt(halfBits), zero, [&](OpBuilder &b, Value i, Value sum) {
      Value width = b.create<arith::ShLIOp>(loc, one, i);
      Value isNeeded = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, width, count);
      return b.create<arith::SelectOp>(loc, isNeeded, b.create<arith::AddIOp>(loc, sum, one), sum).getResult();
    });
  }

  SortOp op;
  Location loc;
  SequenceEmitter &emitter;
  ValueRange lane;

protected:
  Value key(OpBuilder &b, Value position, ValueRange more) {
    Value index = b.create<arith::IndexCastOp>(loc, b.getIndexType(), position);
    return emitter.elements.element(b, loc, op.getInput(), concat(at(index), more));
  }
};

/// Bottom-up merge sort of a sequence of positions. Each word of the result holds two positions of 32 bits, so that a
/// pass reads the half that the previous one wrote, and no other memory is needed.
class MergeSort : Line {
public:
  using Line::Line;

  void emit(OpBuilder &builder) {
    zero = indexConstant(emitter, builder, loc, 0);
    one = indexConstant(emitter, builder, loc, 1);
    extent = shapeOf(op.getResult())[op.getDim()];
    count = emitter.elements.extent(builder, loc, extent);
    forEach(builder, loc, zero, count, one, [&](OpBuilder &b, Value i) {
      emitter.store(b, loc, at(i), b.create<arith::IndexCastOp>(loc, b.getI64Type(), i));
    });
    Value from = emitPasses(builder);
    forEach(builder, loc, zero, count, one,
            [&](OpBuilder &b, Value i) { emitter.store(b, loc, at(i), read(b, i, from)); });
  }

private:
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

  /// Returns the half that holds the sorted positions.
  Value emitPasses(OpBuilder &builder) {
    Value none = integer(builder, 0);
    auto loop = builder.create<scf::ForOp>(loc, zero, passes(builder, extent, count), one, none);
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
    Value isNext = isBefore(b, right, left);
    Value noLeft = b.create<arith::XOrIOp>(loc, hasLeft, b.create<arith::ConstantIntOp>(loc, 1, 1));
    Value takesRight = b.create<arith::AndIOp>(loc, hasRight, b.create<arith::OrIOp>(loc, noLeft, isNext));
    write(b, loop.getInductionVar(), from, to, b.create<arith::SelectOp>(loc, takesRight, right, left));
    Value nextI = b.create<arith::SelectOp>(loc, takesRight, i, b.create<arith::AddIOp>(loc, i, one));
    Value nextJ = b.create<arith::SelectOp>(loc, takesRight, b.create<arith::AddIOp>(loc, j, one), j);
    b.create<scf::YieldOp>(loc, ValueRange{nextI, nextJ});
  }

  SymbolicInt extent;
  Value zero, one, count;
};

/// Batcher's merge exchange (Knuth, The Art of Computer Programming 5.2.2, algorithm M), in place on words whose upper
/// half is a key, as an unsigned number in the order of the result, and whose lower half is the position: no two are
/// equal, so the result is stable. It takes the same steps for all keys, in loops over adjacent words.
class NetworkSort : Line {
public:
  using Line::Line;

  static bool takes(SortOp op) {
    Type type = tensorTypeOf(op.getInput()).getElementType();
    return !op.getLexicographic() && (isa<FloatType>(type) ? type.getIntOrFloatBitWidth() <= halfBits
                                                           : isa<IntegerType>(type) && bitWidth(type) <= halfBits);
  }

  void emit(OpBuilder &builder) {
    zero = indexConstant(emitter, builder, loc, 0);
    one = indexConstant(emitter, builder, loc, 1);
    SymbolicInt extent = shapeOf(op.getResult())[op.getDim()];
    count = emitter.elements.extent(builder, loc, extent);
    forEach(builder, loc, zero, count, one, [&](OpBuilder &b, Value i) {
      Value position = b.create<arith::IndexCastOp>(loc, b.getI64Type(), i);
      Value shifted = b.create<arith::ShLIOp>(loc, orderedKey(b, position), integer(b, halfBits));
      emitter.store(b, loc, at(i), b.create<arith::OrIOp>(loc, shifted, position));
    });
    Value steps = passes(builder, extent, count);
    Value half = builder.create<arith::ShRUIOp>(loc, builder.create<arith::ShLIOp>(loc, one, steps), one);
    forEach(builder, loc, zero, steps, one, [&](OpBuilder &b, Value step) {
      Value width = b.create<arith::ShRUIOp>(loc, half, step);
      forEach(b, loc, zero, b.create<arith::AddIOp>(loc, step, one), one,
              [&](OpBuilder &inner, Value round) { exchangeAll(inner, half, width, round); });
    });
    forEach(builder, loc, zero, count, one, [&](OpBuilder &b, Value i) {
      Value position = b.create<arith::AndIOp>(loc, emitter.load(b, loc, at(i)), integer(b, mask));
      emitter.store(b, loc, at(i), position);
    });
  }

private:
  static constexpr int64_t mask = (int64_t(1) << halfBits) - 1;

  /// In each block of 2 * width words, `width` words are compared with those at a distance: in the first round those of
  /// the lower half with those of the upper one.
  void exchangeAll(OpBuilder &builder, Value half, Value width, Value round) {
    Value isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, round, zero);
    Value last = builder.create<arith::SelectOp>(loc, isFirst, zero, builder.create<arith::SubIOp>(loc, round, one));
    Value far = builder.create<arith::SubIOp>(loc, builder.create<arith::ShRUIOp>(loc, half, last), width);
    Value distance = builder.create<arith::SelectOp>(loc, isFirst, width, far);
    Value first = builder.create<arith::SelectOp>(loc, isFirst, zero, width);
    Value end = builder.create<arith::SubIOp>(loc, count, distance),
          block = builder.create<arith::AddIOp>(loc, width, width);
    forEach(builder, loc, first, end, block, [&](OpBuilder &b, Value start) {
      Value stop = b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, start, width), end);
      forEach(b, loc, start, stop, one, [&](OpBuilder &inner, Value i) {
        Value other = inner.create<arith::AddIOp>(loc, i, distance);
        Value low = emitter.load(inner, loc, at(i)), high = emitter.load(inner, loc, at(other));
        emitter.store(inner, loc, at(i), inner.create<arith::MinUIOp>(loc, low, high));
        emitter.store(inner, loc, at(other), inner.create<arith::MaxUIOp>(loc, low, high));
      });
    });
  }

  /// The key as a number of 32 bits in an i64 that is less if the element stands before another.
  Value orderedKey(OpBuilder &b, Value position) {
    Type type = tensorTypeOf(op.getInput()).getElementType(), word = b.getIntegerType(halfBits);
    Value element = key(b, position, {}), bits;
    if (isa<FloatType>(type)) {
      Value wide = type.isF32() ? element : b.create<arith::ExtFOp>(loc, b.getF32Type(), element).getResult();
      bits = ofFloat(b, wide);
    } else {
      bits = element;
      if (bits.getType() != word)
        bits = isUnsigned(type) ? b.create<arith::ExtUIOp>(loc, word, bits).getResult()
                                : b.create<arith::ExtSIOp>(loc, word, bits).getResult();
      if (!isUnsigned(type))
        bits = b.create<arith::XOrIOp>(loc, bits, wordConstant(b, signBit));
    }
    if (op.getDescending())
      bits = b.create<arith::XOrIOp>(loc, bits, wordConstant(b, -1));
    return b.create<arith::ExtUIOp>(loc, b.getI64Type(), bits);
  }

  /// Negative numbers are ordered the other way round; -0 is 0, and NaN the greatest.
  Value ofFloat(OpBuilder &b, Value x) {
    Value zeroNumber = b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(0));
    Value isZero = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x, zeroNumber);
    Value isNaN = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
    Value bits = b.create<arith::BitcastOp>(loc, b.getIntegerType(halfBits),
                                            b.create<arith::SelectOp>(loc, isZero, zeroNumber, x));
    Value sign = b.create<arith::ShRSIOp>(loc, bits, wordConstant(b, halfBits - 1));
    Value flipped = b.create<arith::OrIOp>(loc, sign, wordConstant(b, signBit));
    return b.create<arith::SelectOp>(loc, isNaN, wordConstant(b, -1), b.create<arith::XOrIOp>(loc, bits, flipped));
  }

  static constexpr int64_t signBit = std::numeric_limits<int32_t>::min();
  Value wordConstant(OpBuilder &b, int64_t value) {
    return b.create<arith::ConstantIntOp>(loc, value, b.getIntegerType(halfBits));
  }

  Value zero, one, count;
};

/// Selects the first k positions. The result is a heap of the best positions so far, of which the root is the last one
/// in sorted order: a later element that stands before it takes its place. In the end the heap is sorted.
class HeapSelection : Line {
public:
  using Line::Line;

  void emit(OpBuilder &builder) {
    SymbolicInt wanted = shapeOf(op.getResult())[op.getDim()];
    zero = indexConstant(emitter, builder, loc, 0);
    one = indexConstant(emitter, builder, loc, 1);
    two = indexConstant(emitter, builder, loc, 2);
    count = emitter.elements.extent(builder, loc, wanted);
    if (wanted.knownAtLeast(1))
      return emitSteps(builder);
    Value hasSome = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, count, zero);
    OpBuilder inner = builder.create<scf::IfOp>(loc, hasSome).getThenBodyBuilder();
    emitSteps(inner);
  }

private:
  void emitSteps(OpBuilder &builder) {
    forEach(builder, loc, zero, count, one, [&](OpBuilder &b, Value i) { set(b, i, toInteger(b, i)); });
    Value parents = builder.create<arith::ShRUIOp>(loc, count, one);
    forEach(builder, loc, zero, parents, one, [&](OpBuilder &b, Value i) {
      Value parent = b.create<arith::SubIOp>(loc, b.create<arith::SubIOp>(loc, parents, one), i);
      sift(b, parent, count, get(b, parent));
    });
    readOthers(builder);
    Value last = builder.create<arith::SubIOp>(loc, count, one);
    forEach(builder, loc, zero, last, one, [&](OpBuilder &b, Value i) {
      Value end = b.create<arith::SubIOp>(loc, last, i), item = get(b, end);
      set(b, end, get(b, zero));
      sift(b, zero, end, item);
    });
  }

  /// The elements behind the first k.
  void readOthers(OpBuilder &builder) {
    Value all = emitter.elements.extent(builder, loc, shapeOf(op.getInput())[op.getDim()]);
    auto loop = builder.create<scf::ForOp>(loc, count, all, one, ValueRange{get(builder, zero)});
    OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
    Value position = toInteger(b, loop.getInductionVar()), root = loop.getRegionIterArg(0);
    auto choice = b.create<scf::IfOp>(loc, TypeRange(root.getType()), isBefore(b, position, root),
                                      /*withElseRegion=*/true);
    OpBuilder then = choice.getThenBodyBuilder();
    sift(then, zero, count, position);
    then.create<scf::YieldOp>(loc, get(then, zero));
    choice.getElseBodyBuilder().create<scf::YieldOp>(loc, root);
    b.create<scf::YieldOp>(loc, choice.getResult(0));
  }

  /// Puts an item into the place `start` of the heap [0, end), below all that stand behind it in sorted order.
  void sift(OpBuilder &builder, Value start, Value end, Value item) {
    Value isTrue = builder.create<arith::ConstantIntOp>(loc, 1, 1);
    auto loop =
        builder.create<scf::WhileOp>(loc, TypeRange{start.getType(), isTrue.getType()}, ValueRange{start, isTrue});
    Block *test = builder.createBlock(&loop.getBefore(), {}, loop->getOperandTypes(), {loc, loc});
    OpBuilder b = OpBuilder::atBlockEnd(test);
    Value child = childOf(b, test->getArgument(0));
    Value hasChild = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, child, end);
    b.create<scf::ConditionOp>(loc, b.create<arith::AndIOp>(loc, hasChild, test->getArgument(1)), test->getArguments());
    Block *body = builder.createBlock(&loop.getAfter(), {}, loop->getOperandTypes(), {loc, loc});
    b = OpBuilder::atBlockEnd(body);
    emitStep(b, body->getArgument(0), end, item);
    builder.setInsertionPointAfter(loop);
    set(builder, loop.getResult(0), item);
  }

  /// The child that stands last in sorted order moves up if it stands behind the item.
  void emitStep(OpBuilder &b, Value place, Value end, Value item) {
    Value left = childOf(b, place), last = b.create<arith::SubIOp>(loc, end, one);
    Value right = b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, left, one), last);
    Value first = get(b, left), second = get(b, right);
    Value isSecond = isBehind(b, second, first);
    Value child = b.create<arith::SelectOp>(loc, isSecond, right, left);
    Value candidate = b.create<arith::SelectOp>(loc, isSecond, second, first);
    Value moves = isBehind(b, candidate, item);
    set(b, place, b.create<arith::SelectOp>(loc, moves, candidate, item));
    Value next = b.create<arith::SelectOp>(loc, moves, child, place);
    b.create<scf::YieldOp>(loc, ValueRange{next, moves});
  }

  /// In the order of the result: of equal keys, the later position stands behind.
  Value isBehind(OpBuilder &builder, Value a, Value b) {
    Value notBefore =
        builder.create<arith::XOrIOp>(loc, isBefore(builder, a, b), builder.create<arith::ConstantIntOp>(loc, 1, 1));
    Value isLater = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, a, b);
    Value wins = builder.create<arith::AndIOp>(loc, notBefore, isLater);
    return builder.create<arith::OrIOp>(loc, isBefore(builder, b, a), wins);
  }

  Value childOf(OpBuilder &b, Value place) {
    return b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, place, two), one);
  }
  Value toInteger(OpBuilder &b, Value index) { return b.create<arith::IndexCastOp>(loc, b.getI64Type(), index); }
  Value get(OpBuilder &b, Value place) { return emitter.load(b, loc, at(place)); }
  void set(OpBuilder &b, Value place, Value position) { emitter.store(b, loc, at(place), position); }

  Value zero, one, two, count;
};
} // namespace

void SortOp::emitSequence(OpBuilder &builder, Location loc, SequenceEmitter &emitter) {
  bool hasAll = shapeOf(getResult())[getDim()] == sortedShape(*this)[getDim()];
  emitter.forEachLane(builder, loc, [&](OpBuilder &inner, ValueRange lane) {
    if (hasAll && NetworkSort::takes(*this))
      NetworkSort(*this, loc, emitter, lane).emit(inner);
    else if (hasAll)
      MergeSort(*this, loc, emitter, lane).emit(inner);
    else
      HeapSelection(*this, loc, emitter, lane).emit(inner);
  });
}
