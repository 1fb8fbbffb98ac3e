//===- OperatorsNeural.cpp - ONNX operators on values ---------------------===//
//
// Activations, normalisations, pooling, reductions, resizing, and the
// experimental image operators of early converters.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static Value like(Builder &b, double number, Value tensor) { return b.scalar(number, graph::elementTypeOf(tensor)); }

/// Before operator set 7: broadcasting only when asked for, from dimension `axis` of the first input on.
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

Results importLayerNormalization(Node &node) { return node.composite("layer_norm", node.inputs); }
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

/// Bounds are attributes before operator set 11, then inputs.
Results importClip(Node &node) {
  Value x = node.input(0), low = node.input(1), high = node.input(2);
  if (x && node.attributes.has("min"))
    low = like(node.builder, node.attributes.getFloat("min"), x);
  if (x && node.attributes.has("max"))
    high = like(node.builder, node.attributes.getFloat("max"), x);
  return node.composite("clip", {x, low, high});
}

/// A slope of lower rank is aligned at the last dimension; one of shape [c] of early converters at the channels.
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
  if (std::optional<SmallVector<int64_t>> axes = node.builder.constantContents(node.input(1)))
    return node.composite(name->second, node.input(0), node.attribute("axes", ArrayRef<int64_t>(*axes)));
  bool keepDims = node.attributes.getInt("keepdims", 1) != 0;
  NamedAttribute columns[] = {node.attribute("axes", ArrayRef<int64_t>{1}),
                              node.attribute("keepdims", node.builder.operations.getI64IntegerAttr(0))};
  return {reduceMeasured(node.builder, node.input(0), node.input(1), keepDims, [&](Value matrix) {
    Results reduced = node.composite(name->second, matrix, columns);
    return reduced.empty() ? Value() : reduced[0];
  })};
}

//===----------------------------------------------------------------------===//
// Resizing
//===----------------------------------------------------------------------===//

/// The elements of a constant of few numbers, also when it is a concatenation.
static std::optional<SmallVector<double>> constantNumbers(Builder &b, Value tensor) {
  if (!tensor)
    return std::nullopt;
  SmallVector<double> numbers;
  if (auto concat = tensor.getDefiningOp<ConcatOp>()) {
    for (Value part : concat.getInputs()) {
      std::optional<SmallVector<double>> more = constantNumbers(b, part);
      if (!more)
        return std::nullopt;
      numbers.append(*more);
    }
    return numbers;
  }
  if (auto constant = tensor.getDefiningOp<ConstantOp>())
    if (auto dense = dyn_cast<DenseFPElementsAttr>(constant.getValue())) {
      for (const APFloat &value : dense) {
        bool losesInfo;
        APFloat wide = value;
        wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
        numbers.push_back(wide.convertToDouble());
      }
      return numbers;
    }
  std::optional<SmallVector<int64_t>> integers = b.constantContents(tensor);
  if (!integers)
    return std::nullopt;
  return SmallVector<double>(integers->begin(), integers->end());
}

/// floor(extent * scale), where the scale of a symbolic extent must be a fraction with a small denominator.
static std::optional<SymbolicInt> scaledExtent(const SymbolicInt &extent, double scale) {
  if (std::optional<int64_t> constant = extent.constant())
    return SymbolicInt(static_cast<int64_t>(std::floor(static_cast<float>(*constant) * static_cast<float>(scale))));
  for (int64_t denominator = 1; denominator <= 64; ++denominator) {
    double numerator = std::round(scale * static_cast<double>(denominator));
    if (std::abs(numerator / static_cast<double>(denominator) - scale) < 1e-7 * scale)
      return floorDiv(extent * static_cast<int64_t>(numerator), SymbolicInt(denominator));
  }
  return std::nullopt;
}

static Results resizeByScales(Node &node, ArrayRef<double> scales, ArrayRef<NamedAttribute> changes) {
  Shape shape = shapeOf(node.input(0)), sizes;
  if (scales.size() != shape.size())
    return node.fail("expected " + Twine(shape.size()) + " scales, got " + Twine(scales.size()));
  for (auto [extent, scale] : llvm::zip(shape, scales)) {
    std::optional<SymbolicInt> size = scale > 0 ? scaledExtent(extent, scale) : std::nullopt;
    if (!size)
      return node.fail("cannot scale the extent " + extent.str() + " by " + std::to_string(scale));
    sizes.push_back(*size);
  }
  SmallVector<NamedAttribute> all(changes);
  all.push_back(node.attribute("sizes", ArrayRef<SymbolicInt>(sizes)));
  all.push_back(node.attribute("scales", DenseF64ArrayAttr::get(node.builder.context(), scales)));
  return node.composite("resize", node.input(0), all);
}

static NamedAttribute text(Node &node, StringRef name, StringRef value) {
  return node.attribute(name, node.builder.operations.getStringAttr(value));
}

