//===- SymbolicCode.h - code that computes symbolic integers ----*- C++ -*-===//

#ifndef PERPEND_GRAPH_SYMBOLICCODE_H
#define PERPEND_GRAPH_SYMBOLICCODE_H

#include "support/SymbolicInt.h"

#include "mlir/IR/Builders.h"

namespace perpend::graph {
/// Emits arith on `index` that computes `value`, which is no poison; `symbol` gives the index value of a named symbol.
/// With `isTooLarge`, products are checked, and it becomes the condition (null: never) that the value is not right.
mlir::Value emitSymbolicInt(mlir::OpBuilder &builder, mlir::Location loc, const support::SymbolicInt &value,
                            llvm::function_ref<mlir::Value(llvm::StringRef)> symbol, mlir::Value *isTooLarge = nullptr);
} // namespace perpend::graph

#endif
