//===- SimplifyControlFlow.h - resolves known branches and loops -*- C++ -*-===//

#ifndef PERPEND_GRAPH_PASSES_SIMPLIFYCONTROLFLOW_H
#define PERPEND_GRAPH_PASSES_SIMPLIFYCONTROLFLOW_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace perpend::graph {
/// Patterns that inline the branch of a constant condition and loops of at most one iteration, and remove unused scan
/// results.
void addControlFlowPatterns(mlir::RewritePatternSet &patterns);

/// Substitutes the expression for each symbol that is measured from one, and erases measures of unused symbols. Returns
/// whether anything changed.
bool resolveMeasures(mlir::func::FuncOp main);

/// Sizes that became known may contradict an operator. In a branch, that leaves the other branch as the only one, for
/// one such operator each time; elsewhere it is an error of the model. Returns whether there was any.
llvm::FailureOr<bool> leaveOutContradictions(mlir::func::FuncOp main);
} // namespace perpend::graph

#endif
