//===- IntegerOperands.h - operands of integer contractions ------*- C++ -*-===//
//
// Integers in the form that multiply-adds of words want: pairs of i16, or bytes
// of which the left ones are unsigned and the right ones signed. Composites
// subtract zero points before they multiply; bytes are had by undoing that:
//
//   sum of (a - za)(b - zb) = sum of a b - za (sum of b) - zb (sum of (a - za)), modulo 2^32
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_INTEGEROPERANDS_H
#define PERPEND_TILE_PASSES_INTEGEROPERANDS_H

#include "graph/builder/Builder.h"

namespace perpend::tile {

/// A tensor of bytes less a number. `zero` is a scalar of i32, or null for 0.
struct CentredBytes {
  mlir::Value numbers, zero;
};

/// An operand of bytes, or of bytes less a scalar zero point, seen through pads with 0, reshapes and transposes; as ui8
/// or as i8. Nothing where it is something else.
std::optional<CentredBytes> asUnsignedBytes(graph::Builder &builder, mlir::Value operand);
/// Of constants the values count, not how they were computed.
std::optional<CentredBytes> asSignedBytes(graph::Builder &builder, mlir::Value operand);

/// `product` is the sum of lhs[..., m, k] rhs[..., k, n] without regard to zero points: the one with regard to them.
mlir::Value subtractZeros(graph::Builder &builder, mlir::Value product, const CentredBytes &lhs,
                          const CentredBytes &rhs);
/// The same for a convolution with a filter [window..., c, o] that has no zero point.
mlir::Value subtractInputZero(graph::Builder &builder, mlir::Value product, mlir::Value zero, mlir::Value filter);
} // namespace perpend::tile

#endif
