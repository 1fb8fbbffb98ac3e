//===- ExactOperands.h - exact conversions of operands ----------*- C++ -*-===//
//
// Converts operands to another element type without loss: narrow types to wider ones, and
// widened values back. Integers may have a zero point, which composites subtract before they
// multiply:
//
//   sum of (a - za)(b - zb) = sum of a b - za (sum of b) - zb (sum of (a - za)), modulo 2^32
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PACKING_EXACTOPERANDS_H
#define PERPEND_TILE_PACKING_EXACTOPERANDS_H

#include "graph/builder/Builder.h"

namespace perpend::tile {

/// The tensor's numbers minus `zero`, a scalar of i32 or null for 0.
struct CentredNumbers {
  mlir::Value numbers, zero;
};

/// Whether the result consists of exactly the operand's elements, each once. False for null.
bool onlyMoves(mlir::Operation *op);

/// The operand with elements of `type`, or nothing if that would lose information. Looks through pads with 0 and
/// operators that only move elements; for constants only the values matter. Bytes can become ui8 or i8.
std::optional<CentredNumbers> asNumbersOf(graph::Builder &builder, mlir::Value operand, mlir::Type type);

/// The type of the bytes of which an operand consists, less a zero point, before it was moved or padded; null: it may
/// be computed otherwise.
mlir::Type bytesBehind(mlir::Value operand);

/// x + 128 as ui8, for x of i8.
mlir::Value unsignedBytes(graph::Builder &builder, mlir::Value bytes);

/// The tensor of i8 of which the operand's elements are the values as floats, moved as it is; null: there is none.
mlir::Value bytesBehindFloats(graph::Builder &builder, mlir::Value operand);

/// Rows of i8 [m, groups, size], and one scale for each row and group, [m, groups]; or rows [m, k] and null.
struct ScaledBytes {
  mlir::Value numbers, scales;
};
/// The bytes of which the operand [m, k] has the values as floats, times the scales of groups of this size; the inverse
/// is scaleBytes(). Null: there are none.
ScaledBytes bytesBehindScales(mlir::Value operand, int64_t groupSize);
/// The numbers [m, groups, size] as floats times scales [m, groups], as [m, groups * size].
mlir::Value scaleBytes(graph::Builder &builder, mlir::Value numbers, mlir::Value scales);

/// What a map extends to wider floats, if it does nothing else; null: it does not.
mlir::Value extendedBy(mlir::Operation *op);

/// The least and the greatest number of a constant of integers of 8 or 16 bits; nullopt: it is none.
std::optional<std::pair<int64_t, int64_t>> rangeOfConstant(mlir::Value tensor, bool isUnsigned);

/// The type of floats that were extended and then moved; null: they were not.
mlir::Type extendedFloats(mlir::Value operand);

/// `product` is the sum of lhs[..., m, k] rhs[..., k, n] without regard to zero points: the one with regard to them.
mlir::Value subtractZeros(graph::Builder &builder, mlir::Value product, const CentredNumbers &lhs,
                          const CentredNumbers &rhs);
/// The same for a convolution whose filter [window..., c, o] has no zero point.
mlir::Value subtractInputZero(graph::Builder &builder, mlir::Value product, mlir::Value zero, mlir::Value filter);
} // namespace perpend::tile

#endif
