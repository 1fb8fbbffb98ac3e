//===- Coupling.h - probabilities of classes from those of pairs -*- C++ -*-===//

#ifndef PERPEND_GRAPH_COMPOSITES_COUPLING_H
#define PERPEND_GRAPH_COMPOSITES_COUPLING_H

#include "graph/builder/Builder.h"

namespace perpend::graph {
/// Probabilities [n, classes] from those of the duels (0, 1), (0, 2), .., (1, 2), .. [n, duels]: duels[., (i, j)] is
/// the probability of i when it is i or j. The second method of Wu, Lin and Weng (2004), "Probability estimates for
/// multi-class classification by pairwise coupling": the p of sum 1 for which sum over i, j of (r_ji p_i - r_ij p_j)^2
/// is least, by their iteration, which ends after 100 steps or where the condition for the least holds up to
/// 0.005 / classes.
mlir::Value coupledProbabilities(Builder &builder, mlir::Value duels, int64_t classes);
} // namespace perpend::graph

#endif
