//===- Host.h - what this processor says of itself ---------------*- C++ -*-===//
//
// `host` is a target like any other: the facts below become a text that resolves to the same TargetInfo everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_HOST_H
#define PERPEND_TARGET_HOST_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <cstdint>
#include <string>

namespace perpend::target {

struct HostFacts {
  llvm::StringMap<bool> features;                 ///< LLVM's names: what the processor has and the system lets us use
  uint64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0; ///< caches of data as one core sees them; 0: not known
};

HostFacts detectHost();
/// Takes away the features that the system does not let this process use; `request` asks it.
void dropRefused(HostFacts &facts, llvm::function_ref<bool(const char *name)> request);

/// The target that describes such a machine best, as canonical text: the entry of Targets.def that is most like it,
/// with the features and caches that are different. Depends on nothing else.
std::string describeHost(const HostFacts &facts);

} // namespace perpend::target

#endif
