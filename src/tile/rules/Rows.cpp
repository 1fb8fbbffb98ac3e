//===- Rows.cpp - the rule for chains of reductions over rows -------------===//
//
//   %root = get_block "map_1"
//   %i0, %i1, %i2 = get_loops %root
//   %f = fuse %i0, %i1
//   compute_at %reduce_1, %f    (every other block, from the last to the first)
//   parallel %f
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// The loops around a block that its spatial iterators stand for, up to the first of another kind.
static unsigned spatialLoops(BlockOp block) {
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(block);
  SmallVector<ForOp> loops;
  for (Operation *op = block->getParentOp(); isa<ForOp>(op); op = op->getParentOp())
    loops.push_back(cast<ForOp>(op));
  unsigned count = 0;
  for (ForOp loop : llvm::reverse(loops)) {
    SymbolicInt variable = indices.names.symbol(loop.variable());
    auto binding = llvm::find(bindings, variable);
    if (binding == bindings.end() || block.kind(binding - bindings.begin()) != IteratorKind::Spatial)
      break;
    ++count;
  }
  return count;
}

LogicalResult perpend::tile::scheduleRows(KernelSchedule &schedule, func::FuncOp kernel) {
  SmallVector<BlockOp> blocks;
  kernel.walk([&](BlockOp block) { blocks.push_back(block); });
  unsigned rowLoops = spatialLoops(blocks.back());
  for (BlockOp block : blocks)
    if (block.isReduction())
      rowLoops = std::min(rowLoops, spatialLoops(block));
  if (rowLoops == 0)
    return success(); // a single row
  FailureOr<KernelSchedule::Block> root = schedule.getBlock(blocks.back().getName());
  SmallVector<KernelSchedule::Loop> loops = schedule.getLoops(*root);
  FailureOr<KernelSchedule::Loop> rows = schedule.fuse(ArrayRef(loops).take_front(rowLoops));
  if (failed(rows))
    return failure();
  for (BlockOp block : llvm::drop_begin(llvm::reverse(blocks))) {
    FailureOr<KernelSchedule::Block> handle = schedule.getBlock(block.getName());
    if (failed(handle) || failed(schedule.computeAt(*handle, *rows)))
      return failure();
  }
  return schedule.parallel(*rows);
}
