//===- BatchInvariance.h - results that do not depend on the batch -*- C++ -*-===//
//
// A batch-invariant artifact (--batch-invariant) computes each row of a product with the same operations in the same
// order, however many rows a run has and whichever of them it is. So one token after the other gives the bits that a
// whole text gives, and a client's answer does not depend on who else is served. Each element of a product is then one
// chain of multiply-adds along the depth: what usually shortens the chain where a block has few rows is left out.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_BATCHINVARIANCE_H
#define PERPEND_GRAPH_BATCHINVARIANCE_H

namespace mlir {
class Operation;
} // namespace mlir

namespace perpend::graph {

/// Marks a module or a kernel.
void setBatchInvariant(mlir::Operation *op);
/// Whether the operation, or one around it, is marked.
bool isBatchInvariant(mlir::Operation *op);
} // namespace perpend::graph

#endif
