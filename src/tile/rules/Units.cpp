//===- Units.cpp - the fallback rule --------------------------------------===//
//
// For kernels that no other rule accepts. The outer loops of the last value are the units, which threads share; the
// other values are computed within a unit.
//
//   %i0, %i1, %i2 = get_loops %root
//   %f = fuse %i0, %i1
//   compute_at %other, %f
//   parallel %f
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

static bool isAny(func::FuncOp, const target::Machine &, std::string &) { return true; }

static LogicalResult scheduleUnits(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  FailureOr<KernelSchedule::Block> root = schedule.getBlock(blocks.back().getName());
  SmallVector<KernelSchedule::Loop> loops = *schedule.getLoops(*root);
  loops.truncate(leadingSpatialLoops(blocks.back()));
  SmallVector<KernelSchedule::Loop> units = unitsAmong(schedule, loops);
  if (units.empty())
    return success();
  FailureOr<KernelSchedule::Loop> unit = schedule.fuse(units);
  if (failed(unit))
    return failure();
  for (BlockOp block : llvm::drop_begin(llvm::reverse(blocks)))
    if (FailureOr<KernelSchedule::Block> handle = schedule.getBlock(block.getName());
        failed(schedule.computeAt(*handle, *unit)))
      return failure();
  return schedule.parallel(*unit);
}

const Rule perpend::tile::unitsRule = {"units", isAny, scheduleUnits};
