//===- BatchInvariance.h - results independent of the batch -----*- C++ -*-===//
//
// With --batch-invariant, the bits of each row of a product do not depend on the number of rows of a run, nor on the
// row's position among them. So decoding token by token gives the bits of one run over the whole text, and a server's
// answer does not depend on the other requests in its batch. To that end, intrinsics compute each element of a
// floating-point product as a single chain of multiply-adds along the contracted dimension (with grouped weights, one
// chain per group), and other sums have a fixed order (tile/flatten/OrderedSums.cpp). Optimisations that split a
// chain, or choose another order for few rows, are off.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_BATCHINVARIANCE_H
#define PERPEND_GRAPH_BATCHINVARIANCE_H

#include <cstdint>

namespace mlir {
class Operation;
} // namespace mlir

namespace perpend::graph {

/// In a marked kernel, element k of a sum of floats that is no product is added to lane k mod 16, on all machines
/// (tile/flatten/OrderedSums.cpp). A multiple of so many zeros in front of the others does not change a sum's bits.
constexpr int64_t orderedLanes = 16;

/// Marks a module or a kernel.
void setBatchInvariant(mlir::Operation *op);
/// Whether the operation, or one around it, is marked.
bool isBatchInvariant(mlir::Operation *op);
} // namespace perpend::graph

#endif
