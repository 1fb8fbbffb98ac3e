//===- ModuleFunctions.h - the functions of the module ABI -------*- C++ -*-===//
//
// What main becomes (runtime/include/perpend_module.h is the contract). Each
// takes main as memory planning leaves it and adds one function to the module.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_MODULEFUNCTIONS_H
#define PERPEND_TARGET_CPU_MODULEFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::target {
/// perpend_bind(dims, symbols, error): the symbols of inputs from their extents, and checks.
void emitBind(mlir::func::FuncOp main);
/// perpend_sizes(symbols, bytes, dims): sizes of arena buffers, extents of outputs.
void emitSizes(mlir::func::FuncOp main);
/// perpend_run(frame): kernels through frame->parallel, branches, loops, symbols from data. The kernels' entries
/// must be there.
void emitRun(mlir::func::FuncOp main);
} // namespace perpend::target

#endif
