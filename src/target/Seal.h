//===- Seal.h - Checksums of linked artifacts -------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_SEAL_H
#define PERPEND_TARGET_SEAL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace perpend::target {

/// Notes in a linked file what its code and constants are (runtime/Seal.h), for the runtime inside; behind a shared
/// library also what all of the file is, for the loader. The weights have a checksum in the descriptor.
llvm::Error sealArtifact(llvm::StringRef path, bool isSharedLibrary);

} // namespace perpend::target

#endif
