//===- Devices.cpp - which values of main lie in which memory ---------------===//

#include "host/Devices.h"

#include "host/Host.h"
#include "tile/Attributes.h"

using namespace mlir;

namespace perpend::host {

const target::Machine *deviceOf(graph::CallKernelOp call, const target::Machine &machine) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
  auto name = kernel ? kernel->getAttrOfType<StringAttr>(tile::deviceAttribute) : StringAttr();
  return name ? machine.device(name) : nullptr;
}

StringRef memoryOf(Value value, const target::Machine &machine) {
  value = originOf(value);
  if (auto transfer = value.getDefiningOp<TransferOp>())
    return transfer.getMemory();
  auto call = value.getDefiningOp<graph::CallKernelOp>();
  const target::Machine *device = call ? deviceOf(call, machine) : nullptr;
  return device ? StringRef(device->global.name) : StringRef(hostMemory);
}

SmallVector<StringRef> memoriesOf(const target::Machine &machine) {
  SmallVector<StringRef> names{hostMemory};
  for (const target::Machine &device : machine.devices)
    names.push_back(device.global.name);
  return names;
}
} // namespace perpend::host
