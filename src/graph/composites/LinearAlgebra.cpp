//===- Determinant.cpp - Gaussian elimination with pivoting ---------------===//
//
// Determinants: one step per row; the row with the largest leading element is
// exchanged with the first, and a multiple of it is subtracted from the others.
// Inverses: a loop over the columns of the matrix beside the unit matrix.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

/// More steps would make programs that take long to compile.
static constexpr int64_t mostRows = 64;

static Value rowsFrom(Builder &b, Value x, int64_t dim, int64_t first, int64_t count) {
  return sliceAxis(b, x, dim, SymbolicInt(first), SymbolicInt(count));
}

static Value call(Builder &b, StringRef name, Value x) { return x ? applyComposite(b, name, x)[0] : x; }

/// The position of the largest |x[.., i, 0]| as [.., 1, 1].
static Value pivotOf(Builder &b, Value matrix) {
  int64_t rank = rankOf(matrix);
  Value column = rowsFrom(b, matrix, rank - 1, 0, 1);
  NamedAttribute axis = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(rank - 2));
  Value magnitudes = call(b, "abs", column);
  return magnitudes ? applyComposite(b, "argmax", magnitudes, Attributes(b.context(), axis))[0] : Value();
}

/// The row at `pivot` [.., 1, 1]: the sum of the rows, all others taken as 0.
static Value rowAt(Builder &b, Value matrix, Value pivot) {
  if (!matrix || !pivot)
    return {};
  int64_t rank = rankOf(matrix);
  Value positions = b.unsqueeze(iota(b, shapeOf(matrix)[rank - 2], b.i64()), 1);
  Value isPivot = applyComposite(b, "equal", {positions, pivot})[0];
  Value zero = b.scalar(0, elementTypeOf(matrix));
  return sum(b, where(b, isPivot, matrix, zero), rank - 2, true);
}

/// One elimination: multiplies `product` by the pivot (and -1 for an exchange) and returns the smaller matrix.
static Value eliminate(Builder &b, Value matrix, int64_t rows, Value &product) {
  int64_t rank = rankOf(matrix);
  Value pivot = pivotOf(b, matrix), chosen = rowAt(b, matrix, pivot);
  if (!chosen)
    return {};
  Value isFirst = applyComposite(b, "equal", {pivot, b.scalar(0, b.i64())})[0];
  Type type = elementTypeOf(matrix);
  Value sign = where(b, isFirst, b.scalar(1, type), b.scalar(-1, type));
  Value leading = rowsFrom(b, chosen, rank - 1, 0, 1);
  product = mul(b, product, mul(b, leading, sign));
  Value first = rowsFrom(b, matrix, rank - 2, 0, 1), rest = rowsFrom(b, matrix, rank - 2, 1, rows - 1);
  Value positions = b.unsqueeze(iota(b, SymbolicInt(rows - 1), b.i64()), 1);
  Value isExchanged = applyComposite(b, "equal", {add(b, positions, b.scalar(1, b.i64())), pivot})[0];
  Value lower = where(b, isExchanged, first, rest);
  Value factors = pointwise(b, {rowsFrom(b, lower, rank - 1, 0, 1), leading},
                            [](ArrayRef<Scalar> v) { return select(equal(v[1], 0), v[1].constant(0), v[0] / v[1]); });
  Value reduced = sub(b, lower, mul(b, factors, chosen));
  return reduced ? rowsFrom(b, reduced, rank - 1, 1, rows - 1) : reduced;
}

