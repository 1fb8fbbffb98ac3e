//===- LibcStub.h - Stubs of the system's C library -------------*- C++ -*-===//
#ifndef PERPEND_TARGET_LIBCSTUB_H
#define PERPEND_TARGET_LIBCSTUB_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace perpend::target {

/// Paths of the stub shared libraries that the build made from LibcSymbols.def (MakeLibcStubs.cpp): names and versioned
/// symbols, without code. Errors: one is missing beside the runtime's archives.
llvm::Expected<std::vector<std::string>> libcStubPaths();

} // namespace perpend::target

#endif
