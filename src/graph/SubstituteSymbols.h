//===- SubstituteSymbols.h - substitutes expressions for symbols -*- C++ -*-===//

#ifndef PERPEND_GRAPH_SUBSTITUTESYMBOLS_H
#define PERPEND_GRAPH_SUBSTITUTESYMBOLS_H

#include "graph/Graph.h"

#include "mlir/IR/AttrTypeSubElements.h"

namespace perpend::graph {

/// Replaces symbols in the types and attributes of every operator and block argument of a region.
void substituteSymbols(mlir::Region &region, const llvm::StringMap<SymbolicInt> &replacements);

/// The same for types and attributes; `replacements` must outlive the replacer.
void addSymbolReplacements(mlir::AttrTypeReplacer &replacer, const llvm::StringMap<SymbolicInt> &replacements);
/// The text of an expression with symbols replaced.
std::string substituted(llvm::StringRef expression, const llvm::StringMap<SymbolicInt> &replacements);

/// Calls `visit` with the expressions in each type and attribute of an operator and of all operators in its regions.
void forEachExpression(mlir::Operation *op, llvm::function_ref<void(llvm::ArrayRef<SymbolicInt>)> visit);

/// Collects the symbols in the types and attributes of all operators in a region (or of an operator and those in its
/// regions), except where they are defined.
void collectSymbols(mlir::Region &region, std::set<std::string> &names);
void collectSymbols(mlir::Operation *op, std::set<std::string> &names);
} // namespace perpend::graph

#endif
