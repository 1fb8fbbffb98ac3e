//===- ProgramMaker.cpp - the tools of each accelerator -------------------===//
#include "target/ProgramMaker.h"
#include "target/Accelerator.h"

using namespace llvm;

namespace perpend::target {

#define PERPEND_ACCELERATOR(description, maker)                                                                        \
  const Accelerator &description();                                                                                    \
  ProgramTools maker();
#include "target/Accelerators.def"

/// Of an accelerator of the list.
static ProgramTools toolsOf(const Accelerator &accelerator) {
#define PERPEND_ACCELERATOR(description, maker)                                                                        \
  if (&accelerator == &description())                                                                                  \
    return maker();
#include "target/Accelerators.def"
  llvm_unreachable("an accelerator of Accelerators.def");
}

std::unique_ptr<ProgramMaker> makerOf(const TargetInfo &target) {
  const Accelerator *accelerator = acceleratorOf(target.code);
  return accelerator ? toolsOf(*accelerator).make(target) : nullptr;
}

Expected<std::unique_ptr<Program>> loadProgram(StringRef path) {
  const Accelerator *accelerator = acceleratorOfFile(path);
  if (!accelerator)
    return createStringError("'" + path + "' has not the name of an accelerator's program");
  return toolsOf(*accelerator).load(path);
}

} // namespace perpend::target
