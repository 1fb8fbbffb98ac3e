//===- Beams.h - the best of several continuations --------------*- C++ -*-===//
//
// Beam search, for any decoder. Of each sequence, the `beams` best
// continuations go on at a time. Those that end become hypotheses, of which the
// best are kept, by their score: the sum of the logarithms of the probabilities,
// divided by length ^ length_penalty.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_BEAMS_H
#define PERPEND_GRAPH_COMPOSITES_BEAMS_H

#include "graph/composites/Words.h"

namespace perpend::graph {
/// The sizes of a search, and its rules.
struct Beams {
  SymbolicInt batch, beams, returned;
  /// What rows are: the beams of the first sequence, then those of the next. Tokens there are at first, and at most.
  SymbolicInt rows, prompt, longest;
  /// One float.
  mlir::Value lengthPenalty;
  WordRules rules;
  /// How many words the logits are of; 0 or less: all.
  int64_t vocabulary;
  bool endsEarly, wantsScores;
  /// Which dimension of a cache has the rows.
  int64_t rowAxis;
};

/// What the decoder gave for the prompts.
struct Prompts {
  /// Integers [batch, longest], with padding behind the prompts.
  mlir::Value tokens;
  /// [batch, length, words]
  mlir::Value logits;
  /// With `batch` in the place of the rows.
  llvm::SmallVector<mlir::Value> caches;
};

/// What the decoder gets for a step behind the prompts.
struct Continuation {
  /// Integers [rows, longest] and [rows]; the number of the step.
  mlir::Value tokens, last, number;
  llvm::SmallVector<mlir::Value> caches;
};
/// Logits [rows, length, words] and caches. Errors: nullopt.
using Decoding = llvm::function_ref<std::optional<Results>(const Continuation &)>;

/// Each element along the axis `count` times.
mlir::Value repeated(Builder &builder, mlir::Value x, int64_t axis, const SymbolicInt &count);
/// [batch, returned, longest], with padding in the place of the end and behind; their scores [batch, returned]; when
/// wanted, the scores of words at each step, [longest - prompt, batch, beams, words], 0 behind the last step. Source:
/// BeamSearch of ONNX Runtime.
Results searchBeams(Builder &builder, const Beams &search, const Prompts &prompts, Decoding decoding);
} // namespace perpend::graph

#endif
