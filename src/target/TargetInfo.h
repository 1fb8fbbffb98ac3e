//===- TargetInfo.h - a machine and what makes code for it ------*- C++ -*-===//
//
// A target is data, and resolves to the same TargetInfo on every machine, `host` included, so that an artifact does not
// depend on the machine that made it: `host` is replaced by the canonical text of the detected machine (Host.h).
// Targets.def has the list.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_TARGETINFO_H
#define PERPEND_TARGET_TARGETINFO_H

#include "target/CodeGenerator.h"
#include "target/Machine.h"

#include "llvm/Support/Error.h"

namespace perpend::target {

/// The machine's name is canonical, e.g. "x86-64-v3,+avxvnni,l2=2M", and resolves to this TargetInfo again. Its
/// features are in the order of its architecture (cpu/Architecture.h).
struct TargetInfo : Machine {
  CodeGenerator code;

  /// One line for users.
  std::string describe() const;
};

/// The names in Targets.def, in order.
std::vector<llvm::StringRef> targetNames();

/// `host`, or a name of Targets.def, each optionally followed by features and sizes of caches: "x86-64-v3,+avxvnni",
/// "sapphirerapids,-amx", "icelake-server,l2=2M". A feature is an extension of the architecture, or the name of a group
/// of them. Errors: unknown name (lists the names and the nearest), unknown feature, feature without sign, no size of a
/// cache, several machines.
llvm::Expected<TargetInfo> resolveTarget(llvm::StringRef text);

/// Resolves one machine, or several separated by commas: an item with a sign or '=' belongs to the machine before it,
/// any other starts the next. Sorted in the order in which a processor prefers them: wider vectors first, then more
/// extensions, then the given order. Errors: those of resolveTarget; an item that belongs to no machine; a machine
/// named twice; machines of several architectures.
llvm::Expected<std::vector<TargetInfo>> resolveTargets(llvm::StringRef text);

/// The base level of a machine's architecture, which every machine of that can run.
TargetInfo baselineTarget(const CodeGenerator &code);

} // namespace perpend::target

#endif
