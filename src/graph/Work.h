//===- Work.h - cost of scalar code --------------------------------*- C++ -* ---===//

#ifndef PERPEND_GRAPH_WORK_H
#define PERPEND_GRAPH_WORK_H

#include "mlir/IR/Operation.h"

namespace perpend::graph {

/// Cost of one operation of scalar code; divisions and functions cost more than an addition.
double workOf(mlir::Operation &op);

/// Cost of the scalar code in an operator's regions for one element, in units of an addition in vector code.
double scalarWork(mlir::Operation &op);
} // namespace perpend::graph

#endif
