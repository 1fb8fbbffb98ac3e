//===- DimensionFlow.h - which dimensions an operator keeps -----*- C++ -*-===//

#ifndef PERPEND_GRAPH_DIMENSIONFLOW_H
#define PERPEND_GRAPH_DIMENSIONFLOW_H

#include "graph/Graph.h"

namespace perpend::graph {
/// The dimension of the (single) result that follows dimension `dim` of an operand: element i of the result along it
/// depends on no elements of the operand but those with index i along `dim`. Where the operand is the same for every i,
/// and all operands with a dimension that the result's follows are, the result is, too.
/// nullopt: there is none, or the operator is not one for which it is known.
std::optional<unsigned> followingDim(mlir::OpOperand &operand, unsigned dim);

/// Whether followingDim() knows the operator.
bool hasDimensionFlow(mlir::Operation *op);
} // namespace perpend::graph

#endif
