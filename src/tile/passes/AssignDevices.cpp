//===- AssignDevices.cpp - which device runs a kernel ---------------------===//
//
// Assigns a kernel to a device of the target if its trace binds a loop to a level that the device has, and the target
// itself has no level that the trace binds. Kernels that name a device already keep it. Runs before kernels are
// scheduled, because rules schedule for the machine that runs a kernel.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "tile/Attributes.h"
#include "tile/passes/Passes.h"

#include "mlir/IR/Builders.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEASSIGNDEVICES
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

static bool bindsLevel(ArrayAttr trace, const target::Level &level) {
  return llvm::any_of(trace.getAsRange<StringAttr>(), [&](StringAttr line) {
    auto [primitive, operands] = line.getValue().ltrim().split(' ');
    return primitive == "bind" && operands.contains("\"" + level.name + "\"");
  });
}

namespace {
struct AssignDevices : perpend::tile::impl::TileAssignDevicesBase<AssignDevices> {
  using TileAssignDevicesBase::TileAssignDevicesBase;

  void runOnOperation() override {
    if (target.devices.empty())
      return;
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      auto trace = kernel->getAttrOfType<ArrayAttr>(traceAttribute);
      if (!trace || kernel->hasAttr(deviceAttribute) || binds(trace, target))
        continue;
      for (const target::Machine &device : target.devices)
        if (!kernel->hasAttr(deviceAttribute) && binds(trace, device))
          kernel->setAttr(deviceAttribute, StringAttr::get(&getContext(), device.name));
    }
  }

  static bool binds(ArrayAttr trace, const target::Machine &machine) {
    return llvm::any_of(machine.levels, [&](const target::Level &level) { return bindsLevel(trace, level); });
  }
};
} // namespace
