//===- CostModel.h - how long a kernel takes on one thread -------*- C++ -*-===//

#ifndef PERPEND_TILE_COSTMODEL_H
#define PERPEND_TILE_COSTMODEL_H

#include "graph/Shapes.h"
#include "target/TargetInfo.h"
#include "tile/KernelWork.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

/// A part of a kernel that is given to another thread is at least this long: handing it over takes about a microsecond
/// while the thread polls, and what it writes lies in another core's cache when the next kernel reads it.
inline constexpr double leastSecondsOfPart = 4e-6;
/// Kernels are divided into about this many units, if those are long enough: threads of unequal speed even out.
inline constexpr int64_t wantedUnits = 16;

/// A symbolic extent counts as 32; nothing counts as less than 1.
int64_t estimate(const graph::SymbolicInt &value);

/// Seconds that one thread needs for what a kernel has to do: the larger of what its arithmetic takes on vectors, and
/// what moving its operands and its result takes. Good to a factor of about two.
double estimateSeconds(const KernelWork &work, const target::TargetInfo &target);
} // namespace perpend::tile

#endif
