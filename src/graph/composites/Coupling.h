//===- Coupling.h - class probabilities from pairwise ones ------*- C++ -*-===//

#ifndef PERPEND_GRAPH_COMPOSITES_COUPLING_H
#define PERPEND_GRAPH_COMPOSITES_COUPLING_H

#include "graph/builder/Builder.h"

namespace perpend::graph {
/// Probabilities [n, classes] from those of pairs (0, 1), (0, 2), .., (1, 2), .. [n, pairs]: the entry (i, j) is the
/// probability of class i given i or j. Uses the second method of Wu, Lin and Weng (2004), "Probability estimates for
/// multi-class classification by pairwise coupling": the p of sum 1 that minimises the sum over i, j of (r_ji p_i -
/// r_ij p_j)^2, by their iteration. It ends after 100 steps, or when the optimality condition holds up to 0.005 /
/// classes.
mlir::Value coupledProbabilities(Builder &builder, mlir::Value duels, int64_t classes);
} // namespace perpend::graph

#endif
