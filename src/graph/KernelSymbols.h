//===- KernelSymbols.h - symbols of kernels and their calls -----*- C++ -*-===//
//
// A kernel has symbols of its own: its attribute graph.symbols lists those that it uses, and every call gives their
// values in an attribute of the same name. So one kernel serves calls whose extents have other names.
//
//   graph.call_kernel @k(%x) {graph.symbols = #graph.shape<["m"]>} : (tensor<?xf32, #graph.shape<["m"]>>) -> …
//   func.func private @k(%a: tensor<?xf32, #graph.shape<["n"]>>) -> … attributes {graph.symbols = ["n"], …}
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_KERNELSYMBOLS_H
#define PERPEND_GRAPH_KERNELSYMBOLS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::graph {

/// The kernel's symbols, in the order of its %symbols buffer.
llvm::SmallVector<llvm::StringRef> symbolsOfKernel(mlir::Operation *kernel);

/// Lists the symbols that occur in the kernel's types and attributes: extents that are a single symbol first, arguments
/// before operators. If each symbol is an extent somewhere, the order does not depend on names.
void listSymbols(mlir::func::FuncOp kernel);

/// The values of the kernel's symbols at a call, in the kernel's order; empty without the attribute.
llvm::SmallVector<SymbolicInt> symbolValuesAt(mlir::Operation *call);
void setSymbolValuesAt(mlir::Operation *call, llvm::ArrayRef<llvm::StringRef> symbols);

/// The same by name. Requires that the call fits the kernel (CallKernelOp, C3).
llvm::StringMap<SymbolicInt> symbolsAt(mlir::Operation *call, mlir::Operation *kernel);
} // namespace perpend::graph

#endif
