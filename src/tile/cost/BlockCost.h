//===- BlockCost.h - how long scheduled blocks take --------------*- C++ -*-===//
//
// A kernel of blocks as its loops stand, on one thread: what its arithmetic
// takes on the vectors that it has, what its loads and stores take, and what
// moves between the memories, from the footprint of each loop: what fits a cache
// is read into it once, however often loops inside go over it. The longest of
// these is the kernel's time. So one schedule of a kernel compares with another.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_COST_BLOCKCOST_H
#define PERPEND_TILE_COST_BLOCKCOST_H

#include "target/TargetInfo.h"
#include "tile/Tile.h"

namespace perpend::tile {

/// Seconds.
struct BlockCost {
  double arithmetic = 0;
  double accesses = 0;                           ///< loads and stores, of what the first cache has
  double fromL2 = 0, fromL3 = 0, fromMemory = 0; ///< and to them
  double units = 1;                              ///< parts that may run at the same time

  /// How many units take about so long.
  int64_t unitsForSeconds(double wanted) const {
    constexpr double most = 1e15;
    return seconds() > 0 ? static_cast<int64_t>(std::min(wanted * units / seconds(), most)) + 1 : 1;
  }
  double seconds() const { return std::max({arithmetic, accesses, fromL2, fromL3, fromMemory}); }
};

/// A symbolic extent counts as 32 (CostModel.h). Good to a factor of about two.
BlockCost costOf(mlir::func::FuncOp kernel, const target::TargetInfo &target);
} // namespace perpend::tile

#endif
