//===- LinearAlgebra.cpp - Gauss-Jordan elimination, Cholesky -------------===//
//
// Elimination loops over the columns of a matrix [A B]. Among the rows that have
// not been pivot rows yet, the one with the largest element in the column is
// swapped into place and divided by that element, its pivot; multiples of it are
// subtracted from all other rows. The result is [I A^-1 B], and the product of
// the pivots is the determinant of A.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

static Value isEqual(Builder &b, Value x, Value y) { return x && y ? applyComposite(b, "equal", {x, y})[0] : Value(); }

/// Positions along dimension `dim` of a matrix, as [m, 1].
static Value rowsOf(Builder &b, Value matrix) { return b.unsqueeze(iota(b, shapeOf(matrix)[1], b.i64()), 1); }

/// [n, m, k] to [n, m, 1]
static Value columnOf(Builder &b, Value matrix, Value number) {
  return matrix ? b.unsqueeze(b.gather(matrix, number, 2), 2) : matrix;
}

static bool areSquare(Builder &b, StringRef name, Value input) {
  Shape shape = shapeOf(input);
  size_t rank = shape.size();
  if (rank < 2 || !isFloat(input) || provablyDiffer(shape[rank - 2], shape[rank - 1]))
    return b.contradict(name + ": expected square matrices of floats, got shape " + toString(shape)), false;
  b.require(shape[rank - 2] - shape[rank - 1], (name + ": the matrices are not square").str());
  b.require(shape[rank - 1] - shape[rank - 2], (name + ": the matrices are not square").str());
  return true;
}

/// [.., m, k] as [n, m, k] in the type to compute in.
static Value asStack(Builder &b, Value input) {
  Shape shape = shapeOf(input);
  SymbolicInt rows = shape[shape.size() - 2], columns = shape.back();
  Value stack = b.cast(input, computeType(elementTypeOf(input)));
  return b.reshape(stack, {elementCount(ArrayRef(shape).drop_back(2)), rows, columns});
}

/// Reshapes a vector [n] with one entry per matrix to the outer extents of this shape [.., m, m].
static Value perMatrix(Builder &b, Value vector, ArrayRef<SymbolicInt> shape) {
  return b.reshape(vector, Shape(shape.drop_back(2)));
}

static Value unitMatrix(Builder &b, const SymbolicInt &count, Type type) {
  Value places = iota(b, count, b.i64());
  return where(b, isEqual(b, b.unsqueeze(places, 1), places), b.scalar(1, type), b.scalar(0, type));
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

/// The row of each matrix at its `position` [n, 1, 1], as [n, 1, k]: a sum over rows in which all others are 0.
static Value rowAt(Builder &b, Value matrix, Value position) {
  Value isThere = isEqual(b, rowsOf(b, matrix), position);
  return isThere ? sum(b, where(b, isThere, matrix, b.scalar(0, elementTypeOf(matrix))), 1, true) : Value();
}

/// Step `number` on [n, m, k]: turns column `number` into that of the unit matrix. Yields the pivot [n], negated if
/// rows were swapped. If the pivot is 0, the rows stay unchanged.
static Iteration clearColumn(Builder &b, Value matrix, Value number) {
  Type type = elementTypeOf(matrix);
  Value rows = rowsOf(b, matrix);
  Value canLead = applyComposite(b, "greater_equal", {rows, number})[0];
  Value size = where(b, canLead, call(b, "abs", columnOf(b, matrix, number)), b.scalar(-1, type));
  NamedAttribute axis = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(1));
  Value place = size ? applyComposite(b, "argmax", size, Attributes(b.context(), axis))[0] : size; // [n, 1, 1]
  Value leading = place ? rowAt(b, matrix, place) : place;
  if (!leading)
    return {};
  Value pivot = columnOf(b, leading, number);
  Value divisor = where(b, isEqual(b, pivot, b.scalar(0, type)), b.scalar(1, type), pivot);
  Value scaled = div(b, leading, divisor);
  Value replaced = b.unsqueeze(b.gather(matrix, number, 1), 1);
  Value exchanged = where(b, isEqual(b, rows, place), replaced, matrix);
  Value reduced = sub(b, exchanged, mul(b, columnOf(b, exchanged, number), scaled));
  Value next = where(b, isEqual(b, rows, number), scaled, reduced);
  Value sign = where(b, isEqual(b, place, number), b.scalar(1, type), b.scalar(-1, type));
  return {{}, {next}, {b.reshape(mul(b, pivot, sign), {shapeOf(matrix)[0]})}};
}

