//===- Resize.cpp - ONNX Resize and Upsample ------------------------------===//
//
// Computes the extents, as numbers or expressions if the scales or sizes are
// known, otherwise by measuring; the composite resize does the rest.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// The elements of a short constant, or of a concatenation of constants.
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

/// The largest integer up to `value`; nullopt if no tensor could have such an extent.
static std::optional<int64_t> wholeExtent(double value) {
  return value >= 0 && value < 0x1p53 ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
}

/// floor(extent * scale) in f32, as ONNX infers shapes.
static std::optional<int64_t> scaledNumber(int64_t extent, double scale) {
  return wholeExtent(static_cast<float>(extent) * static_cast<float>(scale));
}

/// Whether floor(extent * scale) is floor(extent * numerator / denominator), of images that are not beyond measure.
/// Only where that division leaves no remainder can they differ: the scale, in f32, may be less than the fraction.
static bool isFraction(double scale, int64_t numerator, int64_t denominator) {
  if (scale * static_cast<double>(denominator) == static_cast<double>(numerator))
    return true;
  constexpr int64_t longest = 1 << 20;
  for (int64_t times = 1; times * std::max(numerator, denominator) <= longest; ++times)
    if (scaledNumber(times * denominator, scale) != times * numerator)
      return false;
  return true;
}

/// floor(extent * scale) as an expression: of a symbolic extent where the scale is a fraction with a small denominator.
static std::optional<SymbolicInt> scaledExtent(const SymbolicInt &extent, double scale) {
  if (std::optional<int64_t> constant = extent.constant()) {
    std::optional<int64_t> whole = scaledNumber(*constant, scale);
    return whole ? std::optional(SymbolicInt(*whole)) : std::nullopt;
  }
  for (int64_t denominator = 1; denominator <= 64; ++denominator) {
    double numerator = std::round(scale * static_cast<double>(denominator));
    std::optional<int64_t> whole = wholeExtent(numerator);
    if (whole && std::abs(numerator / static_cast<double>(denominator) - scale) < 1e-7 * scale &&
        isFraction(scale, *whole, denominator))
      return floorDiv(extent * *whole, SymbolicInt(denominator));
  }
  return std::nullopt;
}

/// The same, measured.
static SymbolicInt scaledMeasured(Builder &b, const SymbolicInt &extent, Value scale) {
  auto formula = [&](ArrayRef<Scalar> v) { return floor(v[0] * v[1]).to(b.i64()); };
  return b.measure(pointwise(b, {b.cast(scale, b.f32()), number(b, extent, b.f32())}, formula, b.i64()), "resized");
}

static NamedAttribute doubles(Node &node, StringRef name, ArrayRef<double> values) {
  return node.attribute(name, DenseF64ArrayAttr::get(node.builder.context(), values));
}

namespace {
/// A node's settings besides scales and sizes: the region of interest (may be null) and attributes to replace.
struct ResizeContext {
  Value region = {};
  SmallVector<NamedAttribute> changes = {};
};
} // namespace

/// `scales` (optional): one scalar tensor for each dimension.
static Results resizeTo(Node &node, ArrayRef<SymbolicInt> sizes, ArrayRef<Value> scales, ResizeContext context) {
  Builder &b = node.builder;
  if (llvm::any_of(sizes, [](const SymbolicInt &size) { return size.isPoison(); }))
    return node.fail("expected sizes that can be expressed, got " + graph::toString(sizes));
  context.changes.push_back(node.attribute("sizes", sizes));
  SmallVector<Value> elements;
  for (Value scale : scales)
    elements.push_back(b.unsqueeze(b.cast(scale, b.f32()), 0));
  return node.composite("resize", {node.input(0), elements.empty() ? Value() : b.concat(elements, 0), context.region},
                        context.changes);
}

/// Expands values of listed axes to all dimensions, with `otherwise` elsewhere.
template <typename T>
static std::optional<SmallVector<T>> spread(Node &node, ArrayRef<T> values, ArrayRef<T> otherwise) {
  SmallVector<int64_t> axes = node.attributes.getInts("axes", llvm::to_vector(llvm::seq<int64_t>(0, otherwise.size())));
  SmallVector<T> result(otherwise);
  if (axes.size() != values.size()) {
    node.fail("expected " + Twine(axes.size()) + " scales or sizes, got " + Twine(values.size()));
    return std::nullopt;
  }
  for (auto [axis, value] : llvm::zip(axes, values)) {
    int64_t dim = normalAxis(node.builder, axis, otherwise.size());
    if (dim < 0)
      return std::nullopt;
    result[dim] = value;
  }
  return result;
}

