//===- KernelSymbols.h - the symbols of a kernel and of its calls -*- C++ -*-===//
//
// A kernel's symbols are its own: it lists those that it uses, and every call
// says what each is there (symbolsAttribute). So one kernel serves calls whose
// extents have other names.
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

/// The names that a kernel lists, in the order of its %symbols buffer.
llvm::SmallVector<llvm::StringRef> symbolsOfKernel(mlir::Operation *kernel);

/// Lists what the kernel's types and attributes mention: extents that are one symbol first, arguments before operators.
/// The order does not depend on names, where each symbol is an extent somewhere.
void listSymbols(mlir::func::FuncOp kernel);

/// What the symbols of a kernel are at a call, in the kernel's order; empty without the attribute.
llvm::SmallVector<SymbolicInt> symbolValuesAt(mlir::Operation *call);
void setSymbolValuesAt(mlir::Operation *call, llvm::ArrayRef<llvm::StringRef> symbols);

/// The same by name. The call fits the kernel (CallKernelOp, C3).
llvm::StringMap<SymbolicInt> symbolsAt(mlir::Operation *call, mlir::Operation *kernel);
} // namespace perpend::graph

#endif
