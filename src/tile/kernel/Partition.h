//===- Partition.h - how a kernel is divided among threads ------*- C++ -*-===//
//
// Besides its trace (schedule/Schedule.h), a kernel has the attribute `tile.schedule = {grain = 3}`: the least number
// of units (iterations of its outermost parallel loop) worth giving to a thread. If absent, the phase `schedule`
// derives it from the cost of the blocks. If the length of a unit depends on symbols, it is `{estimate, grain = 3}`,
// and the runtime measures the first units of each run (runtime/Pool.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNEL_PARTITION_H
#define PERPEND_TILE_KERNEL_PARTITION_H

#include "graph/Rows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace perpend::tile {

struct Partition {
  int64_t grain = 0; // none
  /// The grain was estimated for extents that the compiler does not know.
  bool isEstimate = false;

  static Partition of(mlir::func::FuncOp kernel);
  void attachTo(mlir::func::FuncOp kernel) const;
  /// Checks the attribute; an error names the entry, the expected and the actual value.
  static mlir::LogicalResult verify(mlir::func::FuncOp kernel);
};

/// The chain of row operators that the kernel computes, if it is one.
std::optional<graph::RowChain> rowChainOf(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
