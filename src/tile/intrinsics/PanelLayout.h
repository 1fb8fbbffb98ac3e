//===- PanelLayout.h - operand layouts of products --------------*- C++ -*-===//
//
// For an intrinsic that adds products of two buffers to a third. Its strides determine the layout of the right
// operand, which depends on the column: panels of columns, made of words, whose elements are consecutive along the
// contracted dimension. For example,
//
//   %b: !tile.buffer<[depth, cols, 4] x i8>, strides ["4 * cols", "4", "1"]
//
// requires b(k, j) at (floordiv(j, cols), floordiv(k, 4), mod(j, cols), mod(k, 4)). The left operand is row-major: its
// elements along the contracted dimension are contiguous.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_PANELLAYOUT_H
#define PERPEND_TILE_INTRINSICS_PANELLAYOUT_H

#include "target/Machine.h"
#include "tile/ir/KernelIndices.h"

namespace perpend::tile {
struct Intrinsic;

/// Extents of a product: rows, columns, and elements of the sum. If the sum also runs over a window, `depth` is that of
/// one position, and `windows` counts the dimensions that are not contiguous in the operands. If rows are those of a
/// line of an image, `lines` counts the lines. `sums`: all extents of the sum, if they are known.
struct ProductExtents {
  SymbolicInt rows, columns, depth;
  unsigned windows = 0;
  int64_t lines = 1;
  Shape sums = {};
};

struct PanelLayout {
  /// Element types of the operand in rows, the operand in panels, and the sums.
  mlir::Type left, right, sum;
  /// Elements per word; and elements multiplied at once, of which the depth is a multiple.
  int64_t group = 1, depth = 1;
  /// Columns of a panel: a number, or a parameter to choose.
  SymbolicInt columns;

  /// The layout that an intrinsic requires; nullopt if it adds no products, or requires another form.
  static std::optional<PanelLayout> of(const Intrinsic &intrinsic);

  /// How it handles panels of a given width, and at most a given number of rows at once. With several lines, each has
  /// all of its rows.
  struct Fit {
    int64_t rows;
    /// Cycles per useful product of two elements, padding included.
    double cyclesPerPoint;
    int64_t lines = 1;
  };
  /// nullopt if the intrinsic does not accept the extents, or gives no cycles.
  std::optional<Fit> fit(const Intrinsic &intrinsic, const ProductExtents &extents, int64_t panel, int64_t mostRows,
                         const target::Machine &target) const;
  /// The extents of a call, but with as many rows as the intrinsic's code processes at once.
  Shape withFullRows(const Intrinsic &intrinsic, Shape extents, const target::Machine &target) const;

private:
  friend class PanelLayoutReader;
  int64_t linesAtOnce(const Intrinsic &intrinsic, const ProductExtents &extents, Shape ofLine) const;
  /// Iterators of the description. Those of windows move both operands, by any stride.
  unsigned columnIterator = 0, windows = 0;
  std::optional<unsigned> rowIterator, lineIterator, depthIterator;
};
} // namespace perpend::tile

#endif
