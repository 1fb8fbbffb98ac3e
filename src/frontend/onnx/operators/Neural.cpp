//===- Neural.cpp - ONNX operators on values ------------------------------===//
//
// Activations, normalisations, pooling, reductions, and the
// experimental image operators of early converters.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

#include <limits>

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static Value like(Builder &b, double number, Value tensor) { return b.scalar(number, graph::elementTypeOf(tensor)); }

/// Before operator set 7, broadcasting must be requested, from dimension `axis` of the first input on.
Results importLegacyBinary(Node &node) {
  Value left = node.input(0), right = node.input(1);
  if (left && right && node.attributes.getInt("broadcast") && node.attributes.has("axis")) {
    int64_t axis = node.attributes.getInt("axis"), rank = rankOf(left);
    Shape shape = shapeOf(right);
    int64_t missing = rank - (axis < 0 ? axis + rank : axis) - static_cast<int64_t>(shape.size());
    if (missing > 0)
      shape.append(missing, SymbolicInt(1));
    right = node.builder.reshape(right, shape);
  }
  std::string name = node.proto.operation.lower();
  return node.composite(name == "and" || name == "or" || name == "xor" ? "logical_" + name : name, {left, right});
}

Results importAveragePool(Node &node) { return node.composite("average_pool", node.inputs); }

Results importBatchNormalization(Node &node) {
  if (node.attributes.getInt("spatial", 1) == 0)
    return node.fail("statistics per position are not supported\nhint: export the model with spatial = 1");
  return node.composite(node.attributes.getInt("training_mode") ? "batch_norm_training" : "batch_norm", node.inputs);
}

/// The statistics are of the type `stash_type`, whatever that of x is.
Results importLayerNormalization(Node &node) {
  Type type = typeAttribute(node, "stash_type", node.builder.f32());
  Results results = type ? node.composite("layer_norm", node.inputs) : Results();
  for (size_t i = 1; i < results.size(); ++i)
    results[i] = results[i] ? node.builder.cast(results[i], type) : results[i];
  return results;
}

Results importGroupNormalization21(Node &node) { return node.composite("group_norm", node.inputs); }
/// Operator set 18: scale and bias per group.
Results importGroupNormalization(Node &node) {
  return node.composite("group_norm", node.inputs,
                        node.attribute("per_group", node.builder.operations.getI64IntegerAttr(1)));
}

Results importBitShift(Node &node) {
  return node.composite(node.attributes.getString("direction") == "LEFT" ? "shift_left" : "shift_right", node.inputs);
}

Results importMod(Node &node) { return node.composite(node.attributes.getInt("fmod") ? "fmod" : "mod", node.inputs); }

/// Operator set 1: bounds are attributes; an absent one does not clip.
Results importFirstClip(Node &node) {
  Value x = node.input(0), low, high;
  if (x && node.attributes.has("min"))
    low = like(node.builder, node.attributes.getFloat("min"), x);
  if (x && node.attributes.has("max"))
    high = like(node.builder, node.attributes.getFloat("max"), x);
  return node.composite("clip", {x, low, high});
}

/// Bounds are attributes. Absent ones are the lowest and largest f32, so infinities are clipped, too.
Results importClip(Node &node) {
  constexpr float limit = std::numeric_limits<float>::max();
  Value x = node.input(0);
  return node.composite("clip", {x, x ? like(node.builder, node.attributes.getFloat("min", -limit), x) : Value(),
                                 x ? like(node.builder, node.attributes.getFloat("max", limit), x) : Value()});
}

/// Bounds are inputs. Absent ones are the lowest and largest values of their type.
Results importClip11(Node &node) {
  Value x = node.input(0), low = node.input(1), high = node.input(2);
  if (auto type = x ? dyn_cast<FloatType>(graph::elementTypeOf(x)) : FloatType()) {
    double limit = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
    low = low ? low : like(node.builder, -limit, x);
    high = high ? high : like(node.builder, limit, x);
  }
  return node.composite("clip", {x, low, high});
}

