//===- Passes.h - the passes of the graph level -----------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_PASSES_PASSES_H
#define PERPEND_GRAPH_PASSES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace perpend::graph {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

#endif
