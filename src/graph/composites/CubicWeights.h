//===- CubicWeights.h - weights of cubic convolution ------------*- C++ -*-===//
//
// In factors, so that weights that are nearly 0 keep their digits: the
// differences in them are exact, or close to it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_CUBICWEIGHTS_H
#define PERPEND_GRAPH_COMPOSITES_CUBICWEIGHTS_H

#include "graph/ScalarMath.h"

namespace perpend::graph {

/// The weight of an element at a distance of 0 to 1, with coefficient a: (a + 2) x^3 - (a + 3) x^2 + 1.
inline Scalar nearCubicWeight(Scalar x, double a) { return (1.0 - x) * (1.0 + x - (a + 2) * x * x); }

/// The weight of an element at a distance of 1 to 2: a x^3 - 5 a x^2 + 8 a x - 4 a.
inline Scalar farCubicWeight(Scalar x, double a) { return (1.0 - x) * -a * (2.0 - x) * (2.0 - x); }
} // namespace perpend::graph

#endif
