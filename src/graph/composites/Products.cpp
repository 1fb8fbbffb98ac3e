//===- Products.cpp - matrix products and attention -----------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

static Value toCompute(Builder &b, Value x) { return x ? b.cast(x, computeType(elementTypeOf(x))) : x; }
static Value castLike(Builder &b, Value x, Value like) { return x ? b.cast(x, elementTypeOf(like)) : x; }

Value matmulOf(Builder &b, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return {};
  return castLike(b, b.matmul(toCompute(b, lhs), toCompute(b, rhs)), lhs);
}

/// x * factor, or x where the factor is 1.
static Value scaled(Builder &b, Value x, double factor) {
  return x && factor != 1 ? mul(b, x, b.scalar(factor, elementTypeOf(x))) : x;
}

/// The last two dimensions exchanged.
static Value transposed(Builder &b, Value x) {
  if (!x)
    return {};
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  std::swap(permutation[rankOf(x) - 1], permutation[rankOf(x) - 2]);
  return b.transpose(x, permutation);
}

namespace composites {
Results matmul(Builder &b, Values in, const Attributes &) { return {matmulOf(b, in[0], in[1])}; }

/// alpha * op(A) op(B) + beta * C
Results gemm(Builder &b, Values in, const Attributes &a) {
  if (rankOf(in[0]) != 2 || rankOf(in[1]) != 2)
    return {
        b.fail("gemm: expected matrices, got shapes " + toString(shapeOf(in[0])) + " and " + toString(shapeOf(in[1])))};
  int64_t lhsSum = a.getInt("transA") ? 0 : 1, rhsSum = a.getInt("transB") ? 1 : 0;
  Value product = b.contract(toCompute(b, in[0]), toCompute(b, in[1]), {}, {}, lhsSum, rhsSum);
  product = scaled(b, product, a.getFloat("alpha", 1));
  double beta = a.getFloat("beta", 1);
  if (Value addend = optionalInput(in, 2); addend && product && beta != 0)
    product = graph::add(b, product, scaled(b, castLike(b, addend, product), beta));
  return {castLike(b, product, in[0])};
}

/// x W^T + bias, W [out, in].
Results linear(Builder &b, Values in, const Attributes &) {
  if (rankOf(in[0]) < 1 || rankOf(in[1]) != 2)
    return {b.fail("linear: expected a weight of rank 2, got shape " + toString(shapeOf(in[1])))};
  Value product = b.contract(toCompute(b, in[0]), toCompute(b, in[1]), {}, {}, rankOf(in[0]) - 1, {1});
  if (Value bias = optionalInput(in, 2))
    product = graph::add(b, product, castLike(b, bias, product ? product : bias));
  return {castLike(b, product, in[0])};
}

/// Repeats each head of [batch, heads, ...] so that the number of heads becomes `heads`.
static Value repeatHeads(Builder &b, Value x, const SymbolicInt &heads) {
  Shape shape = shapeOf(x);
  if (shape.size() != 4 || shape[1] == heads)
    return x;
  std::optional<SymbolicInt> repeats = exactDiv(heads, shape[1]);
  if (!repeats)
    return b.fail("attention: " + heads.str() + " query heads do not divide by " + shape[1].str() + " key heads");
  Shape wide{shape[0], shape[1], *repeats, shape[2], shape[3]};
  return b.reshape(b.broadcast(x, {0, 1, 3, 4}, wide), {shape[0], heads, shape[2], shape[3]});
}

static Value causalMask(Builder &b, const SymbolicInt &rows, const SymbolicInt &columns) {
  return b.generate({}, {rows, columns}, b.operations.getI1Type(),
                    [](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
                      return (Scalar(builder, loc, index[1]) <= Scalar(builder, loc, index[0])).value;
                    });
}

/// in: query, key, value [.., length, size], mask (optional: boolean keeps, float is added).
Results scaled_dot_product_attention(Builder &b, Values in, const Attributes &a) {
  if (llvm::any_of(in.take_front(3), [](Value x) { return rankOf(x) < 2; }))
    return {b.fail("attention: expected query, key and value of rank 2 or more")};
  Shape queryShape = shapeOf(in[0]), keyShape = shapeOf(in[1]);
  SymbolicInt heads = queryShape.size() == 4 ? queryShape[1] : SymbolicInt(1);
  Value query = toCompute(b, in[0]), key = repeatHeads(b, toCompute(b, in[1]), heads),
        value = repeatHeads(b, toCompute(b, in[2]), heads), mask = optionalInput(in, 3);
  std::optional<int64_t> size = queryShape.back().constant();
  if (!size && !a.has("scale"))
    return {b.fail("attention: the size of a head must be a number, got " + queryShape.back().str())};
  double scale = a.has("scale") ? a.getFloat("scale") : 1 / std::sqrt(static_cast<double>(*size));
  Value scores = scaled(b, b.matmul(query, transposed(b, key)), scale);
  if (!scores)
    return {};
  Value lowest = b.scalar(-std::numeric_limits<double>::infinity(), elementTypeOf(scores));
  if (a.getInt("is_causal"))
    scores = graph::where(b, causalMask(b, queryShape[queryShape.size() - 2], keyShape[keyShape.size() - 2]), scores,
                          lowest);
  if (mask)
    scores = elementTypeOf(mask).isInteger(1) ? graph::where(b, mask, scores, lowest)
                                              : graph::add(b, scores, b.cast(mask, elementTypeOf(lowest)));
  return {castLike(b, b.matmul(graph::softmax(b, scores, -1, false), value), in[0])};
}
} // namespace composites
} // namespace perpend::graph
