//===- Image.cpp - ONNX operators on images -------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static bool wantsOutput(const Node &node, size_t index) {
  return index < node.proto.outputs.size() && !node.proto.outputs[index].empty();
}

Results importMaxPool(Node &node) {
  return node.composite(wantsOutput(node, 1) ? "max_pool_with_positions" : "max_pool", node.inputs);
}

/// The extents of the max_pool input that corresponds to these maxima.
static Shape unpooledShape(Node &node, const Shape &shape, ArrayRef<int64_t> kernel) {
  SmallVector<int64_t> strides = node.attributes.getInts("strides", SmallVector<int64_t>(kernel.size(), 1));
  SmallVector<int64_t> pads = node.attributes.getInts("pads", SmallVector<int64_t>(2 * kernel.size(), 0));
  Shape result = shape;
  for (size_t i = 0; i < kernel.size(); ++i)
    result[2 + i] = (shape[2 + i] - 1) * strides[i] + SymbolicInt(kernel[i] - pads[i] - pads[kernel.size() + i]);
  return result;
}

/// Puts the maxima at their positions, 0 elsewhere; pads with zeros if output_shape is larger.
Results importMaxUnpool(Node &node) {
  Builder &b = node.builder;
  Value x = node.input(0), positions = node.input(1);
  SmallVector<int64_t> kernel = node.attributes.getInts("kernel_shape");
  if (!x || !positions || rankOf(x) != static_cast<int64_t>(kernel.size()) + 2)
    return node.fail("expected maxima and their positions, with a kernel extent for each dimension after the channels");
  for (auto [name, count] : {std::pair("strides", kernel.size()), std::pair("pads", 2 * kernel.size())})
    if (size_t got = node.attributes.getInts(name).size(); node.attributes.has(name) && got != count)
      return node.fail(Twine(name) + ": expected " + Twine(count) + " numbers, got " + Twine(got));
  Shape shape = unpooledShape(node, shapeOf(x), kernel), vector{elementCount(shapeOf(x))};
  Value zeros = b.splat({elementCount(shape)}, 0, graph::elementTypeOf(x));
  Value flat = b.scatter(zeros, b.unsqueeze(b.reshape(positions, vector), 1), b.reshape(x, vector));
  Value result = b.reshape(flat, shape);
  if (!node.input(2) || !result)
    return {result};
  node.assumeLength(2, shape.size());
  std::optional<Shape> wanted = b.sizes(node.input(2), "unpool");
  if (!wanted || wanted->size() != shape.size())
    return wanted ? Results{node.builder.contradict("expected an output shape of rank " + Twine(shape.size()))}
                  : Results();
  Shape low(shape.size(), SymbolicInt(0)), high;
  for (auto [extent, current] : llvm::zip(*wanted, shape))
    high.push_back(extent - current);
  return {padTensor(b, result, low, high, "constant")};
}

/// Before operator set 2, p is a float with the default 2.
Results importGlobalLpPool(Node &node) { return node.composite("global_lp_pool", node.inputs); }

Results importAffineGrid(Node &node) {
  node.assumeLength(1, node.declaredRank());
  std::optional<Shape> size = node.sizes(1, "size");
  return size ? node.composite("affine_grid", node.input(0), node.attribute("size", ArrayRef<SymbolicInt>(*size)))
              : Results();
}

/// The result has batch and channels before the image's dimensions.
Results importCol2Im(Node &node) {
  if (std::optional<int64_t> rank = node.declaredRank())
    for (size_t list : {1, 2})
      node.assumeLength(list, *rank - 2);
  std::optional<Shape> image = node.sizes(1, "image"), block = image ? node.sizes(2, "block") : std::nullopt;
  if (!block)
    return {};
  return node.composite("col2im", node.input(0),
                        {node.attribute("image_shape", ArrayRef<SymbolicInt>(*image)),
                         node.attribute("block_shape", ArrayRef<SymbolicInt>(*block))});
}

/// Before operator set 16, regions are not shifted by half an element.
Results importRoiAlign10(Node &node) {
  auto coordinates = node.builder.operations.getStringAttr("output_half_pixel");
  return node.composite("roi_align", node.inputs, node.attribute("coordinate_transformation_mode", coordinates));
}

/// Cuts at the centre, or pads around it with zeros; an odd difference is larger at the end.
Results importCenterCropPad(Node &node) {
  Value x = node.input(0);
  if (!x)
    return {};
  SmallVector<int64_t> axes = node.attributes.getInts("axes", llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x))));
  node.assumeLength(1, axes.size());
  std::optional<Shape> wanted = node.sizes(1, "size");
  if (!wanted)
    return {};
  if (axes.size() != wanted->size())
    return node.fail("expected " + Twine(axes.size()) + " extents, got " + Twine(wanted->size()));
  for (auto [axis, extent] : llvm::zip(axes, *wanted)) {
    int64_t dim = normalAxis(node.builder, axis, rankOf(x));
    if (dim < 0)
      return {};
    SymbolicInt current = shapeOf(x)[dim], cut = max(current - extent, SymbolicInt(0));
    SymbolicInt missing = max(extent - current, SymbolicInt(0)), before = floorDiv(missing, SymbolicInt(2));
    x = sliceAxis(node.builder, x, dim, floorDiv(cut, SymbolicInt(2)), current - cut);
    Shape low(rankOf(node.input(0)), SymbolicInt(0)), high = low;
    low[dim] = before;
    high[dim] = missing - before;
    x = padTensor(node.builder, x, low, high, "constant");
    if (!x)
      return {};
  }
  return {x};
}

