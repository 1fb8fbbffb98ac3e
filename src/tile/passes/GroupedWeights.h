//===- GroupedWeights.h - products with numbers of few bits -----*- C++ -*-===//
//
// A constant matrix of numbers with a scale, and maybe a zero point, for each group of them along the depth: as words
// in the order that an intrinsic wants (intrinsics/GroupLayout.h), and a product that computes the elements of these
// where it reads them.
//
//   contract(x, (q - z) * s)  =>  contract(x : [m, o, k, e], generate(words, scales, zeros) : [p, o, k, c, e])
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_GROUPEDWEIGHTS_H
#define PERPEND_TILE_PASSES_GROUPEDWEIGHTS_H

#include "graph/builder/Builder.h"
#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

/// A matrix [k, n] of (number - zero) * scale. Each is an element of a constant, at expressions of the symbols k and n,
/// and g: what a constant vector says of k.
struct GroupedWeights {
  struct Source {
    mlir::Value constant;
    Shape index;
    bool isUnsigned = false;
  };
  Source numbers;
  /// A constant, or one number.
  std::optional<Source> scales, zeros;
  double scale = 1, zero = 0;
  int64_t depth = 0, columns = 0;
  /// Elements along the depth that have one scale and zero point.
  int64_t groupSize = 0;
  /// Where g says which group k is of: the depths, group after group, and g of each group.
  llvm::SmallVector<int64_t> order, groups;

  /// What the elements of a matrix are computed of; nullopt: of something else.
  static std::optional<GroupedWeights> of(mlir::Value matrix);
  /// Whether an intrinsic reads such numbers, with such zero points.
  bool fits(const GroupLayout &layout) const;
  /// rows[m, k] times the matrix, for an intrinsic that it fits, with panels of so many columns.
  mlir::Value multiply(graph::Builder &builder, mlir::Value rows, const Intrinsic &intrinsic,
                       int64_t panelColumns) const;

private:
  friend class GroupPacker;
  /// Of zero points of signed numbers: those of unsigned ones are less by half of their range.
  int64_t zeroShift() const;
};
} // namespace perpend::tile

#endif
