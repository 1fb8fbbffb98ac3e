//===- LibcStub.h - Stand-ins for the system's C library ---------*- C++ -*-===//
#ifndef PERPEND_TARGET_LIBCSTUB_H
#define PERPEND_TARGET_LIBCSTUB_H

#include "target/ScratchDirectory.h"

#include <vector>

namespace perpend::target {

/// Writes a stub shared library for each library of LibcSymbols.def: its name and its versioned symbols, without code.
/// Returns their paths.
llvm::Expected<std::vector<std::string>> writeLibcStubs(const ScratchDirectory &scratch);

} // namespace perpend::target

#endif
