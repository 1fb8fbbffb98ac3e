//===- SymbolicCode.h - code that computes symbolic integers ----*- C++ -*-===//

#ifndef PERPEND_GRAPH_SYMBOLICCODE_H
#define PERPEND_GRAPH_SYMBOLICCODE_H

#include "support/SymbolicInt.h"

#include "mlir/IR/Builders.h"

namespace perpend::graph {
/// Emits arith on `index` that computes `value`; `symbol` gives the index value of a named symbol.
mlir::Value emitSymbolicInt(mlir::OpBuilder &builder, mlir::Location loc, const support::SymbolicInt &value,
                            llvm::function_ref<mlir::Value(llvm::StringRef)> symbol);
} // namespace perpend::graph

#endif
