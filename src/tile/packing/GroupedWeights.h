//===- GroupedWeights.h - products with grouped weights ---------*- C++ -*-===//
//
// A product with a constant matrix of small numbers q, which has a scale s and possibly a zero point z per group of
// rows. Packs the numbers into words in the layout that an intrinsic requires (intrinsics/GroupLayout.h), and builds a
// product whose operand computes the elements from these words where it reads them.
//
//   contract(x, (q - z) * s)  =>  contract(x : [m, o, k, e], generate(words, scales, zeros) : [p, o, k, c, e])
//
// Rows of bytes are multiplied by bytes. Where a byte does not hold q - z, the zero points are a product of their own,
// of one element for each group:
//
//   contract(x, (q - z) * s)  =>  contract(x, q * s) - contract(sums of the groups of x, z * s)
//
// Offsets t are such a product, too; and a scale may be that of a group times one that several groups share:
//
//   contract(x, q * (s * d) - t * e)  =>  contract(x, q * (s * d)) - contract(sums of the groups of x, t * e)
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PACKING_GROUPEDWEIGHTS_H
#define PERPEND_TILE_PACKING_GROUPEDWEIGHTS_H

#include "graph/builder/Builder.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/packing/ExactOperands.h"
#include "tile/packing/Tables.h"

namespace perpend::tile {

/// A matrix [k, n] of (number - zero) * scale * shared scale - offset * shared offset. Each is an element of a
/// constant, at expressions of the symbols k, n and g, where g is read from a constant vector at k.
struct GroupedWeights {
  struct Source {
    mlir::Value constant;
    Shape index;
    bool isUnsigned = false;
  };
  Source numbers;
  /// A constant, or a single number.
  std::optional<Source> scales, zeros;
  /// Floats; those that they multiply are integers.
  std::optional<Source> sharedScales, offsets, sharedOffsets;
  double scale = 1, zero = 0;
  int64_t depth = 0, columns = 0;
  /// Number of consecutive elements along the depth that share a scale and zero point.
  int64_t groupSize = 0;
  /// Number of consecutive groups that share a scale, if there are shared ones.
  int64_t sharing = 1;
  /// The matrix may be one of several: of the symbol's values. Then indices have this symbol, too.
  std::optional<Choice> choice;
  /// If g gives the group of k: the permutation of k that sorts by group, and g of each group.
  llvm::SmallVector<int64_t> order, groups;

  /// Analyses what the elements of a matrix are computed from; nullopt if it has another form.
  static std::optional<GroupedWeights> of(mlir::Value matrix);
  /// Whether an intrinsic reads such numbers with such zero points.
  bool fits(const GroupLayout &layout) const;
  /// Whether the layout has fewer bits for a number than the constant has; then it holds numbers less their zero point.
  bool isNarrowed(const GroupLayout &layout) const;
  /// rows[m, k] times the matrix, for an intrinsic that fits, with panels of this many columns. For an intrinsic that
  /// reads bytes, rows are of i8, and may have scales.
  mlir::Value multiply(graph::Builder &builder, const ScaledBytes &rows, const Intrinsic &intrinsic,
                       int64_t panelColumns) const;
  /// The matrix of the numbers themselves, from the middle of their range on; and the matrix without offsets.
  GroupedWeights withoutZeros() const;
  GroupedWeights withoutOffsets() const;
  /// What the zero points take from the product withoutZeros(): the sums of the groups of rows, which have scales,
  /// times the zero points times their scales. Null if there are no zero points. `intrinsic` is that of the other
  /// product.
  mlir::Value multiplyZeros(graph::Builder &builder, const ScaledBytes &rows, const Intrinsic &intrinsic) const;
  /// What the offsets take from the product withoutOffsets(): the sums of the groups of rows times them. Null if there
  /// are none. Groups must be whole.
  mlir::Value multiplyOffsets(graph::Builder &builder, const ScaledBytes &rows) const;
  /// Whether groups are consecutive and equally long, so that each row may have a scale for each.
  bool hasWholeGroups() const { return order.empty() && depth % groupSize == 0; }

private:
  friend class GroupPacker;
  /// Whether all numbers of the constant, of 8 bits, are in this range.
  bool areWithin(double least, double most) const;
  mutable std::optional<std::pair<int64_t, int64_t>>
      range; ///< the least and the greatest number, once it was asked for
  /// Zero points of unsigned numbers are reduced by half of the range where the numbers are stored as signed.
  int64_t zeroShift(bool storesUnsigned = false) const;
  bool hasZeros(bool storesUnsigned = false) const { return zeros || zero != double(zeroShift(storesUnsigned)); }
};
} // namespace perpend::tile

#endif
