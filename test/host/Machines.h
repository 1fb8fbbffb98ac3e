//===- Machines.h - a made-up machine with a device -------------*- C++ -*-===//

#ifndef PERPEND_TEST_HOST_MACHINES_H
#define PERPEND_TEST_HOST_MACHINES_H

#include "target/Machine.h"

namespace perpend {
/// A processor with a device that has a memory of its own, which an engine fills and reads beside both.
inline target::Machine machineWithDevice() {
  target::Machine device, machine;
  device.name = "device";
  device.levels = {{"group"}, {"lane", 8}};
  device.global.name = "far";
  device.launch = target::Launch::Grid;
  device.hasQueue = true;
  machine.name = "machine";
  machine.links = {{"host", "far", /*isAsynchronous=*/true}, {"far", "host", true}};
  machine.devices = {device};
  return machine;
}
} // namespace perpend

#endif
