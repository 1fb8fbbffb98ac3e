//===- Work.h - what an operator's scalar code costs -------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_WORK_H
#define PERPEND_GRAPH_WORK_H

#include "graph/Graph.h"

namespace perpend::graph {

/// Of one operation of scalar code; divisions and functions take longer than an addition does.
double workOf(mlir::Operation &op);

/// Of one element, in units of an addition where vectors are computed: the scalar code in an operator's regions.
double scalarWork(mlir::Operation &op);

/// Of all elements of the result, whose extents are numbers; at least one for each.
double workOfElements(ElementInterface op);

/// What the scalar code of a kernel may cost, unless one operator has more: some twenty functions. Compilers take the
/// square of its length, and as many functions take longer than to store a value and to read it.
inline constexpr double mostKernelWork = 400;
} // namespace perpend::graph

#endif
