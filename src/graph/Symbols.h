//===- Symbols.h - the symbols of a model ------------------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_SYMBOLS_H
#define PERPEND_GRAPH_SYMBOLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace perpend::graph {
/// The symbols in the shapes of main's arguments, in the order in which binding meets them, then those that operators of
/// main define (SymbolInterface), in program order. This order is that of every symbols buffer.
std::vector<std::string> symbolsOf(mlir::func::FuncOp main);

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
