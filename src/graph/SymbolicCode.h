//===- SymbolicCode.h - code that computes symbolic integers ----*- C++ -*-===//

#ifndef PERPEND_GRAPH_SYMBOLICCODE_H
#define PERPEND_GRAPH_SYMBOLICCODE_H

#include "support/SymbolicInt.h"

#include "mlir/IR/Builders.h"

namespace perpend::graph {
/// Emits index arithmetic that computes `value`, which must not be poison; `symbol` gives the index value of a named
/// symbol. With `isTooLarge`, products are checked for overflow, and it becomes the condition that the result is wrong
/// (null: never).
mlir::Value emitSymbolicInt(mlir::OpBuilder &builder, mlir::Location loc, const support::SymbolicInt &value,
                            llvm::function_ref<mlir::Value(llvm::StringRef)> symbol, mlir::Value *isTooLarge = nullptr);
} // namespace perpend::graph

#endif
