//===- VerifyModule.h - checks what passes rely on --------------*- C++ -*-===//

#ifndef PERPEND_COMPILER_VERIFYMODULE_H
#define PERPEND_COMPILER_VERIFYMODULE_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace perpend {
/// Checks the input of phases that still have @main: one block of operators, tensors that the C interface can pass,
/// symbols that inputs or operators define, and the kernels that main calls. Errors: a diagnostic.
mlir::LogicalResult verifyModule(mlir::ModuleOp module);

/// Checks that all object files named by the module (graph.objects) were also given on the command line: a text file
/// alone must not make native code run. Errors: a diagnostic.
mlir::LogicalResult verifyObjects(mlir::ModuleOp module, llvm::ArrayRef<std::string> named);
} // namespace perpend

#endif
