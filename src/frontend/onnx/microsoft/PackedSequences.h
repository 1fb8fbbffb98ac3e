//===- PackedSequences.h - sequences one behind the other -------*- C++ -*-===//
//
// A batch of sequences of different lengths is stored as [batch, length, ..]
// with padding at the end of each, or as the tokens alone, [tokens, ..].
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MICROSOFT_PACKEDSEQUENCES_H
#define PERPEND_FRONTEND_ONNX_MICROSOFT_PACKEDSEQUENCES_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {
struct PackedSequences {
  SymbolicInt count, longest;
  /// Integers [count].
  Value lengths;
  /// Where each token is in [count, longest], row-major: integers [tokens].
  Value places;
};

/// From where each sequence begins and the last one ends: integers [count + 1], from 0 to the number of tokens, which a
/// run checks. Errors: nullopt.
std::optional<PackedSequences> packedSequences(Builder &b, Value bounds, const SymbolicInt &tokens, StringRef name);

/// [tokens, ..] as [batch, length, ..], with zeros for padding.
Value withPadding(Builder &b, Value tokens, Value places, const SymbolicInt &batch, const SymbolicInt &length);
/// Elements `places` of [batch, length, ..] as [tokens, ..].
Value withoutPadding(Builder &b, Value padded, Value places);
} // namespace perpend::onnx

#endif
