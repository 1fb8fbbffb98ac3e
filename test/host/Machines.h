//===- Machines.h - made-up machines with devices ---------------*- C++ -*-===//

#ifndef PERPEND_TEST_HOST_MACHINES_H
#define PERPEND_TEST_HOST_MACHINES_H

#include "target/Machine.h"

namespace perpend {
/// A processor with a device that has a memory of its own, which an engine fills and reads beside both.
inline target::Machine machineWithDevice() {
  target::Machine device, machine;
  device.name = "device";
  device.levels = {{"group"}, {"lane", 8}};
  device.reads = device.writes = {"far"};
  device.launch = target::Launch::Grid;
  device.hasQueue = true;
  machine.name = "machine";
  machine.links = {{"host", "far", /*isAsynchronous=*/true}, {"far", "host", true}};
  machine.devices = {device};
  machine.mainMemories = {{"far"}};
  return machine;
}

/// The device keeps values in two scratchpads, too, which the engine fills from its large memory.
inline target::Machine machineWithScratchpads(uint64_t tiny, uint64_t near) {
  target::Machine machine = machineWithDevice();
  machine.mainMemories = {{.name = "tiny", .bytes = tiny}, {.name = "near", .bytes = near}, {.name = "far"}};
  machine.devices[0].reads = machine.devices[0].writes = {"tiny", "near", "far"};
  for (const char *memory : {"tiny", "near"}) {
    machine.links.push_back({"far", memory, /*isAsynchronous=*/true});
    machine.links.push_back({memory, "far", true});
  }
  return machine;
}
} // namespace perpend

#endif
