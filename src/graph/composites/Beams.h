//===- Beams.h - beam search ------------------------------------*- C++ -*-===//
//
// Beam search for any decoder. In each step, each sequence of the batch has 2 * `beams` candidates, which are its best
// continuations. Those among the first `beams` that end with the end token become hypotheses; the best `beams` of the
// others continue. A sequence keeps its `beams` best hypotheses. Their score is the sum of the logarithms of the
// probabilities, divided by length ^ length_penalty.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_BEAMS_H
#define PERPEND_GRAPH_COMPOSITES_BEAMS_H

#include "graph/composites/Words.h"

namespace perpend::graph {
/// The parameters of a search, and its rules.
struct Beams {
  SymbolicInt batch, beams, returned;
  /// The rows are the beams of the first sequence, then those of the next; the numbers of tokens at first and at most.
  SymbolicInt rows, prompt, longest;
  /// A scalar float.
  mlir::Value lengthPenalty;
  WordRules rules;
  /// Number of words in the logits; 0 or less: all of them.
  int64_t vocabulary;
  bool endsEarly, wantsScores;
  /// The dimension of a cache that indexes rows.
  int64_t rowAxis;
};

/// The decoder's results for the prompts.
struct Prompts {
  /// Integers [batch, longest], with padding after the prompts.
  mlir::Value tokens;
  /// [batch, length, words]
  mlir::Value logits;
  /// With `batch` instead of the rows.
  llvm::SmallVector<mlir::Value> caches;
};

/// The decoder's inputs for a step after the prompts.
struct Continuation {
  /// Integers [rows, longest] and [rows]; the number of the step.
  mlir::Value tokens, last, number;
  llvm::SmallVector<mlir::Value> caches;
};
/// Returns logits [rows, length, words], then caches; nullopt after an error.
using Decoding = llvm::function_ref<std::optional<Results>(const Continuation &)>;

/// Repeats each element along the axis `count` times.
mlir::Value repeated(Builder &builder, mlir::Value x, int64_t axis, const SymbolicInt &count);
/// Results: tokens [batch, returned, longest], with padding from the end token on; their scores [batch, returned]; if
/// wanted, the scores of words at each step, [longest - prompt, batch, beams, words], 0 after the last step. Source:
/// BeamSearch of ONNX Runtime.
Results searchBeams(Builder &builder, const Beams &search, const Prompts &prompts, Decoding decoding);
} // namespace perpend::graph

#endif
