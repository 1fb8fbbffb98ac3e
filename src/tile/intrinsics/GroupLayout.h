//===- GroupLayout.h - layout of products with grouped numbers --*- C++ -*-===//
//
// Describes intrinsics that add products of one buffer's elements with small numbers packed into words of another.
// The sum is divided into groups; within a group, the numbers of a column share a scale and possibly a zero point.
//
//   sum over o, k, e of a[o, i, k, e] * ((number e of b[o, k, j]) - z[o, j]) * s[o, j]
//
// The buffers, in this order: a, b, s, z (if there is one), and the sums [rows, cols].
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_GROUPLAYOUT_H
#define PERPEND_TILE_INTRINSICS_GROUPLAYOUT_H

#include "target/Machine.h"
#include "tile/ir/KernelIndices.h"

namespace perpend::tile {
struct Intrinsic;

struct GroupLayout {
  /// The signed number, and the word that holds one or several, lowest bits first.
  mlir::Type number, word;
  int64_t perWord = 1;
  /// Element types of a, s and the sums; and of zero points, or null.
  mlir::Type real, zero;
  /// The multiplication in the description, its iterators, and the loads of b, s and z.
  mlir::Value factor;

  /// The layout that a description implies; nullopt if it computes something else.
  static std::optional<GroupLayout> of(const Intrinsic &intrinsic);
};
} // namespace perpend::tile

#endif