static Results resizeByNumbers(Node &node, ArrayRef<double> numbers, ResizeContext context) {
  Shape shape = shapeOf(node.input(0)), sizes;
  auto scales = spread<double>(node, numbers, SmallVector<double>(shape.size(), 1));
  if (!scales)
    return {};
  for (auto [extent, scale] : llvm::zip(shape, *scales)) {
    std::optional<SymbolicInt> size = scale > 0 ? scaledExtent(extent, scale) : std::nullopt;
    constexpr double tooLarge = 0x1p62; // for every extent but 0
    if (!size && (!(scale > 0) || extent.isConstant() || scale >= tooLarge))
      return node.fail("cannot scale the extent " + extent.str() + " by " + std::to_string(scale));
    sizes.push_back(size ? *size
                         : scaledMeasured(node.builder, extent, node.builder.scalar(scale, node.builder.f32())));
  }
  context.changes.push_back(doubles(node, "scales", *scales));
  return resizeTo(node, sizes, {}, context);
}

static Results resizeByScales(Node &node, Value vector, const ResizeContext &context) {
  Builder &b = node.builder;
  if (std::optional<SmallVector<double>> numbers = constantNumbers(b, vector))
    return resizeByNumbers(node, *numbers, context);
  Shape shape = shapeOf(node.input(0)), sizes;
  std::optional<SmallVector<Value>> elements = b.scalars(vector);
  if (!elements)
    return {};
  auto scales = spread<Value>(node, *elements, SmallVector<Value>(shape.size(), Value()));
  if (!scales)
    return {};
  for (auto [extent, scale] : llvm::zip(shape, *scales)) {
    sizes.push_back(scale ? scaledMeasured(b, extent, scale) : extent);
    scale = scale ? scale : b.scalar(1, b.f32());
  }
  return resizeTo(node, sizes, *scales, context);
}

namespace {
/// How many times longer all axes alike become: a ratio of whole numbers.
struct Proportion {
  SymbolicInt size, extent;
};
} // namespace

/// The smallest or greatest ratio of numbers; nullopt when there are others.
static std::optional<Proportion> knownProportion(ArrayRef<SymbolicInt> sizes, ArrayRef<SymbolicInt> extents,
                                                 bool isGreatest) {
  std::optional<Proportion> best;
  for (auto [size, extent] : llvm::zip(sizes, extents)) {
    if (!size.constant() || extent.constant().value_or(0) <= 0)
      return std::nullopt;
    std::optional<int64_t> more = best ? (size * best->extent - best->size * extent).constant() : 0;
    if (!more)
      return std::nullopt;
    if (!best || (isGreatest ? *more > 0 : *more < 0))
      best = Proportion{size, extent};
  }
  return best;
}

/// The same, measured.
static Proportion measuredProportion(Builder &b, ArrayRef<SymbolicInt> sizes, ArrayRef<SymbolicInt> extents,
                                     bool isGreatest) {
  Value bestSize, bestExtent;
  for (auto [wanted, given] : llvm::zip(sizes, extents)) {
    Value size = number(b, wanted, b.i64()), extent = number(b, max(given, SymbolicInt(1)), b.i64());
    if (!bestSize) {
      bestSize = size, bestExtent = extent;
      continue;
    }
    auto isBetter = [&](ArrayRef<Scalar> v) {
      Scalar here = v[0] * v[3], before = v[2] * v[1];
      return isGreatest ? here > before : here < before;
    };
    Value better = pointwise(b, {size, extent, bestSize, bestExtent}, isBetter, b.operations.getI1Type());
    bestSize = graph::where(b, better, size, bestSize), bestExtent = graph::where(b, better, extent, bestExtent);
  }
  return {b.measure(bestSize, "size"), b.measure(bestExtent, "extent")};
}

/// The whole number nearest to a proportion of the extent, the greater one of two.
static SymbolicInt proportional(Builder &b, const SymbolicInt &extent, const Proportion &proportion) {
  SymbolicInt doubled = extent * proportion.size * 2 + proportion.extent;
  if (proportion.extent.isConstant())
    return floorDiv(doubled, proportion.extent * 2);
  Value inputs[] = {number(b, extent, b.i64()), number(b, proportion.size, b.i64()),
                    number(b, proportion.extent, b.i64())};
  auto formula = [](ArrayRef<Scalar> v) { return floorDiv(v[0] * v[1] * v[0].integer(2) + v[2], v[2] + v[2]); };
  return b.measure(pointwise(b, inputs, formula), "resized");
}

