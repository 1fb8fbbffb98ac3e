//===- Symbols.h - the symbols of a model ------------------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_SYMBOLS_H
#define PERPEND_GRAPH_SYMBOLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace perpend::graph {
/// The symbols in the shapes of main's arguments, in the order in which binding meets them. This order is that of every
/// symbols buffer.
std::vector<std::string> symbolsOf(mlir::func::FuncOp main);
} // namespace perpend::graph

#endif
