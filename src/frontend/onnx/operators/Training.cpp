//===- Training.cpp - gradients -------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/gradients/Gradients.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace perpend::onnx {

namespace {
/// Opaque values that stand for inputs while a function of them is built: no operator folds with them, and composites
/// do not know their contents.
class Variables {
public:
  explicit Variables(Builder &builder) : b(builder) {}

  Value add(Value value) {
    auto type = value.getType();
    auto variable = b.operations.create<UnrealizedConversionCastOp>(b.location, type, value);
    variables.push_back(variable.getResult(0));
    return variables.back();
  }
  llvm::ArrayRef<Value> all() const { return variables; }
  /// Replaces the variables by the values, also in `results`.
  void substitute(llvm::MutableArrayRef<Value> results);

private:
  Builder &b;
  llvm::SmallVector<Value> variables;
};
} // namespace

void Variables::substitute(llvm::MutableArrayRef<Value> results) {
  for (Value variable : variables) {
    Value value = variable.getDefiningOp()->getOperand(0);
    variable.replaceAllUsesWith(value);
    std::replace(results.begin(), results.end(), variable, value);
  }
}

/// The gradients of the sum of y's elements with respect to the xs. The nodes from the names xs and zs to the name y
/// define the function; the inputs are the values of xs and zs. These nodes are imported again, so that the xs are
/// independent of each other and of everything else; the simplifier merges duplicate computations. Source: ONNX
/// ai.onnx.preview.training Gradient-1.
Results importGradient(Node &node) {
  SmallVector<StringRef> xs = node.attributes.getStrings("xs"), zs = node.attributes.getStrings("zs");
  StringRef y = node.attributes.getString("y");
  if (xs.empty() || y.empty() || llvm::is_contained(xs, "") || llvm::is_contained(zs, ""))
    return node.fail("expected the attributes xs and y, which name values of the graph");
  if (node.inputs.size() != xs.size() + zs.size() || !node.hasInputs(node.inputs.size()))
    return node.fail("expected an input for each of the " + Twine(xs.size()) + " xs and " + Twine(zs.size()) +
                     " zs, got " + Twine(node.inputs.size()));
  llvm::StringMap<Value> replacements;
  Variables variables(node.builder);
  for (auto [name, value] : llvm::zip(xs, node.inputs))
    replacements[name] = variables.add(value);
  for (auto [name, value] : llvm::zip(zs, ArrayRef(node.inputs).drop_front(xs.size())))
    replacements.try_emplace(name, value);
  if (replacements.size() != node.inputs.size())
    return node.fail("a name occurs twice in xs and zs");
  Value result = node.subgraphs.importAnew(y, replacements);
  if (!result)
    return {};
  auto label = [&](Operation *op) { return node.subgraphs.labelOf(op); };
  Results results = graph::gradients(node.builder, result, variables.all(), label);
  variables.substitute(results);
  return results;
}
} // namespace perpend::onnx
