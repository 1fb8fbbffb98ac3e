//===- Products.cpp - matrix products -------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

Value matmulOf(Builder &b, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return {};
  return castLike(b, b.matmul(toCompute(b, lhs), toCompute(b, rhs)), lhs);
}

/// x * factor, or x where the factor is 1.
static Value scaled(Builder &b, Value x, double factor) {
  return x && factor != 1 ? mul(b, x, b.scalar(factor, elementTypeOf(x))) : x;
}

namespace composites {
Results matmul(Builder &b, Values in, const Attributes &) { return {matmulOf(b, in[0], in[1])}; }

/// alpha * op(A) op(B) + beta * C
Results gemm(Builder &b, Values in, const Attributes &a) {
  if (rankOf(in[0]) != 2 || rankOf(in[1]) != 2)
    return {b.contradict("gemm: expected matrices, got shapes " + toString(shapeOf(in[0])) + " and " +
                         toString(shapeOf(in[1])))};
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
    return {b.contradict("linear: expected a weight of rank 2, got shape " + toString(shapeOf(in[1])))};
  Value product = b.contract(toCompute(b, in[0]), toCompute(b, in[1]), {}, {}, rankOf(in[0]) - 1, {1});
  if (Value bias = optionalInput(in, 2))
    product = graph::add(b, product, castLike(b, bias, product ? product : bias));
  return {castLike(b, product, in[0])};
}
} // namespace composites
} // namespace perpend::graph
