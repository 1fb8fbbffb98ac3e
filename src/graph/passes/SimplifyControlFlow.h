//===- SimplifyControlFlow.h - branches and loops that are known -*- C++ -*-===//

#ifndef PERPEND_GRAPH_PASSES_SIMPLIFYCONTROLFLOW_H
#define PERPEND_GRAPH_PASSES_SIMPLIFYCONTROLFLOW_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace perpend::graph {
/// A branch of a constant condition, and a loop of at most one iteration, take the place of their operator; scan
/// results that nothing uses disappear.
void addControlFlowPatterns(mlir::RewritePatternSet &patterns);

/// Puts the expression in the place of each symbol that is measured from one, and erases what measures a symbol that
/// nothing mentions. Returns whether there was any.
bool resolveMeasures(mlir::func::FuncOp main);

/// Sizes that became known may contradict an operator. In a branch, that leaves the other branch as the only one, for
/// one such operator each time; elsewhere it is an error of the model. Returns whether there was any.
llvm::FailureOr<bool> leaveOutContradictions(mlir::func::FuncOp main);
} // namespace perpend::graph

#endif
