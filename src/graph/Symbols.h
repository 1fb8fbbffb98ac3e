//===- Symbols.h - the symbols of a model -----------------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_SYMBOLS_H
#define PERPEND_GRAPH_SYMBOLS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::graph {
/// The symbols in the shapes of main's arguments, in the order in which binding meets them, then those that operators
/// of main define (SymbolInterface), in program order. Every symbols buffer has this order.
std::vector<std::string> symbolsOf(mlir::func::FuncOp main);

/// The symbols that operators define; their values are known only during a run.
std::vector<std::string> dataSymbolsOf(mlir::func::FuncOp main);

/// The symbols that operators in a region define: known inside the region only, and possibly different in each
/// iteration.
llvm::SmallVector<mlir::StringAttr> symbolsDefinedIn(mlir::Region &region);

/// Whether an expression contains one of `symbols`.
bool mentionsAny(llvm::ArrayRef<SymbolicInt> values, llvm::ArrayRef<std::string> symbols);
bool mentionsAny(llvm::ArrayRef<SymbolicInt> values, llvm::ArrayRef<mlir::StringAttr> symbols);

/// The symbols in the types and attributes of an operator and of the bodies of map and generate.
std::set<std::string> symbolsUsedBy(mlir::Operation *op);

/// Checks that main and its regions define every symbol once, before a type, attribute or kernel uses it, and that
/// symbols defined in a region are not used after it. Generating code for symbols relies on this. Errors: a diagnostic
/// at the operator.
mlir::LogicalResult checkSymbolOrder(mlir::func::FuncOp main);

/// (factor, offset) with factor >= 1, if the expression is factor * symbol + offset.
std::optional<std::pair<int64_t, int64_t>> linearIn(const SymbolicInt &extent, llvm::StringRef symbol);

/// The dimension of an input from which a symbol is computed: extent = factor * symbol + offset, factor >= 1.
struct SymbolSource {
  unsigned input, dim;
  int64_t factor, offset;
};

/// The source of each symbol: a dimension that is the symbol alone, otherwise the first that is linear in it and has no
/// other symbol; nullopt if there is none (an operator defines it, or nothing does).
std::vector<std::optional<SymbolSource>> symbolSourcesOf(mlir::func::FuncOp main);
} // namespace perpend::graph

#endif
