//===- PlaceCopies.cpp - values come to the memories that read them ---------===//
//
// Runs on main before memory is planned. A device's kernels read and write the
// device's memory; everything else (results, conditions, what loops carry, C
// functions) is in the host's. A value goes to another memory once, behind the
// operator that computes it, however many read it there:
//
//   %y = graph.call_kernel @on_device(%x)          %d = host.transfer %x to "device"
//                                            =>    %y = graph.call_kernel @on_device(%d)
//   return %y                                      %h = host.transfer %y to "host"
//
//===----------------------------------------------------------------------===//

#include "graph/Entries.h"
#include "graph/ErrorKind.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "host/Devices.h"
#include "host/Host.h"
#include "host/passes/Passes.h"
#include "tile/Attributes.h"
#include "tile/kernel/Variants.h"

namespace perpend::host {
#define GEN_PASS_DEF_HOSTPLACECOPIES
#include "host/HostPasses.h.inc"
} // namespace perpend::host

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

namespace {
struct PlaceCopies : perpend::host::impl::HostPlaceCopiesBase<PlaceCopies> {
  using HostPlaceCopiesBase::HostPlaceCopiesBase;

  void runOnOperation() override {
    if (target.devices.empty())
      return;
    for (func::FuncOp main : graph::entriesOf(getOperation()))
      if (failed(placeIn(main)))
        return signalPassFailure();
  }

private:
  LogicalResult placeIn(func::FuncOp main) {
    dataSymbols = graph::dataSymbolsOf(main);
    SmallVector<Operation *> readers;
    main.getBody().walk([&](Operation *op) {
      bool isView = op->getNumResults() == 1 && originOf(op->getResult(0)) != op->getResult(0);
      if (!isView && !isa<TransferOp>(op))
        readers.push_back(op);
    });
    return failure(llvm::any_of(readers, [&](Operation *op) { return failed(placeOperands(op)); }));
  }

  LogicalResult placeOperands(Operation *op) {
    auto call = dyn_cast<graph::CallKernelOp>(op);
    const target::Machine *device = call ? deviceOf(call, target) : nullptr;
    if (device && failed(checkCall(call, *device)))
      return failure();
    StringRef memory = device ? StringRef(device->global.name) : StringRef(hostMemory);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        operand.set(valueIn(operand.get(), memory));
    return success();
  }

  LogicalResult checkCall(graph::CallKernelOp call, const target::Machine &device) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
    auto refuse = [&](const Twine &what) {
      return call.emitError("kernel '") << call.getKernel() << "' runs on '" << device.name << "': " << what
                                        << graph::ErrorKind::Unsupported << graph::Hint("let the host run it");
    };
    if (!tile::variantsOf(kernel).empty())
      return refuse("expected one function, got variants for several extents");
    for (TypeRange types : {TypeRange(call->getOperandTypes()), TypeRange(call->getResultTypes())})
      for (Type type : types)
        if (graph::mentionsAny(graph::shapeOf(cast<RankedTensorType>(type)), dataSymbols))
          return refuse("expected sizes that the inputs decide");
    return success();
  }

  /// Views are made again in the other memory.
  Value valueIn(Value value, StringRef memory) {
    if (memoryOf(value, target) == memory)
      return value;
    Value &known = copies[{value, StringAttr::get(&getContext(), memory)}];
    if (known)
      return known;
    OpBuilder b(&getContext());
    b.setInsertionPointAfterValue(value);
    if (originOf(value) != value) {
      Operation *view = value.getDefiningOp();
      Value source = valueIn(view->getOperand(0), memory);
      Operation *copy = b.clone(*view);
      copy->setOperand(0, source);
      return copies[{value, StringAttr::get(&getContext(), memory)}] = copy->getResult(0);
    }
    StringRef from = memoryOf(value, target);
    if (from != hostMemory && memory != hostMemory && !target.link(from, memory)) {
      value = valueIn(value, hostMemory);
      b.setInsertionPointAfterValue(value);
    }
    return copies[{value, StringAttr::get(&getContext(), memory)}] =
               b.create<TransferOp>(value.getLoc(), value.getType(), value, b.getStringAttr(memory));
  }

  std::vector<std::string> dataSymbols;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> copies;
};
} // namespace
