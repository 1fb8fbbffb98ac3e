//===- KernelIdentity.h - what a kernel is, whatever it is called -*- C++ -*-===//
//
// Two kernels are the same when they differ in nothing but names of values and
// symbols. The identity is a hash that depends on the kernel alone: neither on
// the model around it, nor on the run or the machine of the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_KERNELIDENTITY_H
#define PERPEND_GRAPH_KERNELIDENTITY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::graph {

/// 16 hexadecimal digits, of operators, types, attributes and constants; symbols (listSymbols) count by position.
std::string structuralHash(mlir::func::FuncOp kernel);

/// What a person calls it: its first operators and the first four digits of the hash, such as matmul_add_exp_7f3a.
/// More digits, and then a number, where the module has another function of that name.
std::string kernelName(mlir::func::FuncOp kernel, llvm::StringRef hash);
} // namespace perpend::graph

#endif
