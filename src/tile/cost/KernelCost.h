//===- KernelCost.h - estimates a kernel's time on one thread ---*- C++ -*-===//

#ifndef PERPEND_TILE_COST_KERNELCOST_H
#define PERPEND_TILE_COST_KERNELCOST_H

#include "graph/Shapes.h"
#include "target/Machine.h"
#include "tile/kernel/KernelWork.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

/// Least duration of a part that is handed to another thread: the hand-over takes about a microsecond while that thread
/// polls, and the part's results lie in the other core's cache when the next kernel reads them.
inline constexpr double leastSecondsOfPart = 4e-6;
/// A kernel is divided into about this many units if they are long enough, so that threads of different speed balance
/// out.
inline constexpr int64_t wantedUnits = 16;

/// Evaluates an expression with 32 for each symbol; at least 1.
int64_t estimate(const graph::SymbolicInt &value);

/// Estimated seconds on one thread: the larger of the time for arithmetic on vectors and the time for moving operands
/// and results. Accurate to about a factor of two.
double estimateSeconds(const KernelWork &work, const target::Machine &target);
} // namespace perpend::tile

#endif
