//===- OperatorsImage.cpp - ONNX operators on images ----------------------===//

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

/// The extents that max_pool would have had for these maxima.
static Shape unpooledShape(Node &node, const Shape &shape, ArrayRef<int64_t> kernel) {
  SmallVector<int64_t> strides = node.attributes.getInts("strides", SmallVector<int64_t>(kernel.size(), 1));
  SmallVector<int64_t> pads = node.attributes.getInts("pads", SmallVector<int64_t>(2 * kernel.size(), 0));
  Shape result = shape;
  for (size_t i = 0; i < kernel.size(); ++i)
    result[2 + i] = (shape[2 + i] - 1) * strides[i] + SymbolicInt(kernel[i] - pads[i] - pads[kernel.size() + i]);
  return result;
}

/// The maxima at their positions, 0 elsewhere; a larger output_shape is filled with zeros behind.
Results importMaxUnpool(Node &node) {
  Builder &b = node.builder;
  Value x = node.input(0), positions = node.input(1);
  SmallVector<int64_t> kernel = node.attributes.getInts("kernel_shape");
  if (!x || !positions || rankOf(x) != static_cast<int64_t>(kernel.size()) + 2)
    return node.fail("expected maxima and their positions, with a kernel extent for each dimension after the channels");
  Shape shape = unpooledShape(node, shapeOf(x), kernel), vector{elementCount(shapeOf(x))};
  Value zeros = b.splat({elementCount(shape)}, 0, graph::elementTypeOf(x));
  Value flat = b.scatter(zeros, b.unsqueeze(b.reshape(positions, vector), 1), b.reshape(x, vector));
  Value result = b.reshape(flat, shape);
  if (!node.input(2) || !result)
    return {result};
  std::optional<Shape> wanted = b.sizes(node.input(2), "unpool");
  if (!wanted || wanted->size() != shape.size())
    return wanted ? node.fail("expected an output shape of rank " + Twine(shape.size())) : Results();
  Shape low(shape.size(), SymbolicInt(0)), high;
  for (auto [extent, current] : llvm::zip(*wanted, shape))
    high.push_back(extent - current);
  return {padTensor(b, result, low, high, "constant")};
}

/// Before operator set 2, p is a float with the default 2.
Results importGlobalLpPool(Node &node) { return node.composite("global_lp_pool", node.inputs); }

Results importAffineGrid(Node &node) {
  std::optional<Shape> size = node.sizes(1, "size");
  return size ? node.composite("affine_grid", node.input(0), node.attribute("size", ArrayRef<SymbolicInt>(*size)))
              : Results();
}

Results importCol2Im(Node &node) {
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

/// Cut in the middle, or with zeros around it, where an odd difference is larger behind.
Results importCenterCropPad(Node &node) {
  Value x = node.input(0);
  std::optional<Shape> wanted = node.sizes(1, "size");
  if (!wanted || !x)
    return {};
  SmallVector<int64_t> axes = node.attributes.getInts("axes", llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x))));
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
} // namespace perpend::onnx
