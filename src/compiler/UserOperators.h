//===- UserOperators.h - functions supplied by users ------------*- C++ -*-===//
//
// The importer lists in the module's attribute graph.objects the object files that define the functions of library
// calls. Artifacts link these files. The interpreter links them into a temporary library and loads it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_COMPILER_USEROPERATORS_H
#define PERPEND_COMPILER_USEROPERATORS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace perpend {

/// Paths of object files and archives.
std::vector<std::string> operatorObjects(mlir::ModuleOp module);

/// Names of the runtime's archives that define functions which a lowered module calls.
mlir::SmallVector<mlir::StringRef> libraryArchives(mlir::ModuleOp module);

/// Makes the functions of these files, in their current version, available to the interpreter. Errors: diagnostics.
mlir::LogicalResult loadOperators(mlir::ModuleOp module);
} // namespace perpend

#endif
