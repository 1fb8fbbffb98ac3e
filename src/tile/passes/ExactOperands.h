//===- ExactOperands.h - operands in the elements of an intrinsic -*- C++ -*-===//
//
// The same numbers as elements of another type, where that loses nothing: wider
// ones hold all narrower ones, and what was made wider is narrow again. Integers may
// be numbers less a zero point, which composites subtract before they multiply:
//
//   sum of (a - za)(b - zb) = sum of a b - za (sum of b) - zb (sum of (a - za)), modulo 2^32
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_EXACTOPERANDS_H
#define PERPEND_TILE_PASSES_EXACTOPERANDS_H

#include "graph/builder/Builder.h"

namespace perpend::tile {

/// A tensor less a number. `zero` is a scalar of i32, or null for 0.
struct CentredNumbers {
  mlir::Value numbers, zero;
};

/// Whether the result has each element of the one operand once, and nothing else. False for null.
bool onlyMoves(mlir::Operation *op);

/// An operand in elements of `type`: seen through pads with 0 and what only moves them, and of constants the values
/// count, not how they were computed. Bytes are ui8 or i8 as is wanted. Nothing where something would be lost.
std::optional<CentredNumbers> asNumbersOf(graph::Builder &builder, mlir::Value operand, mlir::Type type);

/// The type of floats that were extended and then moved; null: they were not.
mlir::Type extendedFloats(mlir::Value operand);

/// `product` is the sum of lhs[..., m, k] rhs[..., k, n] without regard to zero points: the one with regard to them.
mlir::Value subtractZeros(graph::Builder &builder, mlir::Value product, const CentredNumbers &lhs,
                          const CentredNumbers &rhs);
/// The same for a convolution with a filter [window..., c, o] that has no zero point.
mlir::Value subtractInputZero(graph::Builder &builder, mlir::Value product, mlir::Value zero, mlir::Value filter);
} // namespace perpend::tile

#endif