/// The eliminated matrices [n, m, k], and the pivots [m, n]. Empty after an error.
static SmallVector<Value> eliminate(Builder &b, Value matrix) {
  if (!matrix || b.hasFailed())
    return {};
  Value count = b.dims(shapeOf(matrix)[1], /*isScalar=*/true);
  SmallVector<Value> results = b.loop(
      {count, {}}, matrix, [&](Value number, ValueRange matrices) { return clearColumn(b, matrices[0], number); });
  return b.hasFailed() ? SmallVector<Value>() : results;
}

/// For [m, n]: the first wrong position in each column, counted from 1, or 0. As i32.
static Value firstWrong(Builder &b, Value isWrong) {
  if (!isWrong)
    return isWrong;
  SymbolicInt count = shapeOf(isWrong)[0];
  Value total = number(b, count, b.i64()), zero = b.scalar(0, b.i64());
  Value left = b.unsqueeze(sub(b, total, iota(b, count, b.i64())), 1);
  Value most = b.reduce(ReductionKind::Max, where(b, isWrong, left, zero), {0}, /*keepDims=*/false);
  Value isAny = most ? applyComposite(b, "greater", {most, zero})[0] : most;
  Value position = sub(b, add(b, total, b.scalar(1, b.i64())), most);
  return b.cast(where(b, isAny, position, zero), b.operations.getI32Type());
}

/// A^-1 B and, as in LAPACK, the number of the first zero pivot. Singular matrices give NaN.
static Results solveStacks(Builder &b, Value matrix, Value right, ArrayRef<SymbolicInt> outer) {
  SymbolicInt count = shapeOf(matrix)[1], columns = shapeOf(right)[2];
  SmallVector<Value> results = eliminate(b, b.concat({matrix, right}, 2));
  if (results.empty())
    return {};
  Type type = elementTypeOf(matrix);
  Value info = firstWrong(b, isEqual(b, results[1], b.scalar(0, type)));
  Value isGood = isEqual(b, info, b.scalar(0, b.operations.getI32Type()));
  if (!isGood)
    return {};
  Value factor = where(b, isGood, b.scalar(0, type), b.scalar(std::nan(""), type));
  Value solution = sliceAxis(b, results[0], 2, count, columns);
  solution = add(b, solution, b.reshape(factor, {shapeOf(matrix)[0], SymbolicInt(1), SymbolicInt(1)}));
  Shape shape(outer);
  shape.append({count, columns});
  return {b.reshape(solution, shape), b.reshape(info, Shape(outer))};
}

/// The pivots [m, n] of matrices [.., m, m]. Null after an error.
static Value pivotsOf(Builder &b, StringRef name, Value input) {
  if (!areSquare(b, name, input))
    return {};
  SmallVector<Value> results = eliminate(b, asStack(b, input));
  return results.empty() ? Value() : results[1];
}

//===----------------------------------------------------------------------===//
// Cholesky
//===----------------------------------------------------------------------===//

/// Step `number`: yields the remaining matrices, and column `number` of their factors [n, m].
static Iteration takeColumn(Builder &b, Value matrix, Value number) {
  Value column = b.gather(matrix, number, 2);
  Value pivot = b.unsqueeze(b.gather(column, number, 1), 1);
  Value scaled = div(b, column, call(b, "sqrt", pivot));
  Value places = iota(b, shapeOf(matrix)[1], b.i64());
  Value isBelow = applyComposite(b, "greater_equal", {places, number})[0];
  Value factor = where(b, isBelow, scaled, b.scalar(0, elementTypeOf(matrix)));
  if (!factor)
    return {};
  Value product = mul(b, b.unsqueeze(factor, 2), b.unsqueeze(factor, 1));
  return {{}, {sub(b, matrix, product)}, {factor, b.squeeze(pivot, 1)}};
}

