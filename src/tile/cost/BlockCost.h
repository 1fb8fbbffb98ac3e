//===- BlockCost.h - estimates the time of scheduled blocks -----*- C++ -*-===//
//
// Estimates the time of a kernel of blocks on one thread from its loops: arithmetic at the width of its vectors, loads
// and stores, and traffic between the levels of memory. Traffic follows from the footprint of each loop: data that
// fits a cache is read into it once, however often inner loops use it. The estimate is the largest of these times. It
// is meant for comparing schedules of one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_COST_BLOCKCOST_H
#define PERPEND_TILE_COST_BLOCKCOST_H

#include "target/Machine.h"
#include "tile/ir/Tile.h"

namespace perpend::tile {

/// All times in seconds.
struct BlockCost {
  double arithmetic = 0;
  double accesses = 0; ///< time of loads and stores that hit the innermost cache
  /// Time of traffic from and to the other caches of a thread, those that threads share, and the caller's memory.
  double fromOwnCaches = 0, fromSharedCaches = 0, fromMemory = 0;
  double units = 1; ///< number of parallel units

  /// How many units take about this long.
  int64_t unitsForSeconds(double wanted) const {
    constexpr double most = 1e15;
    return seconds() > 0 ? static_cast<int64_t>(std::min(wanted * units / seconds(), most)) + 1 : 1;
  }
  double seconds() const { return std::max({arithmetic, accesses, fromOwnCaches, fromSharedCaches, fromMemory}); }
};

/// Symbolic extents count as 32 (CostModel.h). Accurate to about a factor of two.
BlockCost costOf(mlir::func::FuncOp kernel, const target::Machine &target);
} // namespace perpend::tile

#endif
