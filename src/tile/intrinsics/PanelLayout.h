//===- PanelLayout.h - how an intrinsic wants a product's operands -*- C++ -*-===//
//
// An intrinsic that adds products of the elements of two buffers to a third says by its strides how the buffer lies
// that its columns move: in panels of columns, of words whose elements follow one another in the sum.
//
//   %b: !tile.buffer<[depth, cols, 4] x i8>, strides ["4 * cols", "4", "1"]
//
// wants b(k, j) at (floordiv(j, cols), floordiv(k, 4), mod(j, cols), mod(k, 4)). The other buffer has the elements of
// the sum one after another, in rows.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_PANELLAYOUT_H
#define PERPEND_TILE_INTRINSICS_PANELLAYOUT_H

#include "target/TargetInfo.h"
#include "tile/KernelIndices.h"

namespace perpend::tile {
struct Intrinsic;

/// Extents of a product: rows, columns, elements of the sum. Where the sum runs over a window, too, `depth` is that of
/// one position, and `windows` counts the dimensions that the operands do not have one after another. Where rows are
/// those of a line of an image, `lines` counts these.
struct ProductExtents {
  SymbolicInt rows, columns, depth;
  unsigned windows = 0;
  int64_t lines = 1;
};

struct PanelLayout {
  /// Elements of the operand in rows, of the one in panels, and of the sums.
  mlir::Type left, right, sum;
  /// Elements of a word, and of what is multiplied at once, of which the depth is a multiple.
  int64_t group = 1, depth = 1;
  /// Of a panel: a number, or a parameter that may be chosen.
  SymbolicInt columns;

  /// What an intrinsic wants; nullopt: it adds no products, or wants its operands in another way.
  static std::optional<PanelLayout> of(const Intrinsic &intrinsic);

  /// What it does with so many columns of a panel, and at most so many rows at once. There are several lines only of
  /// all rows of each.
  struct Fit {
    int64_t rows;
    /// For each product of two elements that counts, with those that are computed beside them.
    double cyclesPerPoint;
    int64_t lines = 1;
  };
  /// nullopt: the intrinsic does not take them, or says no cycles.
  std::optional<Fit> fit(const Intrinsic &intrinsic, const ProductExtents &extents, int64_t panel, int64_t mostRows,
                         const target::TargetInfo &target) const;

private:
  friend class PanelLayoutReader;
  int64_t linesAtOnce(const Intrinsic &intrinsic, const ProductExtents &extents, Shape ofLine) const;
  /// Iterators of the description; those of windows move both operands, by any stride.
  unsigned columnIterator = 0, windows = 0;
  std::optional<unsigned> rowIterator, lineIterator, depthIterator;
};
} // namespace perpend::tile

#endif
