//===- PanelChoice.h - chooses the intrinsic of a product -------*- C++ -*-===//

#ifndef PERPEND_TILE_PACKING_PANELCHOICE_H
#define PERPEND_TILE_PACKING_PANELCHOICE_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

/// An intrinsic, and its panel width.
struct PanelChoice {
  const Intrinsic *intrinsic;
  int64_t columns;
  /// Cycles of computing; and the larger of that and of reading the right operand.
  double cyclesOfProducts, cyclesPerPoint;
  const PanelLayout &panels() const { return *intrinsic->panels; }
};

/// Candidate panel widths: one to four vectors, the least padding first, then two vectors (enough accumulators for any
/// number of rows). With one vector, each multiply-add loads an element of a row from the cache, which counts as one
/// sixteenth more. Few columns, from `least` on, and a single column, get a panel of their own width.
llvm::SmallVector<int64_t> panelSizes(const SymbolicInt &columns, int64_t lanes, int64_t least = 4);

/// Sorted: those of the requested precision first, then by cost, then by bytes read, then by work.
llvm::SmallVector<PanelChoice> panelChoices(mlir::Type sum, const ProductExtents &extents,
                                            const target::Machine &target, mlir::Type precision);
} // namespace perpend::tile

#endif
