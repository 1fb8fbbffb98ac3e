//===- Intrinsics.h - tensor intrinsics that users bring ---------*- C++ -*-===//

#ifndef PERPEND_INTRINSICS_H
#define PERPEND_INTRINSICS_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend {

/// The intrinsics in use in a context and those of a file (tile/intrinsics/Intrinsic.h). Errors: diagnostics: no such
/// file, its text, an implementation that does not compute what the description says.
mlir::FailureOr<std::shared_ptr<tile::IntrinsicLibrary>>
readIntrinsics(mlir::MLIRContext *context, llvm::StringRef file, const target::TargetInfo &target);
} // namespace perpend

#endif