//===----------------------------------------------------------------------===//
// MaxRoiPool
//===----------------------------------------------------------------------===//

/// Which of `extent` positions belong to which of `bins` parts of each region, [regions, bins, extent]. Columns
/// `column` and column + 2 of `regions` have a region's first and last position.
static Value binMask(Builder &b, Value regions, int64_t column, double scale, int64_t bins, const SymbolicInt &extent) {
  Type type = graph::elementTypeOf(regions);
  auto bound = [&](int64_t position) {
    return b.unsqueeze(sliceAxis(b, regions, 1, SymbolicInt(position), SymbolicInt(1)), {2});
  };
  auto rounded = [=](Scalar x) { // halves away from 0
    return select(x < 0, -graph::floor(0.5 - x * scale), graph::floor(x * scale + 0.5));
  };
  Value bin = b.unsqueeze(iota(b, SymbolicInt(bins), type), {1});
  auto isInside = [=](ArrayRef<Scalar> v) {
    Scalar first = rounded(v[0]), size = graph::max(rounded(v[1]) - first + 1, 1) / static_cast<double>(bins);
    return (v[3] >= first + graph::floor(v[2] * size)) & (v[3] < first + graph::ceil((v[2] + 1) * size));
  };
  return pointwise(b, {bound(column), bound(column + 2), bin, iota(b, extent, type)}, isInside,
                   b.operations.getI1Type());
}

/// The maximum of each bin along the last dimension, which becomes the bins' dimension; x is [regions, .., extent] of
/// rank 4, the mask [regions, bins, extent].
static Value largestInBins(Builder &b, Value x, Value mask) {
  Type type = graph::elementTypeOf(x);
  Value lowest = b.scalar(-std::numeric_limits<double>::infinity(), type);
  Value inBins = graph::where(b, b.unsqueeze(mask, {1, 2}), b.unsqueeze(x, {3}), lowest);
  return inBins ? b.reduce(ReductionKind::Max, inBins, 4, /*keepDims=*/false) : inBins;
}

/// in: images [n, channels, height, width], regions [r, 5]: image, left, top, right, bottom (last positions,
/// inclusive). The maximum of each of pooled_shape bins, which overlap if they do not divide the region; 0 for an empty
/// bin. Source: ONNX MaxRoiPool-1 and Girshick (2015), "Fast R-CNN".
Results importMaxRoiPool(Node &node) {
  SmallVector<int64_t> bins = node.attributes.getInts("pooled_shape");
  Value x = node.input(0), regions = node.input(1);
  if (!x || !regions || rankOf(x) != 4 || rankOf(regions) != 2 || provablyDiffer(shapeOf(regions)[1], SymbolicInt(5)) ||
      bins.size() != 2 || bins[0] < 1 || bins[1] < 1)
    return {node.builder.contradict(
        "expected images of rank 4, regions [count, 5] and a pooled_shape of two positive extents")};
  Builder &b = node.builder;
  Shape shape = shapeOf(x);
  regions = b.cast(regions, computeType(graph::elementTypeOf(regions)));
  Value images =
      b.reshape(b.cast(sliceAxis(b, regions, 1, SymbolicInt(0), SymbolicInt(1)), b.i64()), {shapeOf(regions)[0]});
  requireAll(b,
             pointwise(
                 b, {images, number(b, shape[0], b.i64())},
                 [](ArrayRef<Scalar> v) { return (v[0] >= 0) & (v[0] < v[1]); }, b.operations.getI1Type()),
             "a region is of an image that is not there");
  double scale = node.attributes.getFloat("spatial_scale", 1);
  Value inRows = binMask(b, regions, 2, scale, bins[0], shape[2]),
        inColumns = binMask(b, regions, 1, scale, bins[1], shape[3]);
  Value own = b.gather(x, images, 0);
  if (!own || !inRows || !inColumns)
    return {};
  Value columns = b.transpose(largestInBins(b, own, inColumns), {0, 1, 3, 2});
  Value result = columns ? b.transpose(largestInBins(b, columns, inRows), {0, 1, 3, 2}) : columns;
  auto isFilled = [&](Value mask, ArrayRef<int64_t> axes) {
    return b.unsqueeze(b.reduce(ReductionKind::Max, mask, 2, /*keepDims=*/false), axes);
  };
  Value hasElements = applyComposite(b, "logical_and", {isFilled(inRows, {1, 3}), isFilled(inColumns, {1, 2})})[0];
  return {graph::where(b, hasElements, result, b.scalar(0, graph::elementTypeOf(x)))};
}
} // namespace perpend::onnx
