//===- Attention.cpp - ONNX's attention operators -------------------------===//

#include "graph/composites/Attention.h"
#include "frontend/onnx/Operators.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// The element type named by the attribute softmax_precision; null, with an error, if it is invalid.
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

/// Applies the graph in an attribute, if any, to a tensor; it keeps shape and type.
static Value applyModifier(Node &node, StringRef name, Value x) {
  const auto &attributes = node.proto.attributes;
  if (llvm::none_of(attributes, [&](const AttributeProto &attribute) { return attribute.name == name; }))
    return x;
  const GraphProto *graph = node.graph(name);
  std::optional<Results> results = graph ? node.subgraphs.importSubgraph(*graph, x) : std::nullopt;
  if (!results)
    return {};
  if (results->size() != 1)
    return node.builder.fail(name + ": expected 1 output, got " + Twine(results->size()));
  Value result = results->front();
  if (graph::elementTypeOf(result) != graph::elementTypeOf(x) || shapeOf(result) != shapeOf(x))
    return node.builder.contradict(name + ": expected a result of the shape " + toString(shapeOf(x)) +
                                   " and the type of its input, got shape " + toString(shapeOf(result)));
  return result;
}

Results importFlexAttention(Node &node) {
  if (!node.hasInputs(3))
    return {};
  if (llvm::any_of(node.inputs, [](Value x) { return !x || rankOf(x) != 4; }))
    return {node.builder.contradict("expected query, key and value of rank 4")};
  AttentionForm form;
  if (node.attributes.has("scale"))
    form.scale = node.attributes.getFloat("scale");
  if (node.attributes.has("softmax_precision") && !(form.softmaxType = softmaxType(node)))
    return {};
  auto changeLogits = [&](Value scores) { return applyModifier(node, "score_mod", scores); };
  auto changeProbabilities = [&](Value probabilities) { return applyModifier(node, "prob_mod", probabilities); };
  form.changeLogits = changeLogits;
  form.changeProbabilities = changeProbabilities;
  return {attend(node.builder, node.input(0), node.input(1), node.input(2), form).result};
}
} // namespace perpend::onnx
