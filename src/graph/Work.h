//===- Work.h - cost of scalar code -----------------------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_WORK_H
#define PERPEND_GRAPH_WORK_H

#include "graph/Graph.h"

namespace perpend::graph {

/// Cost of one operation of scalar code; divisions and functions cost more than an addition.
double workOf(mlir::Operation &op);

/// Cost of the scalar code in an operator's regions for one element, in units of an addition in vector code.
double scalarWork(mlir::Operation &op);

/// Of all elements of the result, whose extents are numbers; at least one for each.
double workOfElements(ElementInterface op);

/// The number of elements, where each symbol is a medium number.
double estimatedElements(mlir::Value tensor);

/// What the scalar code of a kernel may cost, unless one operator has more: some twenty functions. Compilers take the
/// square of its length, and as many functions take longer than to store a value and to read it.
inline constexpr double mostKernelWork = 400;
} // namespace perpend::graph

#endif
