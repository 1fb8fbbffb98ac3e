//===- Devices.cpp - who runs kernels, and in which memory values lie -------===//

#include "host/Devices.h"

#include "tile/Attributes.h"

#include "perpend_module.h"

#include <set>

using namespace mlir;

namespace perpend::host {

const target::Machine &runnerOf(graph::CallKernelOp call, const target::Machine &machine) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
  auto name = kernel ? kernel->getAttrOfType<StringAttr>(tile::deviceAttribute) : StringAttr();
  const target::Machine *device = name ? machine.device(name) : nullptr;
  return device ? *device : machine;
}

const target::Machine *runnerOf(LaunchOp launch, const target::Machine &machine) {
  return launch.getDevice() ? machine.device(*launch.getDevice()) : &machine;
}

StringRef memoryOf(Value value, const target::Machine &machine) {
  value = originOf(value);
  if (auto transfer = value.getDefiningOp<TransferOp>())
    return transfer.getMemory();
  auto call = value.getDefiningOp<graph::CallKernelOp>();
  if (!call)
    return hostMemory;
  if (auto memories = call->getAttrOfType<ArrayAttr>(memoriesAttribute))
    return cast<StringAttr>(memories[cast<OpResult>(value).getResultNumber()]).getValue();
  return machine.farthest(runnerOf(call, machine).writes);
}

bool isPinned(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (op->hasAttr(memoriesAttribute) || op->hasAttr(pinnedAttribute));
}

StringRef scratchMemoryOf(graph::CallKernelOp call, const target::Machine &machine) {
  const target::Machine &runner = runnerOf(call, machine);
  std::vector<std::string> both;
  llvm::copy_if(runner.reads, std::back_inserter(both),
                [&](const std::string &name) { return llvm::is_contained(runner.writes, name); });
  return machine.farthest(both);
}

int64_t constantBytesIn(StringRef memory, ModuleOp module) {
  std::set<StringRef> known; // entries share them
  int64_t bytes = 0;
  module.walk([&](ConstantOp constant) {
    if (constant.getPlace().getType().getMemory() == memory && known.insert(constant.getSegment()).second)
      bytes += llvm::alignTo(*constant.getPlace().getType().bytes().constant(), PERPEND_ALIGNMENT);
  });
  return bytes;
}
} // namespace perpend::host