/// Operator set 1 has rounded constants.
Results importFirstSelu(Node &node) {
  auto number = [&](StringRef name, float otherwise) {
    return node.attribute(name, node.builder.operations.getF64FloatAttr(node.attributes.getFloat(name, otherwise)));
  };
  return node.composite("selu", node.inputs, {number("alpha", 1.6732F), number("gamma", 1.0507F)});
}

/// A slope of lower rank is aligned at the last dimension; one of shape [c] from early converters at the channels.
/// Before operator set 7, slopes are those of the channels, dimension 1, or a single one.
Results importChannelPRelu(Node &node) {
  Value x = node.input(0), slope = node.input(1);
  if (x && slope && rankOf(slope) == 1 && rankOf(x) > 1 && shapeOf(slope)[0] != SymbolicInt(1))
    slope = alongAxis(node.builder, slope, 1, shapeOf(x));
  return node.composite("prelu", {x, slope});
}

Results importPRelu(Node &node) {
  Value x = node.input(0), slope = node.input(1);
  if (x && slope && rankOf(slope) == 1 && rankOf(x) > 2) {
    Shape shape = shapeOf(x), slopes = shapeOf(slope);
    if (provablyDiffer(slopes[0], shape.back()) && slopes[0] == shape[1])
      slope = alongAxis(node.builder, slope, 1, shape);
  }
  return node.composite("prelu", {x, slope});
}

Results importThresholdedRelu(Node &node) {
  return node.composite(
      "threshold", node.inputs,
      node.attribute("threshold", node.builder.operations.getF64FloatAttr(node.attributes.getFloat("alpha", 1))));
}

/// Before operator set 13, softmax works on the flattened dimensions from `axis` (default 1) on.
Results importFlatSoftmax(Node &node) {
  Value x = node.input(0);
  if (!x)
    return node.fail("expected 1 input");
  bool isLogarithmic = node.proto.operation == "LogSoftmax";
  int64_t rank = rankOf(x),
          axis = normalAxis(node.builder, node.attributes.getInt("axis", 1), std::max<int64_t>(rank, 1));
  if (axis < 0)
    return {};
  if (axis == rank - 1)
    return {graph::softmax(node.builder, x, axis, isLogarithmic)};
  Shape shape = shapeOf(x), flat(shape.begin(), shape.begin() + axis);
  flat.push_back(elementCount(ArrayRef(shape).drop_front(axis)));
  return {
      node.builder.reshape(graph::softmax(node.builder, node.builder.reshape(x, flat), axis, isLogarithmic), shape)};
}

/// Axes are an attribute, and an input from operator set 13 (ReduceSum) or 18 on.
Results importReduction(Node &node) {
  static constexpr std::pair<const char *, const char *> names[] = {
      {"ReduceL1", "reduce_l1"},          {"ReduceL2", "reduce_l2"},
      {"ReduceLogSum", "reduce_log_sum"}, {"ReduceLogSumExp", "reduce_log_sum_exp"},
      {"ReduceMax", "reduce_max"},        {"ReduceMean", "reduce_mean"},
      {"ReduceMin", "reduce_min"},        {"ReduceProd", "reduce_prod"},
      {"ReduceSum", "reduce_sum"},        {"ReduceSumSquare", "reduce_sum_square"}};
  const auto *name = llvm::find_if(names, [&](const auto &entry) { return node.proto.operation == entry.first; });
  if (!node.input(1))
    return node.composite(name->second, node.input(0));
  if (elementCount(shapeOf(node.input(1))) == SymbolicInt(0))
    return node.composite(name->second, node.input(0));
  if (!isa<IntegerType>(graph::elementTypeOf(node.input(1))))
    return node.fail("axes: expected integers, got " + graph::nameOf(graph::elementTypeOf(node.input(1))));
  if (std::optional<SmallVector<int64_t>> axes = node.builder.constantContents(node.input(1)))
    return node.composite(name->second, node.input(0), node.attribute("axes", ArrayRef<int64_t>(*axes)));
  MeasuredAxes meaning{node.attributes.getInt("keepdims", 1) != 0, !node.attributes.getInt("noop_with_empty_axes"), {}};
  if (!elementCount(shapeOf(node.input(1))).isConstant())
    meaning.remaining = node.declaredRank();
  NamedAttribute columns[] = {node.attribute("axes", ArrayRef<int64_t>{1}),
                              node.attribute("keepdims", node.builder.operations.getI64IntegerAttr(0))};
  return {reduceMeasured(node.builder, node.input(0), node.input(1), meaning, [&](Value matrix) {
    Results reduced = node.composite(name->second, matrix, columns);
    return reduced.empty() ? Value() : reduced[0];
  })};
}

