//===- Rows.cpp - the rule for chains of reductions over rows -------------===//
//
//   %root = get_block "map_1"
//   %i0, %i1, %i2 = get_loops %root
//   %f = fuse %i0, %i1
//   compute_at %reduce_1, %f    (every other block, from the last to the first)
//   annotate %f, "prefetch", 1  (of rows that come from memory)
//   parallel %f
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

#include "tile/Attributes.h"
#include "tile/KernelWork.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Whether a block reads an element of a kept value again and again: along one of its iterators, it stays.
static bool readsAgain(BlockOp block) {
  KernelIndices indices;
  for (const Access &access : accessesIn(block)) {
    bool isOwn = llvm::any_of(accessesIn(block, access.buffer()), [](const Access &own) { return own.isStore(); });
    if (isOwn || !access.buffer().getDefiningOp<AllocOp>())
      continue;
    std::set<std::string> used;
    for (const SymbolicInt &index : indices.names.read(access.indices(), access.variables()))
      index.symbols(used);
    for (auto [i, iterator] : llvm::enumerate(block.iterators()))
      if (block.getDomain().values()[i] != SymbolicInt(1) && !used.count(indices.names.nameOf(iterator)))
        return true;
  }
  return false;
}

/// Sums whose results, or what they are made of, are read row by row.
static bool isChain(func::FuncOp kernel, const target::TargetInfo &) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  return llvm::any_of(blocks, [](BlockOp block) { return block.isReduction(); }) && llvm::any_of(blocks, readsAgain);
}

/// Rows that come from memory (and do not fill the first cache) are worth being asked for before they are needed.
static bool areWorthAsking(func::FuncOp kernel, const SymbolicInt &rows, const target::TargetInfo &target) {
  std::optional<int64_t> bytes = workOf(kernel).bytes.constant(), count = rows.constant();
  return bytes && count && *count > 1 && *bytes > static_cast<int64_t>(target.l3Bytes) / 2 && target.l3Bytes &&
         *bytes / *count < static_cast<int64_t>(target.l1Bytes) / 2;
}

static LogicalResult scheduleRows(KernelSchedule &schedule, func::FuncOp kernel, const target::TargetInfo &target) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  unsigned rowLoops = leadingSpatialLoops(blocks.back());
  for (BlockOp block : blocks)
    if (block.isReduction())
      rowLoops = std::min(rowLoops, leadingSpatialLoops(block));
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
  if (areWorthAsking(kernel, schedule.operation(*rows).getExtent().values()[0], target) &&
      failed(schedule.annotate(*rows, prefetchAnnotation, Builder(kernel.getContext()).getI64IntegerAttr(1))))
    return failure();
  return schedule.parallel(*rows);
}

const Rule perpend::tile::rowsRule = {"rows", isChain, scheduleRows};
