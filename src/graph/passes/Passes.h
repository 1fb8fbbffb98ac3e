//===- Passes.h - the passes of the graph level -----------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_PASSES_PASSES_H
#define PERPEND_GRAPH_PASSES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace perpend::graph {
/// Limit of rewrites per operator that no pass reaches while it makes progress.
inline int64_t mostRewrites(mlir::Operation *root) {
  int64_t operators = 0;
  root->walk([&](mlir::Operation *) { ++operators; });
  return 100 * (operators + 10);
}

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

#endif
