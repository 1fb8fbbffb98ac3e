//===- Coupling.cpp - class probabilities from pairwise ones --------------===//
//
// Finds the probabilities p of classes from r_ij, the probability of class i if only the classes i and j are possible:
// minimises p^T Q p, where Q_ii = sum over j of r_ji^2 and Q_ij = -r_ji r_ij, and the sum of p is 1. At the minimum,
// (Q p)_i = p^T Q p for each i. A step updates one p_i after the other, and divides p by its new sum each time. A row
// of the batch keeps its p once these equations hold to 0.005 / classes; there are at most 100 steps.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Coupling.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

static constexpr int64_t maximalSteps = 100;

namespace {
/// One row of the batch per row: p and Q p [n, classes], p^T Q p [n, 1].
struct Estimate {
  Value p, gradient, form;
};
} // namespace

/// r [n, classes, classes], with 0 on the diagonal.
static Value duelMatrix(Builder &b, Value duels, int64_t classes) {
  int64_t count = classes * (classes - 1) / 2, next = 0;
  SmallVector<int64_t> columns(classes * classes, 2 * count);
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++next) {
      columns[i * classes + j] = next;
      columns[j * classes + i] = count + next;
    }
  Value lost = pointwise(b, duels, [](ArrayRef<Scalar> v) { return 1.0 - v[0]; });
  Value none = b.splat({shapeOf(duels)[0], SymbolicInt(1)}, 0, elementTypeOf(duels));
  Value all = lost ? b.concat({duels, lost, none}, 1) : lost;
  return b.gather(all, b.reshape(b.integers(columns), {SymbolicInt(classes), SymbolicInt(classes)}), 1);
}

/// Q [n, classes, classes].
static Value quadraticForm(Builder &b, Value duels, int64_t classes) {
  Value r = duelMatrix(b, duels, classes), numbers = iota(b, SymbolicInt(classes), b.i64());
  if (!r)
    return {};
  Value isDiagonal = applyComposite(b, "equal", {b.unsqueeze(numbers, {1}), numbers})[0];
  Value squares = sum(b, mul(b, r, r), {1}, /*keepDims=*/true);
  Value others = pointwise(b, {r, b.transpose(r, {0, 2, 1})}, [](ArrayRef<Scalar> v) { return -(v[0] * v[1]); });
  return where(b, isDiagonal, squares, others);
}

/// Updates p_i such that (Q p)_i = p^T Q p with the others fixed, then normalises the sum to 1.
static Estimate improved(Builder &b, Value matrix, Value position, const Estimate &old) {
  auto column = [&](Value x) { return b.unsqueeze(b.gather(x, position, 1), {1}); };
  Value row = b.gather(matrix, position, 1), own = column(row), slope = column(old.gradient);
  Value change = pointwise(b, {old.form, slope, own}, [](ArrayRef<Scalar> v) { return (v[0] - v[1]) / v[2]; });
  Value isHere = applyComposite(b, "equal", {iota(b, shapeOf(row)[1], b.i64()), position})[0];
  Value changed = where(b, isHere, add(b, old.p, change), old.p);
  Estimate next;
  next.p = pointwise(b, {changed, change}, [](ArrayRef<Scalar> v) { return v[0] / (1.0 + v[1]); });
  next.gradient =
      pointwise(b, {old.gradient, change, row}, [](ArrayRef<Scalar> v) { return (v[0] + v[1] * v[2]) / (1.0 + v[1]); });
  next.form = pointwise(b, {old.form, change, own, slope}, [](ArrayRef<Scalar> v) {
    return (v[0] + v[1] * (v[1] * v[2] + 2.0 * v[3])) / (1.0 + v[1]) / (1.0 + v[1]);
  });
  return next;
}

static Iteration step(Builder &b, Value matrix, Value p, int64_t classes) {
  Estimate start{p, b.contract(matrix, p, {0}, {0}, {2}, {1}), {}};
  start.form = sum(b, mul(b, p, start.gradient), {1}, /*keepDims=*/true);
  Value errors = pointwise(b, {start.gradient, start.form}, [](ArrayRef<Scalar> v) { return abs(v[0] - v[1]); });
  double limit = 0.005 / static_cast<double>(classes);
  Value isActive = pointwise(
      b, b.reduce(ReductionKind::Max, errors, 1, /*keepDims=*/true),
      [=](ArrayRef<Scalar> v) { return ~(v[0] < limit); }, b.operations.getI1Type());
  Value count = b.dims(SymbolicInt(classes), /*isScalar=*/true);
  SmallVector<Value> swept =
      b.loop({count, {}}, {start.p, start.gradient, start.form}, [&](Value position, ValueRange carried) {
        Estimate next = improved(b, matrix, position, {carried[0], carried[1], carried[2]});
        return Iteration{{}, {next.p, next.gradient, next.form}, {}};
      });
  if (swept.empty())
    return {};
  return {b.reduce(ReductionKind::Max, isActive, {0, 1}, /*keepDims=*/false), {where(b, isActive, swept[0], p)}, {}};
}

Value coupledProbabilities(Builder &b, Value duels, int64_t classes) {
  Value matrix = duels ? quadraticForm(b, duels, classes) : duels;
  if (!matrix)
    return {};
  Shape shape{shapeOf(duels)[0], SymbolicInt(classes)};
  Value uniform = b.splat(shape, 1.0 / static_cast<double>(classes), elementTypeOf(duels));
  Value limit = b.dims(SymbolicInt(maximalSteps), /*isScalar=*/true);
  SmallVector<Value> results =
      b.loop({limit, {}}, uniform, [&](Value, ValueRange carried) { return step(b, matrix, carried[0], classes); });
  return results.empty() ? Value() : results.front();
}
} // namespace perpend::graph
