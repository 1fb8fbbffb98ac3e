//===- Softmax.h - softmax with a further term ------------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_COMPOSITES_SOFTMAX_H
#define PERPEND_GRAPH_COMPOSITES_SOFTMAX_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// e^x / (e^further + sum of e^x along the axis), or its logarithm: a softmax of which one more number takes a share.
/// `further` has an extent of 1 along the axis, and broadcasts to the input along the others; null: there is none.
mlir::Value softmaxWith(Builder &builder, mlir::Value input, int64_t axis, bool isLogarithmic, mlir::Value further);
} // namespace perpend::graph

#endif
