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
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PACKING_GROUPEDWEIGHTS_H
#define PERPEND_TILE_PACKING_GROUPEDWEIGHTS_H

#include "graph/builder/Builder.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/packing/ExactOperands.h"

namespace perpend::tile {

/// A matrix [k, n] of (number - zero) * scale. Each is an element of a constant, at expressions of the symbols k, n and
/// g, where g is read from a constant vector at k.
struct GroupedWeights {
  struct Source {
    mlir::Value constant;
    Shape index;
    bool isUnsigned = false;
  };
  Source numbers;
  /// A constant, or a single number.
  std::optional<Source> scales, zeros;
  double scale = 1, zero = 0;
  int64_t depth = 0, columns = 0;
  /// Number of consecutive elements along the depth that share a scale and zero point.
  int64_t groupSize = 0;
  /// If g gives the group of k: the permutation of k that sorts by group, and g of each group.
  llvm::SmallVector<int64_t> order, groups;

  /// Analyses what the elements of a matrix are computed from; nullopt if it has another form.
  static std::optional<GroupedWeights> of(mlir::Value matrix);
  /// Whether an intrinsic reads such numbers with such zero points.
  bool fits(const GroupLayout &layout) const;
  /// rows[m, k] times the matrix, for an intrinsic that fits, with panels of this many columns. For an intrinsic that
  /// reads bytes, rows are of i8, and may have scales.
  mlir::Value multiply(graph::Builder &builder, const ScaledBytes &rows, const Intrinsic &intrinsic,
                       int64_t panelColumns) const;
  /// The matrix of the numbers themselves, from the middle of their range on.
  GroupedWeights withoutZeros() const;
  /// What the zero points take from the product withoutZeros(): the sums of the groups of rows, which have scales,
  /// times the zero points times their scales. Null if there are no zero points. `intrinsic` is that of the other
  /// product.
  mlir::Value multiplyZeros(graph::Builder &builder, const ScaledBytes &rows, const Intrinsic &intrinsic) const;
  /// Whether groups are consecutive and equally long, so that each row may have a scale for each.
  bool hasWholeGroups() const { return order.empty() && depth % groupSize == 0; }

private:
  friend class GroupPacker;
  /// Zero points of unsigned numbers are reduced by half of the range, because the numbers are stored as signed.
  int64_t zeroShift() const;
  bool hasZeros() const { return zeros || zero != double(zeroShift()); }
};
} // namespace perpend::tile

#endif