//===----------------------------------------------------------------------===//
// Experimental operators of early converters
//===----------------------------------------------------------------------===//

/// alpha * x + beta
Results importAffine(Node &node) {
  Value x = node.input(0);
  if (!x)
    return node.fail("expected 1 input");
  Value scaled = graph::mul(node.builder, x, like(node.builder, node.attributes.getFloat("alpha", 1), x));
  return {graph::add(node.builder, scaled, like(node.builder, node.attributes.getFloat("beta", 0), x))};
}

/// alpha f(beta x).
static Results scaledInside(Node &node, StringRef function) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0), inner = graph::mul(b, x, like(b, node.attributes.getFloat("beta"), x));
  return {graph::mul(b, call(b, function, inner), like(b, node.attributes.getFloat("alpha"), x))};
}
Results importScaledTanh(Node &node) { return scaledInside(node, "tanh"); }
Results importParametricSoftplus(Node &node) { return scaledInside(node, "softplus"); }

Results importScale(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Value x = node.input(0);
  return {graph::mul(node.builder, x, like(node.builder, node.attributes.getFloat("scale", 1), x))};
}

/// border: left, top, right, bottom; or the extents `scale` from the top left border on.
Results importCrop(Node &node) {
  Value x = node.input(0);
  SmallVector<int64_t> border = node.attributes.getInts("border"), scale = node.attributes.getInts("scale");
  if (!x || rankOf(x) != 4 || border.size() != 4 || (!scale.empty() && scale.size() != 2))
    return {node.builder.contradict("expected a tensor of rank 4 and a border of 4 numbers")};
  Shape shape = shapeOf(x);
  SymbolicInt height = scale.empty() ? shape[2] - border[1] - border[3] : SymbolicInt(scale[0]);
  SymbolicInt width = scale.empty() ? shape[3] - border[0] - border[2] : SymbolicInt(scale[1]);
  Value rows = sliceAxis(node.builder, x, 2, SymbolicInt(border[1]), height);
  return {sliceAxis(node.builder, rows, 3, SymbolicInt(border[0]), width)};
}

/// scale * x + bias per channel
Results importImageScaler(Node &node) {
  Value x = node.input(0);
  SmallVector<double> bias = node.attributes.getFloats("bias");
  if (!x || rankOf(x) != 4 || bias.empty())
    return {node.builder.contradict("expected a tensor of rank 4 and a bias per channel")};
  SmallVector<float> values(bias.begin(), bias.end());
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, node.builder.f32());
  Value shift = node.builder.constant(DenseElementsAttr::get(type, ArrayRef<float>(values)));
  Value scaled = graph::mul(node.builder, x, like(node.builder, node.attributes.getFloat("scale", 1), x));
  shift = node.builder.cast(shift, graph::elementTypeOf(x));
  return {graph::add(node.builder, scaled, alongAxis(node.builder, shift, 1, shapeOf(x)))};
}
} // namespace perpend::onnx
