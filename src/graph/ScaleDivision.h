//===- ScaleDivision.h - folds a division into scales -----------*- C++ -*-===//

#ifndef PERPEND_GRAPH_SCALEDIVISION_H
#define PERPEND_GRAPH_SCALEDIVISION_H

#include "graph/ScaledIntegers.h"

namespace perpend::graph {

/// Rewrites a map that rounds x / t without the division: the scales and other constants of x are divided by t instead.
/// Null if that would add an operation per element, or if x is not computed from scaled integers.
MapOp withoutDivision(Builder &builder, MapOp map);
} // namespace perpend::graph

#endif
