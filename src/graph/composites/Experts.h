//===- Experts.h - mixtures of experts --------------------------*- C++ -*-===//
//
// A router selects the k best experts for each token. A loop over the experts that some token goes to gathers each
// one's tokens, so an expert computes only these, and the weights of other experts are not read
// (docs/decisions/0076).
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

/// `scores` [tokens, experts], of which those outside the `used` best of so many `groups` of neighbours become
/// -infinity. A group counts as the sum of its `best` largest scores.
mlir::Value limitToGroups(Builder &builder, mlir::Value scores, int64_t groups, int64_t used, int64_t best);

/// What belongs to one expert of [experts, ...]; null for null.
mlir::Value ofExpert(Builder &builder, mlir::Value all, const SymbolicInt &expert);

/// The network of an expert, applied to rows.
using ApplyExpert = llvm::function_ref<mlir::Value(mlir::Value rows, const SymbolicInt &expert)>;
/// The results [tokens, width] of all experts, weighted by their shares.
mlir::Value mixExperts(Builder &builder, mlir::Value tokens, const ExpertRoutes &routes, const SymbolicInt &count,
                       ApplyExpert apply);
} // namespace perpend::graph

#endif
