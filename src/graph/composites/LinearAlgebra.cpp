//===- LinearAlgebra.cpp - systems of equations and factorisations --------===//
//
// Calls of matrix.* (runtime/library) on stacks of matrices, in f32 or f64. The
// product of the pivots of Gaussian elimination is the determinant.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

static bool areMatrices(Builder &b, StringRef name, Value input) {
  if (rankOf(input) >= 2 && isFloat(input))
    return true;
  b.contradict(name + ": expected matrices of floats, got shape " + toString(shapeOf(input)));
  return false;
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

/// [.., m, k] as [n, m, k] in a type to compute in.
static Value asStack(Builder &b, Value input, Type type) {
  Shape shape = shapeOf(input);
  SymbolicInt rows = shape[shape.size() - 2], columns = shape.back();
  return b.reshape(b.cast(input, type), {elementCount(ArrayRef(shape).drop_back(2)), rows, columns});
}

static Value asStack(Builder &b, Value input) { return asStack(b, input, computeType(elementTypeOf(input))); }

/// Reshapes a vector [n] with one entry per matrix to the outer extents of this shape [.., m, m].
static Value perMatrix(Builder &b, Value vector, ArrayRef<SymbolicInt> shape) {
  return b.reshape(vector, Shape(shape.drop_back(2)));
}

/// A function of matrix (runtime/library) with stacks as operands.
static Results callMatrix(Builder &b, StringRef function, Builder::Values stacks, ArrayRef<CallResult> results,
                          ArrayRef<NamedAttribute> parameters = {}) {
  if (llvm::is_contained(stacks, Value()) || b.hasFailed())
    return {};
  return Results(b.callLibrary(function, stacks, results, parameters));
}

/// [n, ...] in the outer extents and the type of the operator's input [.., m, k].
static Value asGiven(Builder &b, Value result, Value input) {
  if (!result)
    return {};
  Shape shape(ArrayRef(shapeOf(input)).drop_back(2)), stack = shapeOf(result);
  shape.append(stack.begin() + 1, stack.end());
  return b.reshape(isFloat(result) ? b.cast(result, elementTypeOf(input)) : result, shape);
}

static Results allAsGiven(Builder &b, Results results, Value input) {
  for (Value &result : results)
    result = asGiven(b, result, input);
  return results;
}

/// A stack like this one, and an i32 for each matrix.
static SmallVector<CallResult> withInfo(Builder &b, Value stack) {
  return {{shapeOf(stack), elementTypeOf(stack)}, {{shapeOf(stack)[0]}, b.operations.getI32Type()}};
}

/// The pivots [n, m] of matrices [.., m, m]. Null after an error.
static Value pivotsOf(Builder &b, StringRef name, Value input) {
  if (!areSquare(b, name, input))
    return {};
  Value matrix = asStack(b, input);
  if (!matrix)
    return {};
  CallResult pivots{Shape(ArrayRef(shapeOf(matrix)).drop_back()), elementTypeOf(matrix)};
  Results results = callMatrix(b, "matrix.pivots", matrix, pivots);
  return results.empty() ? Value() : results[0];
}

/// Whether right-hand sides [.., m, k] fit matrices [.., m, m].
static bool doFit(Builder &b, StringRef name, Value matrix, Value right) {
  Shape shape = shapeOf(matrix), other = shapeOf(right);
  if (other.size() == shape.size() && !provablyDiffer(other[other.size() - 2], shape.back()))
    return true;
  b.contradict(name + ": expected right-hand sides [.., m, k] for matrices " + toString(shape) + ", got shape " +
               toString(other));
  return false;
}

namespace composites {
/// [.., m, m] to [.., m, m], reading the lower triangle only; and the first minor that is not positive, as i32.
Results cholesky(Builder &b, Values in, const Attributes &) {
  if (!areSquare(b, "cholesky", in[0]))
    return {};
  Value matrix = asStack(b, in[0]);
  return matrix ? allAsGiven(b, callMatrix(b, "matrix.cholesky", matrix, withInfo(b, matrix)), in[0]) : Results();
}

/// A [.., m, m] and B [.., m, k] of the same outer extents: A^-1 B and, as in LAPACK, the number of the first zero
/// pivot. Singular matrices give NaN.
Results solve(Builder &b, Values in, const Attributes &) {
  if (!areSquare(b, "solve", in[0]) || !doFit(b, "solve", in[0], in[1]))
    return {};
  Value matrix = asStack(b, in[0]), right = asStack(b, in[1]);
  return right ? allAsGiven(b, callMatrix(b, "matrix.solve", {matrix, right}, withInfo(b, right)), in[0]) : Results();
}

/// As solve, where A is one triangle of the given matrix: the lower, or the upper one (upper), with ones on its
/// diagonal (unit). One result; a diagonal with a 0 divides by it.
Results solve_triangular(Builder &b, Values in, const Attributes &a) {
  if (!areSquare(b, "solve_triangular", in[0]) || !doFit(b, "solve_triangular", in[0], in[1]))
    return {};
  Value matrix = asStack(b, in[0]), right = asStack(b, in[1]);
  SmallVector<NamedAttribute> parameters;
  for (StringRef name : {"unit", "upper"})
    parameters.push_back(b.operations.getNamedAttr(name, b.operations.getI64IntegerAttr(a.getInt(name))));
  if (!matrix || !right)
    return {};
  CallResult solution{shapeOf(right), elementTypeOf(right)};
  return allAsGiven(b, callMatrix(b, "matrix.substitute", {matrix, right}, solution, parameters), in[1]);
}

/// [.., m, m]; the second result is the number of the first zero pivot. Singular matrices give NaN.
Results inverse(Builder &b, Values in, const Attributes &) {
  if (!areSquare(b, "inverse", in[0]))
    return {};
  Value matrix = asStack(b, in[0]);
  return matrix ? allAsGiven(b, callMatrix(b, "matrix.inverse", matrix, withInfo(b, matrix)), in[0]) : Results();
}

/// [.., m, m] to [..]
Results det(Builder &b, Values in, const Attributes &) {
  Value pivots = pivotsOf(b, "det", in[0]);
  Value product = pivots ? b.reduce(ReductionKind::Product, pivots, {1}, /*keepDims=*/false) : pivots;
  return {product ? b.cast(perMatrix(b, product, shapeOf(in[0])), elementTypeOf(in[0])) : product};
}

/// The sign and the logarithm of the magnitude of the determinant: [.., m, m] to [..]
Results slogdet(Builder &b, Values in, const Attributes &) {
  Value pivots = pivotsOf(b, "slogdet", in[0]);
  if (!pivots)
    return {};
  Value signs = b.reduce(ReductionKind::Product, call(b, "sign", pivots), {1}, /*keepDims=*/false);
  Value logarithms = sum(b, call(b, "log", call(b, "abs", pivots)), 1, /*keepDims=*/false);
  Type type = elementTypeOf(in[0]);
  Shape shape = shapeOf(in[0]);
  return {b.cast(perMatrix(b, signs, shape), type), b.cast(perMatrix(b, logarithms, shape), type)};
}

/// [.., m, k]: the factors, [.., min(m, k)] and [..] of i32 (matrix.lu).
Results lu(Builder &b, Values in, const Attributes &) {
  if (!areMatrices(b, "lu", in[0]))
    return {};
  Value matrix = asStack(b, in[0]);
  if (!matrix)
    return {};
  Shape shape = shapeOf(matrix);
  Type type = elementTypeOf(matrix), info = b.operations.getI32Type();
  return allAsGiven(b,
                    callMatrix(b, "matrix.lu", matrix,
                               {{shape, type}, {{shape[0], min(shape[1], shape[2])}, info}, {{shape[0]}, info}}),
                    in[0]);
}

/// [.., m, k]: orthogonal [.., m, l] and upper triangular [.., l, k], l = m (complete) or min(m, k). Computed in f64.
Results qr(Builder &b, Values in, const Attributes &a) {
  if (!areMatrices(b, "qr", in[0]))
    return {};
  Value matrix = asStack(b, in[0], b.operations.getF64Type());
  if (!matrix)
    return {};
  Shape shape = shapeOf(matrix);
  SymbolicInt kept = a.getInt("complete") ? shape[1] : min(shape[1], shape[2]);
  Type type = elementTypeOf(matrix);
  return allAsGiven(
      b, callMatrix(b, "matrix.qr", matrix, {{{shape[0], shape[1], kept}, type}, {{shape[0], kept, shape[2]}, type}}),
      in[0]);
}

/// [.., m, m], symmetric, of which the lower triangle is read: ascending eigenvalues [.., m] and, unless `vectors` is
/// 0, the eigenvectors as columns. Computed in f64.
Results eigh(Builder &b, Values in, const Attributes &a) {
  if (!areSquare(b, "eigh", in[0]))
    return {};
  Value matrix = asStack(b, in[0], b.operations.getF64Type());
  if (!matrix)
    return {};
  Shape shape = shapeOf(matrix);
  SmallVector<CallResult> results{{{shape[0], shape[1]}, elementTypeOf(matrix)}};
  if (a.getInt("vectors", 1))
    results.push_back({shape, elementTypeOf(matrix)});
  return allAsGiven(b, callMatrix(b, "matrix.eigen", matrix, results), in[0]);
}

/// The same for matrices whose last two extents are exchanged.
static Value exchanged(Builder &b, Value x) {
  if (!x)
    return {};
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  std::swap(order[order.size() - 2], order.back());
  return b.transpose(x, order);
}

/// [.., m, k]: descending singular values [.., l], l = min(m, k), and, unless `vectors` is 0, orthogonal u and v^T,
/// with u diag(s) v^T the matrix: [.., m, l] and [.., l, k], or square ones (full). Computed in f64.
Results svd(Builder &b, Values in, const Attributes &a) {
  if (!areMatrices(b, "svd", in[0]))
    return {};
  Shape given = shapeOf(in[0]);
  bool isWide = compareLess(given[given.size() - 2], given.back()) == true, hasVectors = a.getInt("vectors", 1);
  Value matrix = asStack(b, isWide ? exchanged(b, in[0]) : in[0], b.operations.getF64Type());
  if (!matrix)
    return {};
  Shape shape = shapeOf(matrix);
  SymbolicInt kept = a.getInt("full") ? shape[1] : shape[2];
  b.require(shape[1] - shape[2], "svd: expected at least as many rows as columns");
  SmallVector<CallResult> results{{{shape[0], shape[2]}, elementTypeOf(matrix)}};
  if (hasVectors) {
    results.push_back({{shape[0], shape[1], kept}, elementTypeOf(matrix)});
    results.push_back({{shape[0], shape[2], shape[2]}, elementTypeOf(matrix)});
  }
  Results found = allAsGiven(b, callMatrix(b, "matrix.singular", matrix, results), in[0]);
  if (found.empty() || !hasVectors)
    return found;
  return isWide ? Results{found[0], exchanged(b, found[2]), exchanged(b, found[1])} : found;
}
} // namespace composites
} // namespace perpend::graph
