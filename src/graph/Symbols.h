//===- Symbols.h - the symbols of a model ------------------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_SYMBOLS_H
#define PERPEND_GRAPH_SYMBOLS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::graph {
/// The symbols in the shapes of main's arguments, in the order in which binding meets them, then those that operators
/// of main define (SymbolInterface), in program order. This order is that of every symbols buffer.
std::vector<std::string> symbolsOf(mlir::func::FuncOp main);

/// Those of them that operators define: values known during a run only.
std::vector<std::string> dataSymbolsOf(mlir::func::FuncOp main);

/// Those that operators in a region define: values known inside it only, or others in each iteration.
llvm::SmallVector<mlir::StringAttr> symbolsDefinedIn(mlir::Region &region);

/// Whether an expression mentions one of `symbols`.
bool mentionsAny(llvm::ArrayRef<SymbolicInt> values, llvm::ArrayRef<std::string> symbols);
bool mentionsAny(llvm::ArrayRef<SymbolicInt> values, llvm::ArrayRef<mlir::StringAttr> symbols);

/// The symbols that the types and attributes of an operator mention, and those in the bodies of map and generate.
std::set<std::string> symbolsUsedBy(mlir::Operation *op);

/// Whether main and its regions define every symbol once, and before a type, an attribute or a kernel mentions it. What
/// a region defines is not known behind it. All that turns symbols into code relies on this. Errors: a diagnostic at
/// the operator.
mlir::LogicalResult checkSymbolOrder(mlir::func::FuncOp main);

/// (factor, offset), factor >= 1, where the expression is factor * symbol + offset.
std::optional<std::pair<int64_t, int64_t>> linearIn(const SymbolicInt &extent, llvm::StringRef symbol);

/// The dimension of an input that a symbol is read from: extent = factor * symbol + offset, factor >= 1.
struct SymbolSource {
  unsigned input, dim;
  int64_t factor, offset;
};

/// Where each symbol comes from: a dimension that is the symbol alone, else the first that is linear in it and has no
/// other symbol; nullopt when there is none (an operator defines it, or nothing does).
std::vector<std::optional<SymbolSource>> symbolSourcesOf(mlir::func::FuncOp main);
} // namespace perpend::graph

#endif
