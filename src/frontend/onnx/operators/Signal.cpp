//===- Signal.cpp - ONNX operators on signals -----------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static NamedAttribute axisAttribute(Node &node, int64_t axis) {
  return node.attribute("axis", node.builder.operations.getI64IntegerAttr(axis));
}

/// `measuredAxis` (optional): the axis, if known only at run time.
static Results importTransform(Node &node, int64_t axis, Value measuredAxis = {}) {
  SmallVector<NamedAttribute> changes{axisAttribute(node, axis)};
  if (node.input(1)) {
    std::optional<Shape> length = node.sizes(1, "length");
    if (!length)
      return {};
    changes.push_back(node.attribute("length", ArrayRef<SymbolicInt>(*length)));
  }
  return node.composite("dft", {node.input(0), measuredAxis}, changes);
}

/// The axis is an attribute before operator set 20, then an input.
Results importDft(Node &node) { return importTransform(node, node.attributes.getInt("axis", 1)); }
Results importDft20(Node &node) {
  if (!node.input(2))
    return importTransform(node, -2);
  if (elementCount(shapeOf(node.input(2))) != SymbolicInt(1))
    return node.fail("expected one axis");
  std::optional<SmallVector<int64_t>> axis = node.builder.constantContents(node.input(2));
  return axis ? importTransform(node, axis->front()) : importTransform(node, 0, node.input(2));
}

Results importStft(Node &node) {
  std::optional<Shape> step = node.sizes(1, "step");
  if (!step)
    return {};
  SmallVector<NamedAttribute> changes{node.attribute("step", ArrayRef<SymbolicInt>(*step))};
  if (node.input(3)) {
    std::optional<Shape> length = node.sizes(3, "length");
    if (!length)
      return {};
    changes.push_back(node.attribute("length", ArrayRef<SymbolicInt>(*length)));
  }
  return node.composite("stft", {node.input(0), node.input(2)}, changes);
}

Results importMelWeightMatrix(Node &node) {
  Type type =
      onnx::elementTypeOf(node.builder.context(), static_cast<DataType>(node.attributes.getInt("output_datatype", 1)));
  if (!type)
    return node.fail("the element type is not supported");
  return node.hasInputs(5) ? node.composite("mel_weight_matrix", node.inputs, node.attribute("to", TypeAttr::get(type)))
                           : Results();
}

static Results importWindow(Node &node, ArrayRef<double> coefficients) {
  std::optional<Shape> size = node.sizes(0, "size");
  Type type =
      onnx::elementTypeOf(node.builder.context(), static_cast<DataType>(node.attributes.getInt("output_datatype", 1)));
  if (!size || !type)
    return size ? node.fail("the element type is not supported") : Results();
  return node.composite("cosine_window", {},
                        {node.attribute("size", ArrayRef<SymbolicInt>(*size)),
                         node.attribute("coefficients", DenseF64ArrayAttr::get(node.builder.context(), coefficients)),
                         node.attribute("to", TypeAttr::get(type))});
}
Results importHannWindow(Node &node) { return importWindow(node, {0.5, 0.5, 0}); }
Results importHammingWindow(Node &node) { return importWindow(node, {25.0 / 46, 21.0 / 46, 0}); }
Results importBlackmanWindow(Node &node) { return importWindow(node, {0.42, 0.5, 0.08}); }
} // namespace perpend::onnx
