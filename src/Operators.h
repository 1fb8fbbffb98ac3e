//===- Operators.h - functions that users bring ------------------*- C++ -*-===//
//
// The importer notes on the module which object files hold the functions that
// library calls need (graph.objects). Artifacts are linked with them; to be
// interpreted, they are linked into a library of their own, which is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_OPERATORS_H
#define PERPEND_OPERATORS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace perpend {

/// Paths of object files and archives.
std::vector<std::string> operatorObjects(mlir::ModuleOp module);

/// The names of the runtime's archives with the functions that a lowered module calls.
mlir::SmallVector<mlir::StringRef> libraryArchives(mlir::ModuleOp module);

/// Makes the functions of these files, as they are now, known to the interpreter for this module. Errors: diagnostics.
mlir::LogicalResult loadOperators(mlir::ModuleOp module);
} // namespace perpend

#endif
