//===- DetectHost.h - queries this processor --------------------*- C++ -*-===//
//
// `host` is a target like any other: the facts below become a text that resolves to the same TargetInfo on every
// machine.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_DETECTHOST_H
#define PERPEND_TARGET_DETECTHOST_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <cstdint>
#include <string>

namespace perpend::target {

struct Architecture;
const Architecture *hostArchitecture();

struct HostFacts {
  const Architecture *architecture = hostArchitecture();
  llvm::StringMap<bool> features;                 ///< by LLVM's names: supported by processor and system
  uint64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0; ///< data caches as seen by one core; 0: unknown
};

HostFacts detectHost();
/// Removes the features whose use the system refuses; `request` asks it.
void dropRefused(HostFacts &facts, llvm::function_ref<bool(const char *name)> request);

/// The target that describes such a machine best, as canonical text: the most similar entry of Targets.def, plus the
/// features and caches that differ. Depends on `facts` only.
std::string describeHost(const HostFacts &facts);

} // namespace perpend::target

#endif
