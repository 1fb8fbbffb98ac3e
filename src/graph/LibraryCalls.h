//===- LibraryCalls.h - operators that library functions compute -*- C++ -*-===//

#ifndef PERPEND_GRAPH_LIBRARYCALLS_H
#define PERPEND_GRAPH_LIBRARYCALLS_H

#include "graph/Graph.h"

#include "graph/GraphLibraryInterface.h.inc"

namespace perpend::graph {
/// Implements LibraryInterface for operators.
void attachLibraryCalls(mlir::MLIRContext *context);
} // namespace perpend::graph

#endif
