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
  int64_t count = 0, used = 0, width = 0;
  /// Whether shares are divided by their sum.
  bool normalises = true;
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

  double embeddingScale = 1, attentionCap = 0, finalCap = 0;
  /// The embedding is the matrix of the logits as well.
  bool isTied = false;
};
} // namespace perpend::checkpoint

#endif
