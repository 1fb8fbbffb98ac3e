//===- PackedSequences.h - concatenated sequences ---------------*- C++ -*-===//
//
// A batch of sequences of different lengths is stored as [batch, length, ..]
// with padding at each end, or as the tokens alone, [tokens, ..].
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
  /// The row-major position of each token in [count, longest]: integers [tokens].
  Value places;
};

/// From the starts of all sequences and the end of the last one: integers [count + 1], from 0 to the number of tokens,
/// checked at run time. Errors: nullopt.
std::optional<PackedSequences> packedSequences(Builder &b, Value bounds, const SymbolicInt &tokens, StringRef name);

/// Converts [tokens, ..] to [batch, length, ..], padded with zeros.
Value withPadding(Builder &b, Value tokens, Value places, const SymbolicInt &batch, const SymbolicInt &length);
/// Gathers the elements `places` of [batch, length, ..] as [tokens, ..].
Value withoutPadding(Builder &b, Value padded, Value places);
} // namespace perpend::onnx

#endif
