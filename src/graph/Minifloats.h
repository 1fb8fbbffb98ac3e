//===- Minifloats.h - floats of at most 8 bits ------------------*- C++ -*-===//
//
// f32 represents every value of these formats, so conversions to f32 are exact and those from f32 round once. Other
// types are converted through f32; f64 is first rounded to odd, so that the second rounding gives what one would have
// given (formats of scales, e8m0, need no such step).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_MINIFLOATS_H
#define PERPEND_GRAPH_MINIFLOATS_H

#include "graph/Graph.h"

namespace perpend::graph {

/// Positions of a format's fields. Codes are bits without the sign.
struct MinifloatLayout {
  unsigned exponentBits, mantissaBits;
  int bias;
  /// Codes of the largest finite number, a NaN and infinity; 0 if there is none.
  unsigned largest, nan = 0, infinity = 0;
  /// There is no -0: its bits encode NaN.
  bool hasUnsignedZero = false;

  bool isScale() const { return mantissaBits == 0; } ///< e8m0: powers of two, without a sign or 0
  unsigned bits() const { return exponentBits + mantissaBits + !isScale(); }
};
MinifloatLayout layoutOf(MinifloatType type);

/// Rounding of conversions to a minifloat. The direction applies to e8m0 only; others round to nearest, ties to even.
struct MinifloatRounding {
  enum Direction { Nearest, Up, Down };
  /// Numbers beyond the range, infinities included, become the largest number; otherwise infinity or, if there is none,
  /// NaN.
  bool saturates = true;
  Direction direction = Up;
};

/// Converts an element's bits (i8) to f32.
mlir::Value decodeMinifloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits, MinifloatType type);
/// Converts an f32 to an element's bits (i8).
mlir::Value encodeMinifloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number, MinifloatType type,
                            MinifloatRounding rounding);
} // namespace perpend::graph

#endif
