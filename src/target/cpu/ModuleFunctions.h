//===- ModuleFunctions.h - the functions of the module ABI ------*- C++ -*-===//
//
// The functions that main is compiled to (the contract is
// runtime/include/perpend_module.h). Each emitter reads main after memory
// planning and adds one function to the module.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_CPU_MODULEFUNCTIONS_H
#define PERPEND_TARGET_CPU_MODULEFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::target {
/// perpend_bind(dims, symbols, error): computes the inputs' symbols from their extents, and checks requirements.
void emitBind(mlir::func::FuncOp main);
/// perpend_sizes(symbols, bytes, dims): computes sizes of arena buffers and extents of outputs.
void emitSizes(mlir::func::FuncOp main);
/// perpend_run(frame): calls kernels through frame->parallel; branches, loops, symbols from data. The kernels' entries
/// must exist already.
void emitRun(mlir::func::FuncOp main);
} // namespace perpend::target

#endif
