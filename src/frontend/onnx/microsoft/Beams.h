//===- Beams.h - the best of several continuations --------------*- C++ -*-===//
//
// The search of BeamSearch, for any decoder. Of each sequence, the `beams` best
// continuations go on at a time. Those that end become hypotheses, of which the
// best are kept, by their score: the sum of the logarithms of the probabilities,
// divided by length ^ length_penalty.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MICROSOFT_BEAMS_H
#define PERPEND_FRONTEND_ONNX_MICROSOFT_BEAMS_H

#include "frontend/onnx/microsoft/Generation.h"

namespace perpend::onnx {
/// The sizes of a search, and its rules.
struct Beams {
  SymbolicInt batch, beams, returned;
  /// What rows are: the beams of the first sequence, then those of the next. Tokens there are at first, and at most.
  SymbolicInt rows, prompt, longest;
  /// One float.
  Value lengthPenalty;
  ScoreRules rules;
  bool endsEarly, wantsScores;
  /// Which dimension of a cache has the rows.
  int64_t rowAxis;
};

/// What the decoder gave for the prompts.
struct Prompts {
  /// Integers [batch, longest], with padding behind the prompts.
  Value tokens;
  /// [batch, length, words]
  Value logits;
  /// With `batch` in the place of the rows.
  llvm::SmallVector<Value> caches;
};

/// What the decoder gets for a step behind the prompts.
struct Continuation {
  /// Integers [rows, longest] and [rows]; the number of the step.
  Value tokens, last, number;
  llvm::SmallVector<Value> caches;
};
/// Logits [rows, length, words] and caches. Errors: nullopt.
using Decoding = llvm::function_ref<std::optional<Results>(const Continuation &)>;

/// Each element along the axis `count` times.
Value repeated(Builder &b, Value x, int64_t axis, const SymbolicInt &count);
/// The inputs and attributes of a node as BeamSearch has them. Errors: nullopt.
std::optional<Beams> readBeams(Node &node, const Search &prompts, int64_t rowAxis);
/// [batch, returned, longest], with padding in the place of the end and behind; their scores [batch, returned]; when
/// wanted, the scores of words at each step, [longest - prompt, batch, beams, words], 0 behind the last step.
Results searchBeams(Node &node, const Beams &search, const Prompts &prompts, Decoding decoding);
} // namespace perpend::onnx

#endif
