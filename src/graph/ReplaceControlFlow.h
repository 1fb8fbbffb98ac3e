//===- ReplaceControlFlow.h - what replaces loops and branches --*- C++ -*-===//
//
// An operator that defines symbols has types in these. What replaces it has other extents: they are measured, checked
// and put in the places of the symbols.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_GRAPH_REPLACECONTROLFLOW_H
#define PERPEND_GRAPH_REPLACECONTROLFLOW_H

#include "graph/Shapes.h"

#include "mlir/IR/PatternMatch.h"

namespace perpend::graph {

/// Matches `types` with `pattern`: the extents at positions where the pattern is one of `symbols` alone. Every symbol
/// of an operator has such a position: C3 of graph.if, C6 of graph.loop.
llvm::StringMap<SymbolicInt> matchExtents(llvm::ArrayRef<mlir::StringAttr> symbols, mlir::TypeRange pattern,
                                          mlir::TypeRange types);

/// Measures these symbols from their extents.
void measureAll(mlir::RewriterBase &rewriter, mlir::Location loc, const llvm::StringMap<SymbolicInt> &extents,
                llvm::ArrayRef<mlir::StringAttr> symbols);

/// Emits the checks that the operator would have made: values of `given` types replace those of `expected` types, whose
/// symbols have the values `extents`. `where` is for the error message.
void requireSameExtents(mlir::RewriterBase &rewriter, mlir::Location loc, mlir::TypeRange given,
                        mlir::TypeRange expected, const llvm::StringMap<SymbolicInt> &extents, llvm::StringRef where);

/// Reshapes values to the types that their users expect.
llvm::SmallVector<mlir::Value> reshaped(mlir::RewriterBase &rewriter, mlir::Location loc, mlir::ValueRange values,
                                        mlir::TypeRange types);

} // namespace perpend::graph

#endif
