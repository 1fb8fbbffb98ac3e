//===- LibcStub.h - Stubs of the system's C library -------------*- C++ -*-===//
#ifndef PERPEND_TARGET_LIBCSTUB_H
#define PERPEND_TARGET_LIBCSTUB_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace perpend::target {

struct Architecture;

/// Versions and the symbols of each.
using LibcVersions = std::vector<std::pair<std::string, std::vector<llvm::StringRef>>>;

/// What LibcSymbols.def says of an architecture, by library.
llvm::MapVector<llvm::StringRef, LibcVersions> libcSymbolsOf(const Architecture &architecture);

/// Paths of the stub shared libraries that the build made from LibcSymbols.def (MakeLibcStubs.cpp): names and versioned
/// symbols, without code. Errors: one is missing beside the runtime's archives.
llvm::Expected<std::vector<std::string>> libcStubPaths(const Architecture &architecture);

} // namespace perpend::target

#endif
