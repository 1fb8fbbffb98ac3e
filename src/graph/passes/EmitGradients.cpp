//===- EmitGradients.cpp - adds gradients to main's results ---------------===//
//
// Adds to main the gradient of the sum of its first result with respect to each
// floating-point argument. Front ends differentiate while they import; this pass is
// for modules written as text. It runs before all other passes, while main has
// operators with derivatives.
//
//   main(x) { return x * x }  =>  main(x) { return x * x, 1 * x + 1 * x }
//
//===----------------------------------------------------------------------===//

#include "graph/Repeats.h"
#include "graph/gradients/Gradients.h"
#include "graph/passes/Passes.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHEMITGRADIENTS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

static std::string labelOf(Operation *op) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  return name ? "node '" + name.getName().str() + "'" : std::string("an operator");
}

namespace {
struct EmitGradients : perpend::graph::impl::GraphEmitGradientsBase<EmitGradients> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<mlir::func::FuncOp>("main");
    if (!main || main.getNumResults() == 0)
      return;
    Operation *end = main.getBody().front().getTerminator();
    mlir::OpBuilder operations(end);
    perpend::graph::Builder builder(operations, main.getLoc());
    forgetRepeats(main); // a gradient must have the shape of the caller's input
    SmallVector<Value> floats;
    for (Value argument : main.getArguments())
      if (isa<FloatType>(tensorTypeOf(argument).getElementType()))
        floats.push_back(argument);
    SmallVector<Value> results = gradients(builder, end->getOperand(0), floats, labelOf);
    if (builder.hasFailed())
      return signalPassFailure();
    end->insertOperands(end->getNumOperands(), results);
    main.setFunctionType(mlir::FunctionType::get(&getContext(), main.getArgumentTypes(), end->getOperandTypes()));
    if (auto attributes = main.getResAttrsAttr()) {
      SmallVector<Attribute> all(attributes.getValue());
      all.append(results.size(), DictionaryAttr::get(&getContext()));
      main.setResAttrsAttr(ArrayAttr::get(&getContext(), all));
    }
  }
};
} // namespace
