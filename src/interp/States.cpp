//===- States.cpp - the first values of states ----------------------------===//
//
// The interpreter takes states as inputs and returns them as results. Whoever runs a
// model several times begins with these values.
//
//===----------------------------------------------------------------------===//

#include "interp/Interpreter.h"

#include "graph/States.h"
#include "host/Host.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace perpend::interp {

static FailureOr<Tensor> firstValue(Operation *op, StringRef name, ElementsAttr initial, RankedTensorType type) {
  std::optional<Tensor> tensor =
      initial ? Tensor::fromAttribute(initial) : Tensor::allocate(type.getElementType(), type.getShape());
  if (tensor)
    return *tensor;
  return op->emitError("state '") << name << "': no memory for its first value, or it has no elements";
}

FailureOr<SmallVector<Tensor>> firstStatesOf(func::FuncOp main) {
  SmallVector<Tensor> tensors;
  for (const graph::State &state : graph::statesOf(main)) {
    FailureOr<Tensor> tensor = firstValue(main, state.name, state.initial, graph::initialTypeOf(state));
    if (failed(tensor))
      return failure();
    tensors.push_back(*tensor);
  }
  return tensors;
}

FailureOr<SmallVector<Tensor>> firstStatesOf(host::EntryOp entry) {
  SmallVector<Tensor> tensors;
  auto module = entry->getParentOfType<ModuleOp>();
  for (unsigned number = entry.inputCount() - entry.stateCount(); number < entry.inputCount(); ++number) {
    auto state = module.lookupSymbol<host::StateOp>(entry.stateOf(number));
    auto segment = state.getInitially() ? module.lookupSymbol<host::SegmentOp>(*state.getInitially()) : nullptr;
    SmallVector<int64_t> extents(state.tensor().getShape());
    if (state.getGrowing())
      extents[*state.getGrowing()] = 0;
    FailureOr<Tensor> tensor = firstValue(state, state.getName(), segment ? *segment.getValue() : ElementsAttr(),
                                          RankedTensorType::get(extents, state.tensor().getElementType()));
    if (failed(tensor))
      return failure();
    tensors.push_back(*tensor);
  }
  return tensors;
}
} // namespace perpend::interp
