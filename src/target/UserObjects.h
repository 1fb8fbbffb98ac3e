//===- UserObjects.h - checks object files supplied by users ----*- C++ -*-===//

#ifndef PERPEND_TARGET_USEROBJECTS_H
#define PERPEND_TARGET_USEROBJECTS_H

#include "target/TargetInfo.h"

#include "llvm/Support/Error.h"

namespace perpend::target {

/// Checks that all files are object files or static archives for the target's architecture, and that one of them
/// defines the function. Errors: the first unsuitable file, with the reason; no file defines the function.
llvm::Error checkObjects(llvm::ArrayRef<std::string> paths, llvm::StringRef function, const TargetInfo &target);

} // namespace perpend::target

#endif
