//===- Devices.cpp - who runs kernels, and in which memory values lie -------===//

#include "host/Devices.h"

#include "tile/ir/Levels.h"

#include "perpend_module.h"

#include <set>

using namespace mlir;

namespace perpend::host {

const target::Machine &runnerOf(graph::CallKernelOp call, const target::Machine &machine) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
  const target::Machine *runner = kernel ? tile::machineOf(kernel, machine) : &machine;
  return runner ? *runner : machine; // host-place-copies refuses a device that is not there
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

void setMemory(Value value, StringRef memory) {
  if (auto place = dyn_cast<PlaceType>(value.getType()))
    value.setType(PlaceType::get(place.getTensor(), memory));
  else
    value.setType(MemoryType::get(value.getContext(), StringAttr::get(value.getContext(), memory)));
  for (Operation *user : value.getUsers())
    if (auto place = dyn_cast<PlaceOp>(user))
      setMemory(place.getPlace(), memory);
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