/// Sizes are bounds: extents become the integers nearest to those of a common scale.
static Results resizeInProportion(Node &node, ArrayRef<SymbolicInt> wanted, ArrayRef<int64_t> axes, bool isGreatest,
                                  ResizeContext context) {
  Builder &b = node.builder;
  Shape shape = shapeOf(node.input(0)), sizes = shape, extents;
  for (int64_t axis : axes)
    extents.push_back(shape[axis]);
  std::optional<Proportion> known = knownProportion(wanted, extents, isGreatest);
  Proportion proportion = known ? *known : measuredProportion(b, wanted, extents, isGreatest);
  Shape ratios(2 * shape.size(), SymbolicInt(1));
  for (int64_t axis : axes) {
    sizes[axis] = proportional(b, shape[axis], proportion);
    ratios[axis] = proportion.size;
    ratios[shape.size() + axis] = proportion.extent;
  }
  context.changes.push_back(node.attribute("ratios", ArrayRef<SymbolicInt>(ratios)));
  return resizeTo(node, sizes, {}, context);
}

static Results resizeBySizes(Node &node, const ResizeContext &context) {
  Shape shape = shapeOf(node.input(0));
  std::optional<Shape> sizes = node.sizes(3, "size");
  std::optional<SmallVector<SymbolicInt>> all;
  if (!sizes || !(all = spread<SymbolicInt>(node, *sizes, shape)))
    return {};
  StringRef policy = node.attributes.getString("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch")
    return resizeTo(node, *all, {}, context);
  if (policy != "not_larger" && policy != "not_smaller")
    return node.fail("unknown keep_aspect_ratio_policy '" + policy + "'");
  SmallVector<int64_t> axes = node.attributes.getInts("axes", llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
  for (int64_t &axis : axes)
    axis = normalAxis(node.builder, axis, shape.size());
  return resizeInProportion(node, *sizes, axes, policy == "not_smaller", context);
}

static NamedAttribute text(Node &node, StringRef name, StringRef value) {
  return node.attribute(name, node.builder.operations.getStringAttr(value));
}

/// For Upsample and Resize-10: asymmetric coordinates, rounded down.
static ResizeContext asymmetric(Node &node) {
  StringRef mode = node.attributes.getString("mode", "nearest");
  return {{},
          {text(node, "coordinate_transformation_mode", "asymmetric"), text(node, "nearest_mode", "floor"),
           text(node, "mode", mode == "bilinear" ? "linear" : mode)}};
}

Results importUpsample(Node &node) {
  if (node.hasInputs(1) && !node.input(1))
    return resizeByNumbers(node, node.attributes.getFloats("scales"), asymmetric(node));
  return importResize10(node);
}
Results importResize10(Node &node) {
  if (node.input(0))
    node.assumeLength(1, rankOf(node.input(0)));
  return node.hasInputs(2) ? resizeByScales(node, node.input(1), asymmetric(node)) : Results();
}

static bool isEmpty(Value tensor) { return !tensor || elementCount(shapeOf(tensor)) == SymbolicInt(0); }

/// The region of interest for all dimensions; the whole input for those not listed.
static std::optional<ResizeContext> withRegion(Node &node) {
  Builder &b = node.builder;
  Value region = node.input(1);
  if (isEmpty(region) || node.attributes.getString("coordinate_transformation_mode") != "tf_crop_and_resize")
    return ResizeContext();
  size_t rank = rankOf(node.input(0));
  Type type = graph::elementTypeOf(region).isF64() ? b.operations.getF64Type() : Type(b.f32());
  std::optional<SmallVector<Value>> ends = b.scalars(b.cast(region, type));
  if (!ends)
    return std::nullopt;
  ArrayRef<Value> starts = ArrayRef(*ends).take_front(ends->size() / 2);
  auto low = spread<Value>(node, starts, SmallVector<Value>(rank, b.scalar(0, type)));
  auto high =
      spread<Value>(node, ArrayRef(*ends).drop_front(starts.size()), SmallVector<Value>(rank, b.scalar(1, type)));
  if (!low || !high)
    return std::nullopt;
  low->append(*high);
  return ResizeContext{b.concat(llvm::map_to_vector(*low, [&](Value end) { return b.unsqueeze(end, 0); }), 0)};
}

Results importResize(Node &node) {
  Value x = node.input(0);
  bool hasScales = !isEmpty(node.input(2));
  if (!x || (!hasScales && isEmpty(node.input(3))))
    return node.fail("expected a tensor and its scales or sizes");
  size_t count = node.attributes.getInts("axes", SmallVector<int64_t>(rankOf(x))).size();
  node.assumeLength(1, 2 * count);
  node.assumeLength(hasScales ? 2 : 3, count);
  std::optional<ResizeContext> context = withRegion(node);
  if (!context)
    return {};
  return hasScales ? resizeByScales(node, node.input(2), *context) : resizeBySizes(node, *context);
}
} // namespace perpend::onnx
