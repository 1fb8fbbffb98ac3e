//===- PlaceCopies.cpp - values come to the memories that read them ---------===//
//
// Runs on main before memory is planned. A kernel reads operands in the memories
// that its machine reads; everything else (results of main, conditions, what
// loops carry, C functions) reads the host's. A value whose memory a reader does
// not read is copied behind the operator that computes it, once for all readers,
// over as many links as that takes:
//
//   %y = graph.call_kernel @on_device(%x)          %d = host.transfer %x to "far"
//                                            =>    %y = graph.call_kernel @on_device(%d)
//   return %y                                      %h = host.transfer %y to "host"
//                                                  return %h
//
// In which memory a value lies: Devices.h before, PlaceValues.cpp behind.
//
//===----------------------------------------------------------------------===//

#include "graph/Entries.h"
#include "graph/ErrorKind.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "host/Devices.h"
#include "host/Host.h"
#include "host/passes/Passes.h"
#include "tile/ir/Levels.h"
#include "tile/kernel/Variants.h"

#include "llvm/ADT/StringExtras.h"

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
    if (std::string flaw = target.flaw(); !flaw.empty()) {
      getOperation().emitError("M1: the machine '") << target.name << "': " << flaw << graph::ErrorKind::Unsupported
                                                    << graph::Hint("give each a name of its own, and use it");
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([&](graph::CallKernelOp call) { return WalkResult(checkMemories(call)); });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (target.devices.empty() && target.mainMemories.empty())
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
      if (!graph::isInOperandsMemory(op) && !isa<TransferOp>(op))
        readers.push_back(op);
    });
    return failure(llvm::any_of(readers, [&](Operation *op) { return failed(placeOperands(op)); }));
  }

  LogicalResult placeOperands(Operation *op) {
    auto call = dyn_cast<graph::CallKernelOp>(op);
    if (call && failed(checkCall(call)))
      return failure();
    const std::vector<std::string> readable = call ? runnerOf(call, target).reads : onHost;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      Value value = valueIn(operand.get(), readable);
      if (!value)
        return op->emitError("operand ")
               << operand.getOperandNumber() << ": no links lead from '" << memoryOf(operand.get(), target) << "' to "
               << llvm::join(readable, ", ") << ", where it is read" << graph::ErrorKind::Unsupported
               << graph::Hint("add links to the machine, or keep the value in another memory (host.memories)");
      operand.set(value);
    }
    return success();
  }

  /// What a person may have written, of all calls: everything behind trusts it.
  LogicalResult checkMemories(graph::CallKernelOp call) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
    if (kernel && !tile::machineOf(kernel, target))
      return tile::reportDevice(kernel, target);
    Attribute given = call->getAttr(memoriesAttribute);
    if (!given)
      return success();
    const std::vector<std::string> &writes = runnerOf(call, target).writes;
    auto memories = dyn_cast<ArrayAttr>(given);
    auto isWritable = [&](Attribute name) {
      return isa<StringAttr>(name) && llvm::is_contained(writes, cast<StringAttr>(name).getValue());
    };
    if (memories && memories.size() == call.getNumResults() && llvm::all_of(memories, isWritable))
      return success();
    return call.emitError("host.memories: expected a name for each of ")
           << call.getNumResults() << " results, of a memory in which kernel '" << call.getKernel()
           << "' can write: " << llvm::join(writes, ", ") << ", got " << given << graph::ErrorKind::Unsupported
           << graph::Hint("leave it out, and results lie where they fit");
  }

  LogicalResult checkCall(graph::CallKernelOp call) {
    const target::Machine &runner = runnerOf(call, target);
    if (&runner == &target && !call->hasAttr(memoriesAttribute))
      return success();
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
    auto refuse = [&](const Twine &what) {
      return call.emitError("kernel '") << call.getKernel() << "' runs on '" << runner.name << "': " << what
                                        << graph::ErrorKind::Unsupported << graph::Hint("let the host run it");
    };
    if (&runner != &target && !tile::variantsOf(kernel).empty())
      return refuse("expected one function, got variants for several extents");
    for (TypeRange types : {TypeRange(call->getOperandTypes()), TypeRange(call->getResultTypes())})
      for (Type type : types)
        if (graph::mentionsAny(graph::shapeOf(cast<RankedTensorType>(type)), dataSymbols))
          return refuse("expected sizes that the inputs decide");
    return success();
  }

  Value &known(Value value, StringRef memory) { return copies[{value, StringAttr::get(&getContext(), memory)}]; }

  /// The value in one of these memories; null: no links lead there. Views are made again behind the copy.
  Value valueIn(Value value, ArrayRef<std::string> readable) {
    StringRef from = memoryOf(value, target);
    if (llvm::is_contained(readable, from))
      return value;
    for (const std::string &memory : readable)
      if (Value copy = known(value, memory))
        return copy;
    Value copy = originOf(value) == value ? transferred(value, from, readable) : viewIn(value, readable);
    if (copy)
      known(value, memoryOf(copy, target)) = copy;
    return copy;
  }

  Value viewIn(Value value, ArrayRef<std::string> readable) {
    Operation *view = value.getDefiningOp();
    Value source = valueIn(view->getOperand(0), readable);
    if (!source)
      return {};
    OpBuilder b(&getContext());
    b.setInsertionPointAfterValue(value);
    Operation *copy = b.clone(*view);
    copy->setOperand(0, source);
    return copy->getResult(0);
  }

  /// Loading puts constants where they are read, without links.
  Value transferred(Value value, StringRef from, ArrayRef<std::string> readable) {
    std::vector<StringRef> way = target.route(from, readable);
    if (value.getDefiningOp<graph::ConstantOp>())
      way = {target.farthest(readable)};
    if (way.empty())
      return {};
    for (StringRef memory : way) {
      Value &copy = known(value, memory);
      OpBuilder b(&getContext());
      b.setInsertionPointAfterValue(value);
      if (!copy)
        copy = b.create<TransferOp>(value.getLoc(), value.getType(), value, b.getStringAttr(memory));
      value = copy;
    }
    return value;
  }

  const std::vector<std::string> onHost{hostMemory.str()};
  std::vector<std::string> dataSymbols;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> copies;
};
} // namespace
