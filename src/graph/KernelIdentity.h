//===- KernelIdentity.h - identity and name of a kernel ---------*- C++ -*-===//
//
// Two kernels are the same if their bodies differ only in names of values and symbols. The identity is a hash of the
// body alone: it does not depend on attributes of the function, on the model around it, on the run, or on the
// compiling machine.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_KERNELIDENTITY_H
#define PERPEND_GRAPH_KERNELIDENTITY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::graph {

/// 16 hexadecimal digits: a hash of operators, types, attributes and constants. Symbols (listSymbols) count by
/// position.
std::string structuralHash(mlir::func::FuncOp kernel);

/// A readable name: the first operators and the first four digits of the hash, such as matmul_add_exp_7f3a. More
/// digits, and then a number, if another function of the module has that name.
std::string kernelName(mlir::func::FuncOp kernel, llvm::StringRef hash);
} // namespace perpend::graph

#endif
