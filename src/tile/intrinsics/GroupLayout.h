//===- GroupLayout.h - products with numbers in groups ----------*- C++ -*-===//
//
// An intrinsic that adds products of the elements of one buffer with numbers that words of another one hold. The sum
// is in groups: in each, the numbers of a column have one scale, and maybe a zero point.
//
//   sum over o, k, e of a[o, i, k, e] * ((number e of b[o, k, j]) - z[o, j]) * s[o, j]
//
// Its buffers are these, in this order: a, b, s, z (if there is one), and the sums [rows, cols].
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_GROUPLAYOUT_H
#define PERPEND_TILE_INTRINSICS_GROUPLAYOUT_H

#include "target/TargetInfo.h"
#include "tile/KernelIndices.h"

namespace perpend::tile {
struct Intrinsic;

struct GroupLayout {
  /// A number, signed, and what holds it: the number itself, or an integer of several, low bits first.
  mlir::Type number, word;
  int64_t perWord = 1;
  /// Elements of the other factor, of scales and of sums; and of zero points, or null.
  mlir::Type real, zero;
  /// What a number counts, of its place and of loads of b, s and z.
  mlir::Value factor;

  /// What a description says; nullopt: something else.
  static std::optional<GroupLayout> of(const Intrinsic &intrinsic);
};
} // namespace perpend::tile

#endif
