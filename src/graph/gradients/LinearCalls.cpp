//===- LinearCalls.cpp - gradients of linear library functions ------------===//
//
// A call of a linear function stores the parameters with which the same function computes the transposed map, which is
// the call's gradient. The transposed map of that call is the original one.
//
//===----------------------------------------------------------------------===//

#include "graph/gradients/LinearCalls.h"

#include "graph/Attributes.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

Value callLinear(Builder &b, StringRef function, Builder::Values inputs, const CallResult &result,
                 DictionaryAttr parameters, DictionaryAttr transposed) {
  Value called = b.callLibrary(function, inputs, result, parameters.getValue())[0];
  if (called)
    called.getDefiningOp()->setAttr(transposedAttribute, transposed);
  return called;
}

namespace {
struct LinearCall : DifferentiableInterface::ExternalModel<LinearCall, CallLibraryOp> {
  Value operandGradient(Operation *op, Builder &b, Value gradient, unsigned operand) const {
    auto call = cast<CallLibraryOp>(op);
    auto transposed = call->getAttrOfType<DictionaryAttr>(transposedAttribute);
    if (!transposed || operand != 0)
      return b.fail("no derivative of the library function " + call.getFunction().str() +
                    "\nhint: compute the gradient in values that do not pass through it");
    SmallVector<Value> inputs(call.getInputs());
    inputs[0] = gradient;
    Value input = call.getInputs()[0];
    return callLinear(b, call.getFunction(), inputs, {shapeOf(input), elementTypeOf(input)}, transposed,
                      call.getParameters());
  }
};
} // namespace

void registerLinearCalls(MLIRContext &context) { CallLibraryOp::attachInterface<LinearCall>(context); }
} // namespace perpend::graph
