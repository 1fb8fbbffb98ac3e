//===- CountInputs.cpp - inputs that determine the amount of work ---------===//
//
// Follows each integer input through operators that move its elements or compute elementwise. It determines the amount
// of work if this leads to an extent, or to the limit or condition of a loop; or if it never leads to an operator that
// takes tensors of positions.
//
//===----------------------------------------------------------------------===//

#include "cli/CountInputs.h"
#include "graph/Attributes.h"
#include "graph/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace perpend::cli {

static bool isCount(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<graph::MeasureOp>(user))
    return true;
  if (auto loop = dyn_cast<graph::LoopOp>(user))
    return use.get() == loop.getLimit() || use.get() == loop.getCondition();
  auto loop = dyn_cast<graph::LoopOp>(user->getParentOp());
  return loop && isa<graph::YieldOp>(user) && use.get() == loop.yieldedCondition();
}

/// Whether the elements are positions, or may be.
static bool isPosition(OpOperand &use) {
  Operation *user = use.getOwner();
  bool isIndex = isa<graph::GatherOp, graph::ScatterOp>(user) && use.getOperandNumber() == 1;
  return isIndex || isa<graph::GenerateOp, graph::CallLibraryOp>(user);
}

/// Values that contain elements of the operand, or numbers computed from them.
static SmallVector<Value> valuesFrom(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto loop = dyn_cast<graph::LoopOp>(user)) {
    for (auto [initial, argument] : llvm::zip(loop.getInitial(), loop.carriedArguments()))
      if (initial == use.get())
        return {argument};
    return {};
  }
  if (isa<graph::MapOp, graph::ReshapeOp, graph::SliceOp, graph::BroadcastOp, graph::ConcatOp, graph::TransposeOp,
          graph::GatherOp>(user) &&
      !isPosition(use))
    return SmallVector<Value>(user->getResults());
  return {};
}

static bool isCountOrNoPosition(Value input) {
  llvm::SetVector<Value> reached;
  reached.insert(input);
  bool hasPosition = false;
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      if (isCount(use))
        return true;
      hasPosition |= isPosition(use);
      for (Value next : valuesFrom(use))
        reached.insert(next);
    }
  return !hasPosition;
}

std::set<std::string> countInputsOf(ModuleOp module) {
  std::set<std::string> names;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main) // a host program, which does not say what its kernels compute
    return names;
  for (BlockArgument input : main.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    bool isInteger = type && type.getElementType().isIntOrIndex() && !type.getElementType().isInteger(1);
    auto name = main.getArgAttrOfType<StringAttr>(input.getArgNumber(), graph::nameAttribute);
    if (isInteger && name && type.getRank() <= 1 && isCountOrNoPosition(input))
      names.insert(name.str());
  }
  return names;
}
} // namespace perpend::cli
