//===- ScaleDivision.h - quotients of scaled integers ------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_SCALEDIVISION_H
#define PERPEND_GRAPH_SCALEDIVISION_H

#include "graph/ScaledIntegers.h"

namespace perpend::graph {

/// A map that rounds x / t without the division: the scales and other constants that x is made of are divided instead.
/// Null where that would take another operation for each element, or where x is not made of scaled integers.
MapOp withoutDivision(Builder &builder, MapOp map);
} // namespace perpend::graph

#endif
