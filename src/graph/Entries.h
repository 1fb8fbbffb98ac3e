//===- Entries.h - functions that callers run -------------------*- C++ -*-===//
//
// The entries of a module are its public functions that are no kernels: usually `main` alone. They become the entry
// points of one artifact, and share kernels and weights (docs/decisions/0048-segments-and-entries.md).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ENTRIES_H
#define PERPEND_GRAPH_ENTRIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace perpend::graph {

/// The public functions that are no kernels: first `main`, if there is one, then the others in order.
llvm::SmallVector<mlir::func::FuncOp, 2> entriesOf(mlir::ModuleOp module);

/// The first of entriesOf(); null: there is none.
mlir::func::FuncOp firstEntryOf(mlir::ModuleOp module);

/// Moves `other`, a module with one entry, into `module` as the entry `name`. Errors: its name is taken or no
/// identifier, it has several entries, or kernels.
mlir::LogicalResult addEntry(mlir::ModuleOp module, llvm::StringRef name, mlir::OwningOpRef<mlir::ModuleOp> other);
} // namespace perpend::graph

#endif
