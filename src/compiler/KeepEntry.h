//===- KeepEntry.h - one entry of a module ----------------------*- C++ -*-===//

#ifndef PERPEND_COMPILER_KEEPENTRY_H
#define PERPEND_COMPILER_KEEPENTRY_H

#include "mlir/IR/BuiltinOps.h"

namespace perpend {

/// For what looks at one entry alone, such as the interpreter: erases the other entries, functions or host programs,
/// and calls this one `main`. name: empty stands for the first. Errors: no entry of that name; the message lists them.
mlir::LogicalResult keepEntry(mlir::ModuleOp module, llvm::StringRef name);
} // namespace perpend

#endif