/// Upsample and Resize-10: asymmetric coordinates, rounded down.
static Results resizeAsymmetric(Node &node, std::optional<SmallVector<double>> scales) {
  if (!node.input(0) || !scales)
    return node.fail("the scales are missing or computed from run-time data");
  StringRef mode = node.attributes.getString("mode", "nearest");
  SmallVector<NamedAttribute> changes{text(node, "coordinate_transformation_mode", "asymmetric"),
                                      text(node, "nearest_mode", "floor"),
                                      text(node, "mode", mode == "bilinear" ? "linear" : mode)};
  return resizeByScales(node, *scales, changes);
}

Results importUpsample(Node &node) {
  if (node.input(1))
    return resizeAsymmetric(node, constantNumbers(node.builder, node.input(1)));
  SmallVector<double> scales = node.attributes.getFloats("scales");
  return resizeAsymmetric(node, scales.empty() ? std::nullopt : std::optional(scales));
}
Results importResize10(Node &node) { return resizeAsymmetric(node, constantNumbers(node.builder, node.input(1))); }

/// Values of listed axes spread over all dimensions; `otherwise` elsewhere.
template <typename T>
static std::optional<SmallVector<T>> spread(Node &node, ArrayRef<T> values, ArrayRef<T> otherwise) {
  SmallVector<int64_t> axes = node.attributes.getInts("axes");
  if (axes.empty())
    return SmallVector<T>(values);
  SmallVector<T> result(otherwise);
  for (auto [index, axis] : llvm::enumerate(axes)) {
    int64_t dim = normalAxis(node.builder, axis, otherwise.size());
    if (dim < 0 || index >= values.size())
      return std::nullopt;
    result[dim] = values[index];
  }
  return result;
}

static bool isEmpty(Value tensor) { return !tensor || elementCount(shapeOf(tensor)) == SymbolicInt(0); }

Results importResize(Node &node) {
  Value x = node.input(0), roi = node.input(1), scales = node.input(2), sizes = node.input(3);
  if (!x || (isEmpty(scales) && isEmpty(sizes)))
    return node.fail("expected a tensor and its scales or sizes");
  if (node.attributes.getString("keep_aspect_ratio_policy", "stretch") != "stretch")
    return node.fail("keep_aspect_ratio_policy is not supported\nhint: use 'stretch'");
  Shape shape = shapeOf(x);
  SmallVector<NamedAttribute> changes;
  std::optional<SmallVector<double>> region = isEmpty(roi) ? std::nullopt : constantNumbers(node.builder, roi);
  if (region && node.attributes.getInts("axes").empty())
    changes.push_back(node.attribute("roi", DenseF64ArrayAttr::get(node.builder.context(), *region)));
  else if (node.attributes.getString("coordinate_transformation_mode") == "tf_crop_and_resize")
    return node.fail("the region of interest must be a constant for all dimensions");
  if (isEmpty(sizes)) {
    std::optional<SmallVector<double>> numbers = constantNumbers(node.builder, scales);
    if (!numbers)
      return node.fail("the scales are computed from run-time data");
    numbers = spread<double>(node, *numbers, SmallVector<double>(shape.size(), 1));
    return numbers ? resizeByScales(node, *numbers, changes) : node.fail("axes and scales differ in number");
  }
  std::optional<Shape> extents = node.sizes(3, "size");
  if (!extents)
    return {};
  std::optional<SmallVector<SymbolicInt>> all = spread<SymbolicInt>(node, *extents, shape);
  if (!all)
    return node.fail("axes and sizes differ in number");
  changes.push_back(node.attribute("sizes", ArrayRef<SymbolicInt>(*all)));
  return node.composite("resize", x, changes);
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

/// border: left, top, right, bottom; or the extents `scale` from the top left border on.
Results importCrop(Node &node) {
  Value x = node.input(0);
  SmallVector<int64_t> border = node.attributes.getInts("border"), scale = node.attributes.getInts("scale");
  if (!x || rankOf(x) != 4 || border.size() != 4 || (!scale.empty() && scale.size() != 2))
    return node.fail("expected a tensor of rank 4 and a border of 4 numbers");
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
    return node.fail("expected a tensor of rank 4 and a bias per channel");
  SmallVector<float> values(bias.begin(), bias.end());
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, node.builder.f32());
  Value shift = node.builder.constant(DenseElementsAttr::get(type, ArrayRef<float>(values)));
  Value scaled = graph::mul(node.builder, x, like(node.builder, node.attributes.getFloat("scale", 1), x));
  shift = node.builder.cast(shift, graph::elementTypeOf(x));
  return {graph::add(node.builder, scaled, alongAxis(node.builder, shift, 1, shapeOf(x)))};
}
} // namespace perpend::onnx
