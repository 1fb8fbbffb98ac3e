//===- VerifyModule.h - what a module must hold ------------------*- C++ -*-===//

#ifndef PERPEND_VERIFYMODULE_H
#define PERPEND_VERIFYMODULE_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace perpend {
/// Whether a module is what a phase may take that still sees @main: @main of one block of operators on tensors that the
/// C interface can pass, whose symbols inputs or operators define, and kernels that it calls. Errors: a diagnostic.
mlir::LogicalResult verifyModule(mlir::ModuleOp module);

/// Whether the object files that the module names (graph.objects) are among these, which the command line named: text
/// alone must not make native code run. Errors: a diagnostic.
mlir::LogicalResult verifyObjects(mlir::ModuleOp module, llvm::ArrayRef<std::string> named);
} // namespace perpend

#endif
