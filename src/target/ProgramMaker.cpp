//===- ProgramMaker.cpp - the tools of each accelerator -------------------===//
#include "target/ProgramMaker.h"
#include "target/BareProgram.h"

using namespace llvm;

namespace perpend::target {

#define PERPEND_ACCELERATOR(description, maker)                                                                        \
  const Accelerator &description();                                                                                    \
  ProgramTools maker();
#include "target/Accelerators.def"

static std::vector<std::pair<const Accelerator *, ProgramTools>> &added() {
  static std::vector<std::pair<const Accelerator *, ProgramTools>> list;
  return list;
}

void addAccelerator(const Accelerator &accelerator, const ProgramTools &tools) {
  listAccelerator(accelerator);
  added().emplace_back(&accelerator, tools);
}

static ProgramTools toolsOf(const Accelerator &accelerator) {
  for (const auto &[each, tools] : added())
    if (each == &accelerator)
      return tools;
#define PERPEND_ACCELERATOR(description, maker)                                                                        \
  if (&accelerator == &description())                                                                                  \
    return maker();
#include "target/Accelerators.def"
  llvm_unreachable("an accelerator of Accelerators.def, or one that was added");
}

std::unique_ptr<ProgramMaker> makerOf(const TargetInfo &target) {
  const Accelerator *accelerator = acceleratorOf(target.code);
  return accelerator ? toolsOf(*accelerator).make(target) : nullptr;
}

bool isProgram(StringRef path) { return acceleratorOfFile(path) || isBareObject(path); }

Expected<std::unique_ptr<Program>> loadProgram(StringRef path) {
  const Accelerator *accelerator = acceleratorOfFile(path);
  if (!accelerator && isBareObject(path))
    return loadBareProgram(path);
  if (!accelerator)
    return createStringError("'" + path + "' has not the name of an accelerator's program");
  return toolsOf(*accelerator).load(path);
}

} // namespace perpend::target
