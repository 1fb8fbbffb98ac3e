//===- Nests.h - operators that maps and reductions compute -----*- C++ -*-===//

#ifndef PERPEND_GRAPH_NESTS_H
#define PERPEND_GRAPH_NESTS_H

#include "graph/Graph.h"

#include "mlir/IR/PatternMatch.h"

#include "graph/GraphNestInterface.h.inc"

namespace perpend::graph {
/// Implements NestInterface for operators.
void attachNests(mlir::MLIRContext *context);
void attachControlFlowNests(mlir::MLIRContext *context);
} // namespace perpend::graph

#endif
