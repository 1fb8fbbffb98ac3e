//===- BareEntry.h - a model's function without a runtime -------*- C++ -*-===//
//
// Without the runtime, a model is one function with its memory, in place of the table that the runtime reads
// (ModuleTable.h):
//
//   int32_t perpend_run_<name>(const void *input0, …, void *output0, …);
//   uint8_t perpend_arena_<name>[arenaBytes];
//
// All sizes are numbers, so there is nothing to bind. The tables are for commands; a linker that makes a program leaves
// them out.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_BAREENTRY_H
#define PERPEND_TARGET_CPU_BAREENTRY_H

#include "target/cpu/ModuleTable.h"

namespace perpend::target {

constexpr llvm::StringLiteral bareRunPrefix = "perpend_run_", bareArenaPrefix = "perpend_arena_";

struct Architecture;

struct BareInterface {
  size_t inputCount = 0, outputCount = 0;
  llvm::ArrayRef<int64_t> offsets; ///< of buffers in the arena
  uint64_t arenaBytes = 0;
  std::string weightsFile; ///< to be copied into the object, from the second page on; empty: another object has them
};

/// Adds the function, which returns a perpend_status, and the arena. The functions of ModuleFunctions.h become local.
void addBareEntry(llvm::Module &module, const Architecture &architecture, const ModuleTable &table,
                  const BareInterface &interface);

} // namespace perpend::target

#endif
