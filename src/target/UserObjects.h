//===- UserObjects.h - object files that users bring -------------*- C++ -*-===//

#ifndef PERPEND_TARGET_USEROBJECTS_H
#define PERPEND_TARGET_USEROBJECTS_H

#include "target/TargetInfo.h"

#include "llvm/Support/Error.h"

namespace perpend::target {

/// Whether all of these are object files or static archives for the target's architecture, and one of them has the
/// function. Errors: the first file that is none, with the reason; the function is in none.
llvm::Error checkObjects(llvm::ArrayRef<std::string> paths, llvm::StringRef function, const TargetInfo &target);

} // namespace perpend::target

#endif
