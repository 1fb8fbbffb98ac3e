//===- RandomProgram.h - random graphs of kernels to plan -------*- C++ -*-===//

#ifndef PERPEND_TEST_HOST_RANDOMPROGRAM_H
#define PERPEND_TEST_HOST_RANDOMPROGRAM_H

#include "../interp/Module.h"
#include "Machines.h"

#include "host/Host.h"

namespace perpend {
/// A main of `count` calls of kernels, each of which adds two earlier values of [n, 4] or negates one; some in a branch
/// or a loop, and half of them on the device if there is one. `isFromData`: n is read from an input.
std::string randomProgram(unsigned seed, bool hasDevice = false, bool isFromData = false);

struct PlannedModule : interp::Module {
  explicit PlannedModule(const std::string &text) : Module(text) {}
  explicit PlannedModule(unsigned seed, bool hasDevice = false, bool isFromData = false)
      : Module(randomProgram(seed, hasDevice, isFromData)) {}
  bool plan(llvm::StringRef strategy = "best", const target::Machine &machine = {});
  host::EntryOp entry() { return module->lookupSymbol<host::EntryOp>("main"); }
  bool isRight();
};

/// More for --long.
unsigned numberOfPrograms(unsigned usual);

std::vector<interp::Tensor> inputsOf(interp::Module &module, bool condition);

/// Places where a program waits for an event: operands of operations.
std::vector<mlir::OpOperand *> waitsIn(host::EntryOp entry);
void removeWait(mlir::OpOperand &operand);

/// Says how many flaws of those tried were found, which must be all.
void report(unsigned found, unsigned tried);
} // namespace perpend

#endif
