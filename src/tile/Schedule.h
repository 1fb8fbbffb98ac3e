//===- Schedule.h - how a kernel runs ----------------------------*- C++ -*-===//
//
// A schedule is an attribute of the kernel function, `tile.schedule = {...}`:
// printed, edited and replayed as text. ScheduleKernels chooses it from the
// machine's numbers; LowerKernels carries it out. Entries, all optional:
//
//   unit_dims   how many leading dimensions of the result make up the parallel units
//   part        elements of the last dimension in a unit, when the dimensions before it are too few units (a multiple
//               of row)
//   row         elements of the last dimension accumulated at once (a reduction that keeps it), or the chunk of lanes
//               of a result whose elements depend on one another
//   grain       units that are worth a thread; where none is given, phase `tile` estimates it
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_H
#define PERPEND_TILE_SCHEDULE_H

#include "graph/Rows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace perpend::tile {

struct Schedule {
  int64_t unitDims = 1;
  int64_t part = 0;
  int64_t row = 0;
  int64_t grain = 0;

  bool isDefault() const { return unitDims == 1 && !part && !row && !grain; }
  static Schedule of(mlir::func::FuncOp kernel);
  void attachTo(mlir::func::FuncOp kernel) const;
  /// Whether the kernel can run as its attribute says; an error names the entry, what is expected and what it is.
  static mlir::LogicalResult verify(mlir::func::FuncOp kernel);
};

/// The operator whose loops the kernel's are: a tensor intrinsic, else the first reduction, else none.
mlir::Operation *leadingOperator(mlir::func::FuncOp kernel);

/// The chain of rows that a kernel computes, if it is one: such a kernel is scheduled as blocks (rules/Rules.h).
std::optional<graph::RowChain> rowChainOf(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