namespace composites {
/// [.., m, m] to [.., m, m], reading the lower triangle only; and the first minor that is not positive, as i32.
Results cholesky(Builder &b, Values in, const Attributes &) {
  if (!areSquare(b, "cholesky", in[0]))
    return {};
  Shape shape = shapeOf(in[0]);
  Value matrix = asStack(b, in[0]);
  if (!matrix || b.hasFailed())
    return {};
  Value count = b.dims(shape.back(), /*isScalar=*/true);
  SmallVector<Value> results = b.loop(
      {count, {}}, matrix, [&](Value number, ValueRange matrices) { return takeColumn(b, matrices[0], number); });
  if (results.empty() || b.hasFailed())
    return {};
  Value factor = b.reshape(b.transpose(results[1], {1, 2, 0}), shape); // from [column, n, row]
  Value isPositive = applyComposite(b, "greater", {results[2], b.scalar(0, elementTypeOf(matrix))})[0];
  Value info = perMatrix(b, firstWrong(b, call(b, "logical_not", isPositive)), shape);
  return {b.cast(factor, elementTypeOf(in[0])), info};
}

/// A [.., m, m] and B [.., m, k] of the same outer extents.
Results solve(Builder &b, Values in, const Attributes &) {
  Shape shape = shapeOf(in[0]), right = shapeOf(in[1]);
  if (!areSquare(b, "solve", in[0]))
    return {};
  if (right.size() != shape.size() || provablyDiffer(right[right.size() - 2], shape.back()))
    return {b.contradict("solve: expected right-hand sides [.., m, k] for matrices " + toString(shape) +
                         ", got shape " + toString(right))};
  ArrayRef<SymbolicInt> outer = ArrayRef(shape).drop_back(2);
  Results results = solveStacks(b, asStack(b, in[0]), asStack(b, in[1]), outer);
  if (!results.empty())
    results[0] = b.cast(results[0], elementTypeOf(in[0]));
  return results;
}

/// [.., m, m]; the second result is the number of the first zero pivot. Singular matrices give NaN.
Results inverse(Builder &b, Values in, const Attributes &) {
  if (!areSquare(b, "inverse", in[0]))
    return {};
  Shape shape = shapeOf(in[0]);
  Value matrix = asStack(b, in[0]);
  Value unit = matrix ? unitMatrix(b, shape.back(), elementTypeOf(matrix)) : matrix;
  if (!unit)
    return {};
  unit = b.broadcastTo(unit, shapeOf(matrix));
  Results results = solveStacks(b, matrix, unit, ArrayRef(shape).drop_back(2));
  if (!results.empty())
    results[0] = b.cast(results[0], elementTypeOf(in[0]));
  return results;
}

/// [.., m, m] to [..]
Results det(Builder &b, Values in, const Attributes &) {
  Value pivots = pivotsOf(b, "det", in[0]);
  Value product = pivots ? b.reduce(ReductionKind::Product, pivots, {0}, /*keepDims=*/false) : pivots;
  return {product ? b.cast(perMatrix(b, product, shapeOf(in[0])), elementTypeOf(in[0])) : product};
}

/// The sign and the logarithm of the magnitude of the determinant: [.., m, m] to [..]
Results slogdet(Builder &b, Values in, const Attributes &) {
  Value pivots = pivotsOf(b, "slogdet", in[0]);
  if (!pivots)
    return {};
  Value signs = b.reduce(ReductionKind::Product, call(b, "sign", pivots), {0}, /*keepDims=*/false);
  Value logarithms = sum(b, call(b, "log", call(b, "abs", pivots)), 0, /*keepDims=*/false);
  Type type = elementTypeOf(in[0]);
  Shape shape = shapeOf(in[0]);
  return {b.cast(perMatrix(b, signs, shape), type), b.cast(perMatrix(b, logarithms, shape), type)};
}
} // namespace composites
} // namespace perpend::graph
