//===- Normalisations.cpp - layer, batch, instance, group, lp and lrn -----===//
//
// Variances are computed in two passes (mean first), in f32 for f16 and bf16.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Division.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

static Value addNumber(Builder &b, Value x, double number) {
  return x ? add(b, x, b.scalar(number, elementTypeOf(x))) : x;
}
static SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(first, rank));
}

Value alongAxis(Builder &b, Value vector, int64_t axis, ArrayRef<SymbolicInt> shape) {
  if (!vector)
    return {};
  if (rankOf(vector) != 1)
    vector = b.reshape(vector, {elementCount(shapeOf(vector))});
  if (vector && provablyDiffer(shapeOf(vector)[0], shape[axis]) && shapeOf(vector)[0] != SymbolicInt(1))
    return b.contradict("expected a vector of " + shape[axis].str() + " elements, for dimension " + Twine(axis) +
                        " of " + toString(shape) + ", got " + shapeOf(vector)[0].str() +
                        "\nhint: give one number, or one for each index of that dimension");
  return b.broadcast(vector, axis, shape);
}

Normalised normalise(Builder &b, Value input, ArrayRef<int64_t> axes, double epsilon) {
  Value x = toCompute(b, input), average = mean(b, x, axes, true);
  Value centred = sub(b, x, average);
  Value variance = mean(b, mul(b, centred, centred), axes, true);
  Value inverse = call(b, "rsqrt", addNumber(b, variance, epsilon));
  return {mul(b, centred, inverse), average, inverse};
}

namespace composites {
/// x * scale + shift, in x's type, then rounded to the type of `like`.
static Value affine(Builder &b, Value x, Value scale, Value shift, Value like) {
  if (!x)
    return x;
  if (scale)
    x = mul(b, x, castLike(b, scale, x));
  if (x && shift)
    x = add(b, x, castLike(b, shift, x));
  return x ? castLike(b, x, like) : x;
}

/// Results: the normalised tensor, the mean, the inverse standard deviation.
Results layer_norm(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]));
  if (axis < 0)
    return {};
  Normalised n = normalise(b, in[0], axesFrom(axis, rankOf(in[0])), a.getFloat("epsilon", 1e-5));
  if (!n.result)
    return {};
  return {affine(b, n.result, optionalInput(in, 1), optionalInput(in, 2), in[0]), n.mean, n.inverseDeviation};
}

Results rms_norm(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]));
  if (axis < 0)
    return {};
  Value x = toCompute(b, in[0]);
  Value power = graph::mean(b, mul(b, x, x), axesFrom(axis, rankOf(x)), true);
  Value scaled = mul(b, x, call(b, "rsqrt", addNumber(b, power, a.getFloat("epsilon", 1e-5))));
  return {affine(b, scaled, optionalInput(in, 1), {}, in[0])};
}

/// x in the type that it is computed in, that of the statistics where these are wider.
static Value besideStatistics(Builder &b, Values in) {
  Type type = computeType(elementTypeOf(in[0]));
  for (Value value : in.drop_front())
    if (value && elementTypeOf(value).isF64() && isFloat(in[0]))
      type = elementTypeOf(value);
  return b.cast(in[0], type);
}

/// in: x, scale, shift, mean, variance.
Results batch_norm(Builder &b, Values in, const Attributes &a) {
  if (rankOf(in[0]) < 2)
    return {
        b.contradict("batch_norm: expected a tensor with a channel dimension, got shape " + toString(shapeOf(in[0])))};
  Value x = besideStatistics(b, in);
  SmallVector<Value> statistics;
  for (Value value : in.drop_front())
    statistics.push_back(castLike(b, value, x));
  Value inverse = call(b, "rsqrt", addNumber(b, statistics[3], a.getFloat("epsilon", 1e-5)));
  Value scale = mul(b, statistics[0], inverse);
  Value shift = sub(b, statistics[1], mul(b, statistics[2], scale));
  Shape shape = shapeOf(x);
  return {affine(b, x, alongAxis(b, scale, 1, shape), alongAxis(b, shift, 1, shape), in[0])};
}

/// As batch_norm, with the statistics of x. Results: also the running mean and variance, momentum old + (1 - momentum)
/// new.
Results batch_norm_training(Builder &b, Values in, const Attributes &a) {
  if (rankOf(in[0]) < 2)
    return {
        b.contradict("batch_norm: expected a tensor with a channel dimension, got shape " + toString(shapeOf(in[0])))};
  SmallVector<int64_t> axes{0};
  llvm::append_range(axes, axesFrom(2, rankOf(in[0])));
  Value x = toCompute(b, in[0]), average = graph::mean(b, x, axes, false);
  Value centred = sub(b, x, alongAxis(b, average, 1, shapeOf(x)));
  Value variance = graph::mean(b, mul(b, centred, centred), axes, false);
  if (!variance)
    return {};
  double momentum = a.getFloat("momentum", 0.9F);
  auto running = [&](Value old, Value current) {
    Value mixed = pointwise(b, {castLike(b, old, current), current},
                            [=](ArrayRef<Scalar> v) { return momentum * v[0] + (1 - momentum) * v[1]; });
    return castLike(b, mixed, old);
  };
  Results result = batch_norm(b, {in[0], in[1], in[2], average, variance}, a);
  if (result.empty() || !result[0])
    return {};
  return {result[0], running(in[3], average), running(in[4], variance)};
}

