//===- Experts.h - mixtures of experts --------------------------*- C++ -*-===//
//
// A router selects the k best experts for each token. A loop over the experts gathers each expert's tokens, so an
// expert computes only the tokens routed to it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_EXPERTS_H
#define PERPEND_GRAPH_COMPOSITES_EXPERTS_H

#include "graph/composites/Composites.h"

namespace perpend::graph {

/// For each token its experts and their shares: [tokens, k].
struct ExpertRoutes {
  mlir::Value experts, shares;
};

/// `scores` [tokens, experts] select the best k; `weights`, or otherwise softmax of the scores, give each expert's
/// share, in `type`. `normalises`: shares are divided by their sum.
ExpertRoutes chooseExperts(Builder &builder, mlir::Value scores, mlir::Value weights, const SymbolicInt &k,
                           bool normalises, mlir::Type type);

/// The network of an expert (an integer), applied to rows.
using ApplyExpert = llvm::function_ref<mlir::Value(mlir::Value rows, mlir::Value expert)>;
/// The results [tokens, width] of all experts, weighted by their shares.
mlir::Value mixExperts(Builder &builder, mlir::Value tokens, const ExpertRoutes &routes, const SymbolicInt &count,
                       ApplyExpert apply);
} // namespace perpend::graph

#endif
