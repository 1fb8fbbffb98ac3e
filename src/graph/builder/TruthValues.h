//===- TruthValues.h - reductions of truth values ---------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_BUILDER_TRUTHVALUES_H
#define PERPEND_GRAPH_BUILDER_TRUTHVALUES_H

#include "graph/Graph.h"

namespace perpend::graph {

/// The primitive for a reduction of elements of a type: of truth values, a sum is true where one of them is, and a
/// product where all are.
inline ReductionKind primitiveKind(ReductionKind kind, mlir::Type elementType) {
  if (!elementType.isInteger(1))
    return kind;
  return kind == ReductionKind::Sum ? ReductionKind::Max : kind == ReductionKind::Product ? ReductionKind::Min : kind;
}
} // namespace perpend::graph

#endif
