//===- Minifloats.h - floats of at most 8 bits ------------------*- C++ -*-===//
//
// Every value of these formats is an f32, so a conversion to f32 is exact and one
// from f32 rounds once. Other types go through f32 (f64 rounded to odd first).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_MINIFLOATS_H
#define PERPEND_GRAPH_MINIFLOATS_H

#include "graph/Graph.h"

namespace perpend::graph {

/// Where the fields of a format are. Codes are bits without the sign.
struct MinifloatLayout {
  unsigned exponentBits, mantissaBits;
  int bias;
  /// The code of the largest finite number, of a NaN and of infinity; 0 where there is none.
  unsigned largest, nan = 0, infinity = 0;
  /// No -0: its bits are the NaN.
  bool hasUnsignedZero = false;

  bool isScale() const { return mantissaBits == 0; } ///< e8m0: powers of two, without a sign or 0
  unsigned bits() const { return exponentBits + mantissaBits + !isScale(); }
};
MinifloatLayout layoutOf(MinifloatType type);

/// How a number becomes a minifloat. The direction is of e8m0 alone, the others round to nearest, ties to even.
struct MinifloatRounding {
  enum Direction { Nearest, Up, Down };
  /// Numbers outside the range, infinities too, become the largest number; otherwise infinity, else NaN.
  bool saturates = true;
  Direction direction = Up;
};

/// The f32 of the bits (i8) of an element.
mlir::Value decodeMinifloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits, MinifloatType type);
/// The bits (i8) of an f32.
mlir::Value encodeMinifloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number, MinifloatType type,
                            MinifloatRounding rounding);
} // namespace perpend::graph

#endif
