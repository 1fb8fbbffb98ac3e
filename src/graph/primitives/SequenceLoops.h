//===- SequenceLoops.h - code of results made in sequence ------*- C++ -*-===//
//
// Internal to Sequences.cpp and Sorting.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_PRIMITIVES_SEQUENCELOOPS_H
#define PERPEND_GRAPH_PRIMITIVES_SEQUENCELOOPS_H

#include "graph/Graph.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace perpend::graph {
inline mlir::Value indexConstant(SequenceEmitter &emitter, mlir::OpBuilder &builder, mlir::Location loc,
                                 int64_t value) {
  return emitter.elements.extent(builder, loc, SymbolicInt(value));
}

/// for (i = from; i < to; i += step), without a carried value.
inline void forEach(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from, mlir::Value to, mlir::Value step,
                    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body) {
  auto loop = builder.create<mlir::scf::ForOp>(loc, from, to, step);
  mlir::OpBuilder inner = mlir::OpBuilder::atBlockBegin(loop.getBody());
  body(inner, loop.getInductionVar());
}

inline llvm::SmallVector<mlir::Value> concat(mlir::ValueRange first, mlir::ValueRange second) {
  llvm::SmallVector<mlir::Value> index(first);
  llvm::append_range(index, second);
  return index;
}
} // namespace perpend::graph

#endif
