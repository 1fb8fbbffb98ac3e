//===- Sorting.cpp - sorting and unique -----------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {
/// A heap of the first k positions is faster than sorting all of them, unless it is known that k is a large part of n.
static bool isSelection(const SymbolicInt &k, const SymbolicInt &n) {
  return !(k.isConstant() && n.isConstant() && *k.constant() > *n.constant() / 4);
}

Value firstPositions(Builder &b, Value x, int64_t axis, bool isDescending, const SymbolicInt &k) {
  if (isSelection(k, shapeOf(x)[axis]))
    return b.sort(x, axis, isDescending, /*isLexicographic=*/false, k);
  Value order = b.sort(x, axis, isDescending);
  return order ? sliceAxis(b, order, axis, SymbolicInt(0), k) : order;
}

namespace composites {

Results argsort(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]));
  return {axis < 0 ? Value() : b.sort(in[0], axis, a.getInt("descending"))};
}

Results topk(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]));
  std::optional<Shape> k = a.getDims("k"), first = a.getDims("first");
  if (axis < 0)
    return {};
  if (!k || k->size() != 1 || (first && first->size() != 1))
    return {b.fail("topk: expected one number k, and at most one number first")};
  SymbolicInt extent = shapeOf(in[0])[axis], start = first ? first->front() : SymbolicInt(0), end = start + k->front();
  bool isKnown = extent.isConstant() && end.isConstant();
  b.require(extent - end, isKnown ? "topk: expected k of at most " + extent.str() + ", got " + end.str()
                                  : "topk: k is larger than dimension " + std::to_string(axis) + " of the input");
  if (b.hasFailed())
    return {};
  Value positions = firstPositions(b, in[0], axis, a.getInt("largest", 1), end);
  positions = positions && first ? sliceAxis(b, positions, axis, start, k->front()) : positions;
  if (!positions)
    return {};
  NamedAttribute along = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(axis));
  Results values = applyComposite(b, "gather_elements", {in[0], positions}, Attributes(b.context(), {along}));
  return {values.empty() ? Value() : values[0], positions};
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

namespace {
/// Groups of equal elements in sorted order, from which all results of unique are computed.
struct Groups {
  SymbolicInt extent, count;
  /// For each sorted position: the element, whether it starts a group, the number of its group.
  Value order, begins, number;
};
} // namespace

/// Texts are identities, which have no order: their ranks in its place.
static Value ordered(Builder &b, Value keys) {
  if (!keys || !isa<StringType>(elementTypeOf(keys)))
    return keys;
  return b.callLibrary("string.ranks", {keys}, CallResult{shapeOf(keys), b.i64()})[0];
}

/// Per element: whether it differs from the one before.
static Value differs(Builder &b, Value sorted, bool isNaNEqual) {
  Shape low(rankOf(sorted), SymbolicInt(0)), high = low;
  low[0] = SymbolicInt(1);
  high[0] = SymbolicInt(-1);
  Value previous = padTensor(b, sorted, low, high, "constant");
  Value different = pointwise(
      b, {sorted, previous},
      [=](ArrayRef<Scalar> v) {
        Scalar other = notEqual(v[0], v[1]);
        return isNaNEqual && v[0].isFloat() ? other & (equal(v[0], v[0]) | equal(v[1], v[1])) : other;
      },
      b.operations.getI1Type());
  return rankOf(sorted) == 1 ? different : b.reduce(ReductionKind::Max, different, 1, false);
}

/// `keys` is [n], or [n, m] for slices.
static Groups groupsOf(Builder &b, Value keys, bool isNaNEqual) {
  Groups groups{shapeOf(keys)[0], {}, b.sort(keys, 0, false, rankOf(keys) == 2), {}, {}};
  if (!groups.order)
    return groups;
  Value isFirst = applyComposite(b, "equal", {iota(b, groups.extent, b.i64()), b.scalar(0, b.i64())})[0];
  Value different = differs(b, b.gather(keys, groups.order, 0), isNaNEqual);
  groups.begins = different ? applyComposite(b, "logical_or", {isFirst, different})[0] : different;
  if (!groups.begins)
    return groups;
  Value ones = b.cast(groups.begins, b.i64());
  groups.number = sub(b, b.scan(ReductionKind::Sum, ones, 0), b.scalar(1, b.i64()));
  groups.count = b.measure(b.reduce(ReductionKind::Sum, ones, 0, false), "unique");
  return groups;
}

