//===- Updates.h - blocks written into a tensor -----------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_UPDATES_H
#define PERPEND_GRAPH_UPDATES_H

#include "graph/Graph.h"

#include <optional>

namespace perpend::graph {
/// An operand that becomes a part of the result: the elements along one dimension from `offset` on.
struct UpdatedBlock {
  unsigned operand;
  SymbolicInt offset;
};

/// The operator on values of these shapes. A block that begins at the end of the input makes it longer; one that is all
/// of the result is the result. Errors: null, reported by the builder.
mlir::Value update(Builder &builder, mlir::Value input, mlir::Value block, const SymbolicInt &offset, int64_t axis);

/// Concatenations and scatters are updates, too.
void attachUpdates(mlir::MLIRContext *context);
} // namespace perpend::graph

#include "graph/GraphUpdateInterface.h.inc"
#define GET_OP_CLASSES
#include "graph/GraphUpdates.h.inc"

#endif
