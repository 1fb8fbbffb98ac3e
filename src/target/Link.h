//===- Link.h - Objects to artifacts -----------------------------*- C++ -*-===//
//
// lld runs inside the compiler; no linker, C library headers or start files are needed on the user's machine. The same
// request gives the same bytes everywhere, and an output appears whole or not at all.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_LINK_H
#define PERPEND_TARGET_LINK_H

#include "target/TargetInfo.h"

namespace perpend::target {

struct LinkRequest {
  std::vector<std::string> objects;                 ///< paths; archives among them are as lazy ones
  std::vector<std::string> archives;                ///< paths; a shared library takes all members that exports reach
  std::vector<std::string> lazyArchives;            ///< paths; members that something needs are taken
  std::vector<std::string> libraries;               ///< paths of further shared libraries, needed at run time
  std::vector<std::string> exports = {"perpend_*"}; ///< patterns of the symbols others may see
  bool strip = false;                               ///< drop the table of local symbols
  std::string output;
};

/// Threads: any; links are done one at a time. Errors: every undefined or duplicate symbol, unreadable input, output
/// that cannot be written.
llvm::Error linkSharedLibrary(const LinkRequest &request, const TargetInfo &target);

/// Like linkSharedLibrary; `main` comes from an object or an archive.
llvm::Error linkExecutable(const LinkRequest &request, const TargetInfo &target);

/// objects and the members of archives in one deterministic archive; exports and libraries do not apply.
llvm::Error writeStaticLibrary(const LinkRequest &request);

/// The runtime's archives with functions for what the target's processors have no instructions for.
std::vector<std::string> builtinArchives(const TargetInfo &target);

/// The folder's `name`: in PERPEND_RUNTIME_DIR, else in ../lib or beside the program or library that holds the
/// compiler, else in the build tree. Errors: in none of them (lists the places).
llvm::Expected<std::string> runtimeFilePath(llvm::StringRef name = "libperpend_runtime.a");

} // namespace perpend::target

#endif
