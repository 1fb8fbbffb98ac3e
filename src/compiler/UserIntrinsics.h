//===- UserIntrinsics.h - tensor intrinsics supplied by users ---*- C++ -*-===//

#ifndef PERPEND_COMPILER_USERINTRINSICS_H
#define PERPEND_COMPILER_USERINTRINSICS_H

#include "target/TargetInfo.h"
#include "tile/intrinsics/Intrinsic.h"

namespace perpend {

/// The intrinsics of a context together with those of a file (tile/intrinsics/Intrinsic.h). Errors (diagnostics): no
/// such file, invalid text, an implementation that does not compute what its description says.
mlir::FailureOr<std::shared_ptr<tile::IntrinsicLibrary>>
readIntrinsics(mlir::MLIRContext *context, llvm::StringRef file, const target::TargetInfo &target);
} // namespace perpend

#endif
