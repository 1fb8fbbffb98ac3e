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

/// Before operator set 2, p is a float with the default 2.
Results importGlobalLpPool(Node &node) { return node.composite("global_lp_pool", node.inputs); }

Results importAffineGrid(Node &node) {
  std::optional<Shape> size = node.known(1, "size");
  return size ? node.composite("affine_grid", node.input(0), node.attribute("size", ArrayRef<SymbolicInt>(*size)))
              : Results();
}

Results importCol2Im(Node &node) {
  std::optional<Shape> image = node.known(1, "image_shape");
  std::optional<SmallVector<int64_t>> block = image ? node.knownNumbers(2, "block_shape") : std::nullopt;
  if (!block)
    return {};
  return node.composite("col2im", node.input(0),
                        {node.attribute("image_shape", ArrayRef<SymbolicInt>(*image)),
                         node.attribute("block_shape", ArrayRef<int64_t>(*block))});
}

/// Before operator set 16, regions are not shifted by half an element.
Results importRoiAlign10(Node &node) {
  auto coordinates = node.builder.operations.getStringAttr("output_half_pixel");
  return node.composite("roi_align", node.inputs, node.attribute("coordinate_transformation_mode", coordinates));
}

/// Cut in the middle, or with zeros around it, where an odd difference is larger behind.
Results importCenterCropPad(Node &node) {
  Value x = node.input(0);
  std::optional<Shape> wanted = node.known(1, "shape");
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
