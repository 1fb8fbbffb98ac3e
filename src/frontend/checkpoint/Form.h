//===- Form.h - the form of a decoder ---------------------------*- C++ -*-===//
//
// Everything in which the architectures differ, as data. An architecture fills
// it in from a model's settings (Architecture.h); Decoder builds the graph.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_FORM_H
#define PERPEND_FRONTEND_CHECKPOINT_FORM_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perpend::checkpoint {

/// Rotary position embeddings: pair i turns by position * base^(-2 i / size), changed by a scaling.
struct RotaryForm {
  enum class Scaling { None, Linear, Dynamic, Llama3, Yarn, LongRope };
  Scaling scaling = Scaling::None;
  double base = 10000;
  /// How many elements of a head turn.
  int64_t size = 0;
  double factor = 1;
  /// The longest sequence that the model is for, and the one that it was first trained with.
  int64_t positions = 0, originalPositions = 0;
  /// Factor of cosines and sines.
  double attention = 1;
  /// Factor of the scores of latent attention.
  double scores = 1;
  /// Llama3: wavelengths beyond original / low are scaled in full, those below original / high not at all.
  double lowFactor = 1, highFactor = 4;
  /// Yarn: the same in turns over the original length; truncate rounds the pairs outwards.
  double betaFast = 32, betaSlow = 1;
  bool truncate = true;
  /// Divisors of the frequencies, one for each pair: of short sequences (or all), and of those beyond the original.
  std::vector<double> divisors, longDivisors;
};

/// A mixture of experts: each token goes to those `used` that its router prefers.
struct ExpertsForm {
  /// What becomes of a router's numbers: a softmax over all experts, or the sigmoid of each.
  enum class Gating { Softmax, Sigmoid };
  int64_t count = 0, used = 0, width = 0;
  Gating gating = Gating::Softmax;
  /// Whether shares are divided by their sum; then they are multiplied by the scale.
  bool normalises = true;
  double scale = 1;
  /// What a network of this width computes for all tokens is added; 0: there is none.
  int64_t sharedWidth = 0;
  /// A number for each expert is added to choose, not to its share.
  bool hasChoiceBias = false;
  /// Experts come from the `usedGroups` best of `groups` groups; a group counts as the sum of its `groupBest` best
  /// ones.
  int64_t groups = 1, usedGroups = 1, groupBest = 1;
};

/// Latent attention (MLA): keys and values of all heads are products of one row of a token, the latent, which a cache
/// keeps; beside it, all heads share the rotated part of their keys. In Form, `headSize` is that of both parts of a
/// key.
struct LatentForm {
  /// The size of the latent, and that of the row of which queries are products; 0: queries are products of the input.
  int64_t size = 0, querySize = 0;
  /// The parts of a key.
  int64_t plainSize = 0, rotatedSize = 0;
  /// Of the norms of both rows.
  double epsilon = 1e-6;
  /// Matrices for keys (transposed) and values are apart, [heads, ...], in place of one of both, head by head.
  bool splitsMatrices = false;
};

struct LayerForm {
  /// Keys that a query sees, itself included; all before it without.
  std::optional<int64_t> window;
  /// Index into Form::rotaries; none for learned positions.
  std::optional<size_t> rotary;
  double attentionScale = 1;
  bool hasExperts = false;
};

struct Form {
  enum class Norm { RootMeanSquare, Layer };
  enum class Activation { Silu, GeluTanh, Gelu, Relu };

  int64_t width = 0, innerWidth = 0, heads = 0, keyHeads = 0, headSize = 0, valueSize = 0;
  std::optional<int64_t> vocabulary;
  llvm::SmallVector<LayerForm> layers;
  llvm::SmallVector<RotaryForm, 2> rotaries;
  /// Pairs of rotated elements are neighbours instead of one from each half.
  bool interleavesPairs = false;
  /// Learned positions, so many.
  std::optional<int64_t> positions;

  Norm norm = Norm::RootMeanSquare;
  double epsilon = 1e-6;
  /// Added to the weights of norms.
  double normOffset = 0;
  /// Heads of queries and keys are normalised before they turn.
  bool normalisesHeads = false;
  /// Results of attention and feed-forward networks are normalised before they are added.
  bool normalisesResults = false;

  bool hasProjectionBias = false, hasOutputBias = false, hasInnerBias = false;
  /// One matrix for query, key and value; one for gate and up.
  bool fusesProjections = false, fusesGate = false, hasGate = true;
  /// Matrices are stored [in, out].
  bool transposesMatrices = false;
  Activation activation = Activation::Silu;
  ExpertsForm experts;
  std::optional<LatentForm> latent;

  double embeddingScale = 1, attentionCap = 0, finalCap = 0;
  /// The embedding is the matrix of the logits as well.
  bool isTied = false;
};
} // namespace perpend::checkpoint

#endif