/// Numbers groups by first occurrence instead of by value.
static void numberByOccurrence(Builder &b, Value &first, Value &inverse, const Groups &groups) {
  Value outside = number(b, groups.extent, b.i64());
  Value target = where(b, groups.begins, groups.order, outside);
  Value occurs = scatterVector(b, target, b.splat(groups.extent, 1, b.operations.getI1Type()));
  if (!occurs)
    return;
  Value numbers = sub(b, b.scan(ReductionKind::Sum, b.cast(occurs, b.i64()), 0), b.scalar(1, b.i64()));
  inverse = b.gather(numbers, b.gather(first, inverse, 0), 0);
  first = positionsWhere(b, occurs, groups.count);
}

/// Results: distinct elements, first positions, inverse, counts. `equal_nan` 0: each NaN is an element of its own.
Results unique(Builder &b, Values in, const Attributes &a) {
  int64_t axis = 0;
  Value x = in[0], keys;
  if (!a.has("axis")) {
    keys = x = b.reshape(x, elementCount(shapeOf(x)));
  } else {
    axis = normalAxis(b, a.getInt("axis"), rankOf(x));
    if (axis < 0)
      return {};
    SmallVector<int64_t> front = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
    std::rotate(front.begin(), front.begin() + axis, front.begin() + axis + 1);
    Value moved = b.transpose(x, front);
    Shape shape = shapeOf(moved);
    keys = b.reshape(moved, {shape[0], elementCount(ArrayRef(shape).drop_front())});
  }
  Groups groups = groupsOf(b, ordered(b, keys), a.getInt("equal_nan", 1));
  if (!groups.number)
    return {};
  Value outside = number(b, groups.extent, b.i64());
  Value first = scatterVector(b, where(b, groups.begins, groups.number, outside), groups.order);
  Value inverse = scatterVector(b, groups.order, groups.number);
  if (a.getInt("sorted", 1))
    first = first ? sliceAxis(b, first, 0, SymbolicInt(0), groups.count) : first;
  else
    numberByOccurrence(b, first, inverse, groups);
  Value counts = scatterVector(b, inverse, b.splat(groups.extent, 1, b.i64()), ReductionKind::Sum);
  counts = counts ? sliceAxis(b, counts, 0, SymbolicInt(0), groups.count) : counts;
  return {b.gather(x, first, axis), first, inverse, counts};
}

/// in: rows [k] or [b.., k], x [b.., n]. Binary search, a bit of the count after the other; NaN comes before nothing.
Results count_before(Builder &b, Values in, const Attributes &a) {
  Shape rows = shapeOf(in[0]), result = shapeOf(in[1]);
  std::optional<int64_t> extent = rows.empty() ? std::nullopt : rows.back().constant();
  if (!extent || *extent < 1 || elementTypeOf(in[0]) != elementTypeOf(in[1]) ||
      (rows.size() > 1 && rows.size() != result.size()))
    return {
        b.fail("count_before: expected rows of a known number of elements and values of the same type, got shapes " +
               toString(rows) + " and " + toString(result))};
  return {b.generate(in, result, b.i64(), [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar x(builder, loc, load(builder, loc, tensors[1], index), isUnsigned(elementTypeOf(in[1])));
    Scalar count(builder, loc, builder.create<arith::ConstantIndexOp>(loc, 0));
    for (int64_t step = int64_t(1) << llvm::Log2_64(*extent); step > 0; step /= 2) {
      Scalar next = count + count.integer(step), last = min(next, count.integer(*extent)) - count.integer(1);
      SmallVector<Value> at(rows.size() > 1 ? index.drop_back() : ValueRange());
      at.push_back(last.value);
      Scalar element(builder, loc, load(builder, loc, tensors[0], at), x.noSign);
      Scalar isBefore = a.getInt("right") ? element <= x : element < x;
      count = select((next <= count.integer(*extent)) & isBefore, next, count);
    }
    return count.to(builder.getI64Type()).value;
  })};
}
} // namespace composites
} // namespace perpend::graph
