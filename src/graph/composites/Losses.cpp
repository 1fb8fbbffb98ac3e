//===- Losses.cpp - negative log likelihood and cross entropy -------------===//
//
// Classes are dimension 1: scores [n, c, d...], targets [n, d...]. Sources:
// ONNX NegativeLogLikelihoodLoss-22, SoftmaxCrossEntropyLoss-13.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// What picks one class for each target.
struct Picking {
  Shape shape;
  SymbolicInt classes;
  std::optional<int64_t> ignored;
};
} // namespace

/// The class of a target as an index inside the classes; an ignored one may be any number.
static Value classOf(OpBuilder &builder, Location loc, Scalar target, const SymbolicInt &classes) {
  Scalar index = target.to(builder.getIndexType());
  index.noSign = false;
  Scalar count(builder, loc, extent(builder, loc, classes));
  return max(min(index, count - 1), 0).value;
}

/// weight[target], or 1; 0 where the target is ignored.
static Value targetWeights(Builder &b, Value target, Value weight, const Picking &picking, Type type) {
  SmallVector<Value, 2> inputs{target};
  if (weight)
    inputs.push_back(weight);
  return b.generate(inputs, picking.shape, type, [&](OpBuilder &builder, Location loc, ValueRange at, ValueRange in) {
    Scalar label(builder, loc, load(builder, loc, in[0], at));
    Scalar one = Scalar(builder, loc, builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(type, 1)));
    Scalar value = one;
    if (weight) {
      Value chosen = load(builder, loc, in[1], classOf(builder, loc, label, picking.classes));
      value = Scalar(builder, loc, chosen).to(type);
    }
    if (!picking.ignored)
      return value.value;
    return select(equal(label, label.integer(*picking.ignored)), one.constant(0), value).value;
  });
}

/// scores[n, target[n, d...], d...]
static Value targetScores(Builder &b, Value scores, Value target, const Picking &picking) {
  return b.generate({scores, target}, picking.shape, elementTypeOf(scores),
                    [&](OpBuilder &builder, Location loc, ValueRange at, ValueRange in) {
                      Scalar label(builder, loc, load(builder, loc, in[1], at));
                      SmallVector<Value> source(at);
                      source.insert(source.begin() + 1, classOf(builder, loc, label, picking.classes));
                      return load(builder, loc, in[0], source);
                    });
}

/// -weight[target] scores[target], reduced: none, sum, or mean (divided by the sum of the weights).
static Value likelihoodLoss(Builder &b, Value scores, Value target, Value weight, const Attributes &a) {
  if (!scores || !target)
    return {};
  Shape shape = shapeOf(scores), targets = shapeOf(target);
  if (shape.size() < 2 || targets.size() + 1 != shape.size() || !isa<IntegerType>(elementTypeOf(target)) ||
      !isFloat(scores))
    return b.contradict("expected scores [n, classes, ...] of floats and integer targets [n, ...], got shapes " +
                        toString(shape) + " and " + toString(targets));
  Shape read = targets;
  read.insert(read.begin() + 1, shape[1]);
  requireExtents(b, shape, read, "the scores of the targets");
  if (weight)
    requireExtents(b, shapeOf(weight), shape[1], "a weight for each class");
  Picking picking{targets, shape[1], std::nullopt};
  if (a.has("ignore_index"))
    picking.ignored = a.getInt("ignore_index");
  Type compute = computeType(elementTypeOf(scores));
  Value weights = targetWeights(b, target, weight, picking, compute);
  Value picked = targetScores(b, b.cast(scores, compute), target, picking);
  Value losses = pointwise(b, {picked, weights}, [](ArrayRef<Scalar> v) { return -v[0] * v[1]; });
  if (losses && picking.ignored) { // an ignored score may be infinite, which a weight of 0 does not hide
    Value ignored = b.scalar(static_cast<double>(*picking.ignored), elementTypeOf(target));
    losses = where(b, applyComposite(b, "equal", {target, ignored})[0], b.scalar(0, compute), losses);
  }
  StringRef reduction = a.getString("reduction", "mean");
  if (reduction == "none")
    return losses;
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, targets.size()));
  Value total = sum(b, losses, all, false);
  return reduction == "sum" ? total : div(b, total, sum(b, weights, all, false));
}

namespace composites {
/// in: logarithms of probabilities, targets, weight per class (optional).
Results nll_loss(Builder &b, Values in, const Attributes &a) {
  Value loss = likelihoodLoss(b, in[0], in[1], optionalInput(in, 2), a);
  return {loss ? b.cast(loss, elementTypeOf(in[0])) : loss};
}

/// in: scores, targets, weight per class (optional). Results: the loss, the logarithms of the probabilities.
Results softmax_cross_entropy(Builder &b, Values in, const Attributes &a) {
  if (rankOf(in[0]) < 2)
    return {b.contradict("expected scores [n, classes, ...], got shape " + toString(shapeOf(in[0])))};
  Type type = elementTypeOf(in[0]);
  Value logarithms = graph::softmax(b, b.cast(in[0], computeType(type)), 1, true);
  Value loss = likelihoodLoss(b, logarithms, in[1], optionalInput(in, 2), a);
  if (!loss)
    return {};
  return {b.cast(loss, type), b.cast(logarithms, type)};
}
} // namespace composites
} // namespace perpend::graph
