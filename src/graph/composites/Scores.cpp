//===- Scores.cpp - transforms of classical models ------------------------===//

#include "graph/composites/Formulas.h"

#include <numbers>

using namespace mlir;

namespace perpend::graph {

/// An approximation of the inverse of erf, that of ai.onnx.ml.
static Scalar inverseErf(Scalar x) {
  Scalar rest = (1.0 - x) * (1.0 + x), logarithm = log(rest);
  Scalar v = 2 / (std::numbers::pi * 0.147) + 0.5 * logarithm;
  Scalar magnitude = sqrt(sqrt(v * v - logarithm / 0.147) - v);
  return select(x < 0, -magnitude, magnitude);
}

namespace composites {
/// The quantile of the normal distribution.
Results probit(Builder &b, Values in, const Attributes &) {
  return {pointwise(b, in[0], [](ArrayRef<Scalar> v) { return inverseErf(v[0] * 2 - 1) * std::numbers::sqrt2; })};
}

/// Scores close to 0 keep their value times e^-max; all become 1/2 if the sum is 0.
Results softmax_zero(Builder &b, Values in, const Attributes &) {
  Value highest = b.reduce(ReductionKind::Max, in[0], {-1}, /*keepDims=*/true);
  Value parts = pointwise(b, {in[0], highest}, [](ArrayRef<Scalar> v) {
    Scalar isZero = graph::abs(v[0]) <= 1e-7;
    return select(isZero, v[0] * graph::exp(-v[1]), graph::exp(v[0] - v[1]));
  });
  Value total = parts ? graph::sum(b, parts, {-1}, /*keepDims=*/true) : parts;
  return {pointwise(b, {parts, total},
                    [](ArrayRef<Scalar> v) { return select(graph::equal(v[1], 0), v[0].constant(0.5), v[0] / v[1]); })};
}

/// in: x, keys [k] of x's type, values [k + 1]. The value of the first key equal to x (NaN equals NaN), else the last.
Results lookup(Builder &b, Values in, const Attributes &) {
  SymbolicInt count = shapeOf(in[1])[0];
  Shape shape = shapeOf(in[0]), wide = shape;
  wide.push_back(count);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  Value x = b.broadcast(in[0], dims, wide), keys = alongAxis(b, in[1], shape.size(), wide);
  Value hits = pointwise(
      b, {x, keys},
      [](ArrayRef<Scalar> v) {
        Scalar same = graph::equal(v[0], v[1]);
        return v[0].isFloat() ? same | (notEqual(v[0], v[0]) & notEqual(v[1], v[1])) : same;
      },
      b.operations.getI1Type());
  Value positions = alongAxis(b, iota(b, count, b.i64()), shape.size(), wide);
  Value candidates = graph::where(b, hits, positions, number(b, count, b.i64()));
  Value first = candidates ? b.reduce(ReductionKind::Min, candidates, {-1}, /*keepDims=*/false) : candidates;
  // Without keys, the minimum of nothing is the largest integer, which gather clamps.
  return {b.gather(in[2], first, 0)};
}
} // namespace composites
} // namespace perpend::graph
