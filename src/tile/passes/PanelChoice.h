//===- PanelChoice.h - which intrinsic computes a product, and how -*- C++ -*-===//

#ifndef PERPEND_TILE_PASSES_PANELCHOICE_H
#define PERPEND_TILE_PASSES_PANELCHOICE_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

/// An intrinsic, and the columns of a panel for it.
struct PanelChoice {
  const Intrinsic *intrinsic;
  int64_t columns;
  /// Of computing, and of that or of reading the right operand, what takes longer.
  double cyclesOfProducts, cyclesPerPoint;
  const PanelLayout &panels() const { return *intrinsic->panels; }
};

/// Columns of a panel: one to four vectors, the least padding first, then two (enough accumulators for any number of
/// rows). Of a panel of one vector, each product reads an element of a row from the cache: it takes a sixteenth longer.
/// Few columns, from so many as `least`, and a single one, are a panel of their own.
llvm::SmallVector<int64_t> panelSizes(const SymbolicInt &columns, int64_t lanes, int64_t least = 4);

/// Those of the precision first, then the cheapest; of equal ones, that which reads fewer bytes, then that which
/// computes less.
llvm::SmallVector<PanelChoice> panelChoices(mlir::Type sum, const ProductExtents &extents,
                                            const target::TargetInfo &target, mlir::Type precision);
} // namespace perpend::tile

#endif
