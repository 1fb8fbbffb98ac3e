//===- LoopNest.h - loops over several dimensions ---------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_PRIMITIVES_LOOPNEST_H
#define PERPEND_GRAPH_PRIMITIVES_LOOPNEST_H

#include "graph/Graph.h"

namespace perpend::graph {

using NestBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange indices, mlir::Value carried)>;

/// Loops over [0, count) for each count, the last one innermost, with one carried value; `body` returns its next one.
mlir::Value emitNest(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<SymbolicInt> counts,
                     mlir::Value initial, ElementEmitter &emitter, NestBody body);
/// The element of a reduction as one nest of loops over what it combines.
mlir::Value emitReduction(mlir::OpBuilder &builder, mlir::Location loc, ReductionInterface op, mlir::ValueRange index,
                          ElementEmitter &emitter);
} // namespace perpend::graph

#endif
