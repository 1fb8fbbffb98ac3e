//===- GroupLayout.h - layout of products with grouped numbers --*- C++ -*-===//
//
// Describes intrinsics that add products of one buffer's elements with small numbers packed into words of another.
// The sum is divided into groups; within a group, the numbers of a column share a scale and possibly a zero point.
//
//   sum over o, k, e of a[o, i, k, e] * ((number e of b[o, k, j]) - z[o, j]) * s[o, j]
//
// Elements of a are floats, or bytes that mean the byte minus 128, possibly times a scale r[o, i]. Scales of two levels
// are a small integer for each group, times a float that consecutive groups share: the groups of one p.
//
//   sum over p, o, k, e of a[p, o, i, k, e] * (number e of b[p, o, k, j]) * (s[p, o, j] * d[p, j])
//
// Numbers of 3, 5 and 6 bits lie in two buffers: their lower bits, of which a word holds a power of two, and their
// upper bits u, of which a word holds those of a *unit*, several words of b, w. A unit has whole words only:
//
//   number w, e of b[o, k, w, j] and u[o, k, j] = lower bits e of b[o, k, w, j] + 2^n (upper bits w, e of u[o, k, j])
//
// The buffers, in this order: a, b, u, s, d, z and r (if there are such), and the sums [rows, cols].
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_GROUPLAYOUT_H
#define PERPEND_TILE_INTRINSICS_GROUPLAYOUT_H

#include "target/Machine.h"
#include "tile/ir/KernelIndices.h"

namespace perpend::tile {
struct Intrinsic;

struct GroupLayout {
  /// The number, and the word that holds one or several.
  mlir::Type number, word;
  bool isUnsigned = false; ///< the numbers, of less than 8 bits
  int64_t perWord = 1;
  /// For each number of a word, the position of its lowest bit.
  llvm::SmallVector<int64_t> positions;
  /// Element type of u, or null; the bits of a number in b; the words of b in a unit, 1 without u; and for each number
  /// of a unit, the position of its lowest upper bit.
  mlir::Type upper;
  int64_t lowerBits = 0, wordsOfUnit = 1;
  llvm::SmallVector<int64_t> upperPositions;
  /// Element type of a as it is stored.
  mlir::Type left;
  /// Element types of a and the sums; of zero points, or null; and of the rows' scales, or null.
  mlir::Type real, zero, rowScale;
  /// Element types of s as it is stored, at most as wide, and of d, or null.
  mlir::Type scale, sharedScale;
  /// The factors of the product in the description, which is computed from its iterators and the loads of a and r, and
  /// of b, s and z.
  mlir::Value row, factor;
  static constexpr int64_t byteOffset = 128;

  bool hasBytes() const { return !mlir::isa<mlir::FloatType>(left); }
  int64_t perUnit() const { return perWord * wordsOfUnit; }
  int64_t upperBits() const { return number.getIntOrFloatBitWidth() - lowerBits; }
  /// The positions of s and d among the buffers.
  unsigned scalesBuffer() const { return upper ? 3 : 2; }
  /// Whether number e is at bit e * bits, and whether it is in byte e mod 4, as its upper bits are.
  bool isInOrder() const;
  bool isByBytes() const;

  /// The layout that a description implies; nullopt if it computes something else.
  static std::optional<GroupLayout> of(const Intrinsic &intrinsic);
};
} // namespace perpend::tile

#endif
