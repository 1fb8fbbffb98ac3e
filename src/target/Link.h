//===- Link.h - Objects to artifacts ----------------------------*- C++ -*-===//
//
// lld runs inside the compiler, so the user's machine needs no linker, C headers or start files. Equal requests give
// equal bytes on every machine, and an output appears complete or not at all.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_LINK_H
#define PERPEND_TARGET_LINK_H

#include "target/TargetInfo.h"

#include <array>

namespace perpend::target {

struct LinkRequest {
  std::vector<std::string> objects;                 ///< paths; archives among them act like lazyArchives
  std::vector<std::string> archives;                ///< paths; a shared library gets all members with exported symbols
  std::vector<std::string> lazyArchives;            ///< paths; only members that are needed are linked
  std::vector<std::string> libraries;               ///< paths of further shared libraries, needed at run time
  std::vector<std::string> exports = {"perpend_*"}; ///< patterns of the exported symbols
  bool strip = false;                               ///< drop the table of local symbols
  std::string output;
};

/// Thread-safe; links run one at a time. Errors: every undefined or duplicate symbol, unreadable input, output that
/// cannot be written.
llvm::Error linkSharedLibrary(const LinkRequest &request, const TargetInfo &target);

/// Like linkSharedLibrary; `main` comes from an object or an archive.
llvm::Error linkExecutable(const LinkRequest &request, const TargetInfo &target);

/// Writes objects and the members of archives into one deterministic archive; exports and libraries do not apply.
llvm::Error writeStaticLibrary(const LinkRequest &request);

/// The runtime's files that lie beside a module of WebAssembly: what loads it, and the types of that.
inline constexpr std::array<llvm::StringLiteral, 3> wasmLoaderFiles = {"perpend.mjs", "perpend-engine.mjs",
                                                                      "perpend.d.mts"};

/// The runtime's archives that implement operations for which the target has no instructions.
std::vector<std::string> builtinArchives(const TargetInfo &target);

/// The path of an archive of the runtime for the target's architecture: that of this process lies as runtimeFilePath
/// says, another one in the folder of its name there. Errors: it is in none of the places.
llvm::Expected<std::string> runtimeArchivePath(const TargetInfo &target, llvm::StringRef name = "libperpend_runtime.a");

/// The path of the file `name`: in PERPEND_RUNTIME_DIR, otherwise in ../lib or beside the program or library that
/// contains the compiler, otherwise in the build tree. Errors: in none of these (lists the places).
llvm::Expected<std::string> runtimeFilePath(llvm::StringRef name = "libperpend_runtime.a");

} // namespace perpend::target

#endif