Results instance_norm(Builder &b, Values in, const Attributes &a) {
  if (rankOf(in[0]) < 3)
    return {b.contradict("instance_norm: expected rank 3 or more, got shape " + toString(shapeOf(in[0])))};
  Normalised n = normalise(b, in[0], axesFrom(2, rankOf(in[0])), a.getFloat("epsilon", 1e-5));
  Shape shape = shapeOf(in[0]);
  Value scale = optionalInput(in, 1), shift = optionalInput(in, 2);
  return {affine(b, n.result, alongAxis(b, scale, 1, shape), alongAxis(b, shift, 1, shape), in[0])};
}

/// Channels in `num_groups` groups; scale and shift per channel, or per group when `per_group` is set.
Results group_norm(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]);
  SymbolicInt groups(a.getInt("num_groups", 1));
  std::optional<SymbolicInt> size;
  if (shape.size() >= 2 && groups.knownPositive())
    size = divideEvenly(shape[1], groups);
  if (!size)
    return {b.contradict("group_norm: the channels of shape " + toString(shape) + " do not divide into " +
                         groups.str() + " groups")};
  Shape grouped{shape[0], groups, *size};
  grouped.append(shape.begin() + 2, shape.end());
  Value x = b.reshape(in[0], grouped);
  if (!x)
    return {};
  Normalised n = normalise(b, x, axesFrom(2, grouped.size()), a.getFloat("epsilon", 1e-5));
  Value scale = optionalInput(in, 1), shift = optionalInput(in, 2);
  if (a.getInt("per_group")) {
    Value result = affine(b, n.result, alongAxis(b, scale, 1, grouped), alongAxis(b, shift, 1, grouped), in[0]);
    return {b.reshape(result, shape)};
  }
  // In groups, too: a reshape before them would end the kernel.
  auto ofChannels = [&](Value vector) -> Value {
    Value channels = vector ? alongAxis(b, vector, 0, shape[1]) : vector;
    return channels ? b.broadcast(b.reshape(channels, {groups, *size}), {1, 2}, grouped) : channels;
  };
  return {b.reshape(affine(b, n.result, ofChannels(scale), ofChannels(shift), in[0]), shape)};
}

/// x / norm, and 0 where the norm is 0 (as ONNX).
Results lp_norm(Builder &b, Values in, const Attributes &a) {
  int64_t p = a.getInt("p", 2), axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]));
  if (axis < 0 || (p != 1 && p != 2))
    return {b.fail("lp_norm: expected p = 1 or 2 and an axis of the tensor, got p = " + Twine(p))};
  Builder &builder = b;
  auto axes = builder.operations.getDenseI64ArrayAttr(axis);
  Attributes reduction(b.context(), builder.operations.getNamedAttr("axes", axes));
  Value norm = applyComposite(b, p == 1 ? "reduce_l1" : "reduce_l2", in[0], reduction)[0];
  return {pointwise(b, {in[0], norm},
                    [](ArrayRef<Scalar> v) { return select(graph::equal(v[1], 0), v[1].constant(0), v[0] / v[1]); })};
}

/// x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.
Results lrn(Builder &b, Values in, const Attributes &a) {
  int64_t size = a.getInt("size", 1), rank = rankOf(in[0]);
  double alpha = a.getFloat("alpha", 1e-4), beta = a.getFloat("beta", 0.75), bias = a.getFloat("bias", 1);
  if (rank < 2 || size < 1)
    return {b.contradict("lrn: expected a tensor with channels and a positive size, got shape " +
                         toString(shapeOf(in[0])))};
  Value x = toCompute(b, in[0]);
  SmallVector<int64_t> sizes(rank - 1, 1), low(rank - 1, 0), high(rank - 1, 0), ones(rank - 1, 1);
  sizes[0] = size;
  low[0] = (size - 1) / 2;
  high[0] = size - 1 - low[0];
  Window window{ones, low, high, ones, ones};
  Value total = b.windowReduce(ReductionKind::Sum, mul(b, x, x), sizes, window);
  Value result = pointwise(b, {x, total}, [=](ArrayRef<Scalar> v) {
    return v[0] / graph::pow(bias + (alpha / size) * v[1], v[0].constant(beta));
  });
  return {castLike(b, result, in[0])};
}

Results mean_variance_norm(Builder &b, Values in, const Attributes &a) {
  std::optional<SmallVector<int64_t>> axes = normalAxes(b, a.getInts("axes", {0, 2, 3}), rankOf(in[0]));
  if (!axes)
    return {};
  Value x = toCompute(b, in[0]);
  Value centred = sub(b, x, mean(b, x, *axes, true));
  Value deviation = call(b, "sqrt", mean(b, mul(b, centred, centred), *axes, true));
  return {castLike(b, div(b, centred, addNumber(b, deviation, 1e-9)), in[0])};
}
} // namespace composites
} // namespace perpend::graph
