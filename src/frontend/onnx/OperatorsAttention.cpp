//===- OperatorsAttention.cpp - ONNX's attention operators ----------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Attention.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// The element type that the attribute softmax_precision names; null, with an error, when it is none.
static Type softmaxType(Node &node) {
  auto code = static_cast<DataType>(node.attributes.getInt("softmax_precision"));
  Type type = onnx::elementTypeOf(node.builder.context(), code);
  if (!type || !isa<FloatType>(type))
    node.fail("softmax_precision: expected a floating-point type, got " + nameOf(code));
  return type && isa<FloatType>(type) ? type : Type();
}

Results importAttention(Node &node) {
  if (!node.attributes.has("softmax_precision"))
    return node.composite("attention", node.inputs);
  Type type = softmaxType(node);
  return type ? node.composite("attention", node.inputs, node.attribute("softmax_type", TypeAttr::get(type)))
              : Results();
}

Results importFlexAttention(Node &node) {
  for (const AttributeProto &attribute : node.proto.attributes)
    if (attribute.kind == AttributeProto::Kind::Graph)
      return node.fail("the subgraph '" + attribute.name + "' is not supported");
  return importAttention(node);
}
} // namespace perpend::onnx
