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

/// floor(extent * scale); for a symbolic extent the scale must be a fraction with a small denominator.
static std::optional<SymbolicInt> scaledExtent(const SymbolicInt &extent, double scale) {
  if (std::optional<int64_t> constant = extent.constant()) {
    std::optional<int64_t> whole = wholeExtent(static_cast<float>(*constant) * static_cast<float>(scale));
    return whole ? std::optional(SymbolicInt(*whole)) : std::nullopt;
  }
  for (int64_t denominator = 1; denominator <= 64; ++denominator) {
    double numerator = std::round(scale * static_cast<double>(denominator));
    std::optional<int64_t> whole = wholeExtent(numerator);
    if (whole && std::abs(numerator / static_cast<double>(denominator) - scale) < 1e-7 * scale)
      return floorDiv(extent * *whole, SymbolicInt(denominator));
  }
  return std::nullopt;
}

/// floor(extent * scale + shift), measured.
static SymbolicInt scaledMeasured(Builder &b, const SymbolicInt &extent, Value scale, double shift) {
  Type f64 = b.operations.getF64Type();
  auto formula = [&](ArrayRef<Scalar> v) { return floor(v[0] * v[1] + shift).to(b.i64()); };
  return b.measure(pointwise(b, {b.cast(scale, f64), number(b, extent, f64)}, formula, b.i64()), "resized");
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
    if (!size)
      return node.fail("cannot scale the extent " + extent.str() + " by " + std::to_string(scale));
    sizes.push_back(*size);
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
    sizes.push_back(scale ? scaledMeasured(b, extent, scale, 0) : extent);
    scale = scale ? scale : b.scalar(1, b.f32());
  }
  return resizeTo(node, sizes, *scales, context);
}

/// The smallest or largest ratio of the sizes to the input's extents, common to all axes.
static Value commonScale(Builder &b, ArrayRef<SymbolicInt> sizes, ArrayRef<SymbolicInt> extents, bool isGreatest) {
  Type f64 = b.operations.getF64Type();
  Value scale;
  for (auto [size, extent] : llvm::zip(sizes, extents)) {
    Value ratio = div(b, number(b, size, f64), number(b, extent, f64));
    scale = !scale ? ratio : pointwise(b, {scale, ratio}, [&](ArrayRef<Scalar> v) {
      return isGreatest ? max(v[0], v[1]) : min(v[0], v[1]);
    });
  }
  return scale;
}

/// The same for constants; nullopt if some are not.
static std::optional<double> commonNumber(ArrayRef<SymbolicInt> sizes, ArrayRef<SymbolicInt> extents, bool isGreatest) {
  std::optional<double> scale;
  for (auto [size, extent] : llvm::zip(sizes, extents)) {
    if (!size.constant() || extent.constant().value_or(0) <= 0)
      return std::nullopt;
    double ratio = static_cast<double>(*size.constant()) / static_cast<double>(*extent.constant());
    scale = !scale ? ratio : isGreatest ? std::max(*scale, ratio) : std::min(*scale, ratio);
  }
  return scale;
}

/// Sizes are bounds: extents become the integers nearest to those of a common scale.
static Results resizeInProportion(Node &node, ArrayRef<SymbolicInt> wanted, ArrayRef<int64_t> axes, bool isGreatest,
                                  ResizeContext context) {
  Builder &b = node.builder;
  Shape shape = shapeOf(node.input(0)), sizes = shape, extents;
  for (int64_t axis : axes)
    extents.push_back(shape[axis]);
  std::optional<double> known = commonNumber(wanted, extents, isGreatest);
  Value scale = known ? Value() : commonScale(b, wanted, extents, isGreatest);
  SmallVector<double> numbers(shape.size(), 1);
  SmallVector<Value> scales(known ? 0 : shape.size(), b.scalar(1, b.f32()));
  for (int64_t axis : axes) {
    if (known) {
      numbers[axis] = *known;
      std::optional<int64_t> whole = wholeExtent(*known * static_cast<double>(*shape[axis].constant()) + 0.5);
      if (!whole)
        return node.fail("cannot scale the extent " + shape[axis].str() + " by " + std::to_string(*known));
      sizes[axis] = SymbolicInt(*whole);
      continue;
    }
    scales[axis] = scale;
    sizes[axis] = scaledMeasured(b, shape[axis], scale, 0.5);
  }
  if (known)
    context.changes.push_back(doubles(node, "scales", numbers));
  return resizeTo(node, sizes, scales, context);
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
  std::optional<SmallVector<Value>> ends = b.scalars(b.cast(region, b.f32()));
  if (!ends)
    return std::nullopt;
  ArrayRef<Value> starts = ArrayRef(*ends).take_front(ends->size() / 2);
  auto low = spread<Value>(node, starts, SmallVector<Value>(rank, b.scalar(0, b.f32())));
  auto high =
      spread<Value>(node, ArrayRef(*ends).drop_front(starts.size()), SmallVector<Value>(rank, b.scalar(1, b.f32())));
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