/// Step `number` of Gauss and Jordan on [n, m, 2 m]: column `number` becomes that of the unit matrix.
static Value clearColumn(Builder &b, Value matrix, Value number) {
  Type type = elementTypeOf(matrix);
  Value rows = b.unsqueeze(iota(b, shapeOf(matrix)[1], b.i64()), 1); // [m, 1]
  auto column = [&](Value x) { return b.unsqueeze(b.gather(x, number, 2), 2); };
  Value isLeft = applyComposite(b, "greater_equal", {rows, number})[0];
  Value size = where(b, isLeft, call(b, "abs", column(matrix)), b.scalar(-1, type));
  NamedAttribute axis = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(1));
  Value pivot = size ? applyComposite(b, "argmax", size, Attributes(b.context(), axis))[0] : size; // [n, 1, 1]
  Value chosen = rowAt(b, matrix, pivot);
  if (!chosen)
    return {};
  Value isHere = applyComposite(b, "equal", {rows, number})[0], isPivot = applyComposite(b, "equal", {rows, pivot})[0];
  Value exchanged = where(b, isPivot, b.unsqueeze(b.gather(matrix, number, 1), 1), matrix);
  Value scaled = div(b, chosen, column(chosen));
  return where(b, isHere, scaled, sub(b, exchanged, mul(b, column(exchanged), scaled)));
}

/// [n, m, m] beside the unit matrix.
static Value besideUnit(Builder &b, Value x) {
  Shape shape = shapeOf(x);
  Type type = elementTypeOf(x);
  Value places = iota(b, shape[1], b.i64());
  Value isDiagonal = applyComposite(b, "equal", {b.unsqueeze(places, 1), places})[0];
  Value unit = where(b, isDiagonal, b.scalar(1, type), b.scalar(0, type));
  return unit ? b.concat({x, b.broadcastTo(unit, shape)}, 2) : unit;
}

namespace composites {
/// [.., m, m]. A singular matrix gives infinities or NaN.
Results inverse(Builder &b, Values in, const Attributes &) {
  Shape shape = shapeOf(in[0]);
  int64_t rank = shape.size();
  if (rank < 2 || !isFloat(in[0]) || provablyDiffer(shape[rank - 2], shape[rank - 1]))
    return {b.fail("inverse: expected square matrices of floats, got shape " + toString(shape))};
  b.require(shape[rank - 2] - shape[rank - 1], "inverse: the matrices are not square");
  b.require(shape[rank - 1] - shape[rank - 2], "inverse: the matrices are not square");
  SymbolicInt count = shape.back();
  Type type = elementTypeOf(in[0]);
  Value x = b.reshape(b.cast(in[0], computeType(type)), {elementCount(ArrayRef(shape).drop_back(2)), count, count});
  Value both = x && !b.hasFailed() ? besideUnit(b, x) : Value();
  if (!both)
    return {};
  SmallVector<Value> results =
      b.loop({b.dims(count, /*isScalar=*/true), {}}, both, [&](Value number, ValueRange matrices) {
        return Iteration{{}, {clearColumn(b, matrices[0], number)}, {}};
      });
  if (results.empty() || b.hasFailed())
    return {};
  return {b.cast(b.reshape(sliceAxis(b, results[0], 2, count, count), shape), type)};
}

/// [.., m, m] to [..]
Results det(Builder &b, Values in, const Attributes &) {
  Shape shape = shapeOf(in[0]);
  int64_t rank = shape.size();
  std::optional<int64_t> rows = rank < 2 ? std::nullopt : shape.back().constant();
  if (!rows || *rows > mostRows || provablyDiffer(shape[rank - 2], shape[rank - 1]))
    return {b.fail("det: expected square matrices of known extents, at most " + Twine(mostRows) + ", got shape " +
                   toString(shape))};
  Type type = elementTypeOf(in[0]);
  Shape ones(shape.begin(), shape.end() - 2), outer = ones;
  ones.append(2, SymbolicInt(1));
  Value matrix = b.cast(in[0], computeType(type)), product = b.splat(ones, 1, computeType(type));
  for (int64_t left = *rows; left > 0; --left) {
    if (left == 1)
      product = mul(b, product, matrix);
    else
      matrix = eliminate(b, matrix, left, product);
    if (!matrix || !product)
      return {};
  }
  return {b.cast(b.reshape(product, outer), type)};
}
} // namespace composites
} // namespace perpend::graph
