//===- Rules.h - the default schedules, one rule for each kind of kernel -*- C++ -*-===//

#ifndef PERPEND_TILE_RULES_RULES_H
#define PERPEND_TILE_RULES_RULES_H

#include "tile/schedule/Schedule.h"

namespace perpend::tile {

/// A chain of reductions over the same rows, each value in a nest of its own: all of them for one row, then the next.
/// Fails, with the reason in the schedule, where a primitive is refused.
mlir::LogicalResult scheduleRows(KernelSchedule &schedule, mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
