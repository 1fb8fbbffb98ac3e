//===- OperatorsTraining.cpp - gradients ----------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/gradients/Gradients.h"

using namespace mlir;

namespace perpend::onnx {

/// The gradients of the sum of y's elements in the xs, where the nodes from the names xs and zs to the name y are a
/// function, and the inputs are the values for xs and zs. These nodes are imported anew: so the xs are independent of
/// each other and of everything else, and nothing is known of their elements. The simplifier merges what is then
/// computed twice. Source: ONNX ai.onnx.preview.training Gradient-1.
Results importGradient(Node &node) {
  SmallVector<StringRef> xs = node.attributes.getStrings("xs"), zs = node.attributes.getStrings("zs");
  StringRef y = node.attributes.getString("y");
  if (xs.empty() || y.empty())
    return node.fail("expected the attributes xs and y, which name values of the graph");
  if (node.inputs.size() != xs.size() + zs.size() || !node.hasInputs(node.inputs.size()))
    return node.fail("expected an input for each of the " + Twine(xs.size()) + " xs and " + Twine(zs.size()) +
                     " zs, got " + Twine(node.inputs.size()));
  llvm::StringMap<Value> replacements;
  SmallVector<Value> variables;
  for (auto [name, value] : llvm::zip(xs, node.inputs))
    variables.push_back(replacements[name] = graph::independent(node.builder, value));
  for (auto [name, value] : llvm::zip(zs, ArrayRef(node.inputs).drop_front(xs.size())))
    replacements.try_emplace(name, value);
  if (replacements.size() != node.inputs.size())
    return node.fail("a name occurs twice in xs and zs");
  Value result = node.subgraphs.importAnew(y, replacements);
  if (!result)
    return {};
  auto label = [&](Operation *op) { return node.subgraphs.labelOf(op); };
  return graph::gradients(node.builder, result, variables, label);
}
} // namespace perpend::onnx
