//===- Schedule.h - how a kernel runs ----------------------------*- C++ -*-===//
//
// Beside its trace (schedule/Schedule.h) a kernel has the attribute
// `tile.schedule = {grain = 3}`: so many of its units are worth a thread. Where
// none is given, the phase `schedule` finds it from the cost of its blocks; where
// a unit's loops are as long as symbols say, that is `{estimate, grain = 3}`, and
// the runtime measures.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_H
#define PERPEND_TILE_SCHEDULE_H

#include "graph/Rows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace perpend::tile {

struct Schedule {
  int64_t grain = 0; // none
  /// The grain comes from extents that the compiler does not know.
  bool isEstimate = false;

  static Schedule of(mlir::func::FuncOp kernel);
  void attachTo(mlir::func::FuncOp kernel) const;
  /// Whether the kernel can run as its attribute says; an error names the entry, what is expected and what it is.
  static mlir::LogicalResult verify(mlir::func::FuncOp kernel);
};

/// The chain of rows that a kernel computes, if it is one.
std::optional<graph::RowChain> rowChainOf(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
