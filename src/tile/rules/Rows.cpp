//===- Rows.cpp - the rule for chains of reductions over rows -------------===//
//
// For chains of reductions over rows (graph/Rows.h). A unit, which one thread runs, computes all values of a row.
//
//   %root = get_block "map_1"   (and likewise every other block)
//   transform_block_layout …    (joins loops inside a row)
//   %i0, %i1, %i2 = get_loops %root
//   %f = fuse %i0, %i1
//   compute_at %reduce_1, %f    (the other blocks, from the last to the first)
//   annotate %f, "prefetch", 1  (if rows come from memory)
//   parallel %f
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

#include "tile/Attributes.h"
#include "tile/kernel/KernelWork.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Whether a block reads elements of a kept value repeatedly, because one of its iterators does not move the access.
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

/// Reductions whose results or operands are read row by row.
static bool isChain(func::FuncOp kernel, const target::Machine &, std::string &) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  return llvm::any_of(blocks, [](BlockOp block) { return block.isReduction(); }) && llvm::any_of(blocks, readsAgain);
}

/// Whether rows are worth prefetching: they come from memory and do not fill the innermost cache.
static bool areWorthAsking(func::FuncOp kernel, const SymbolicInt &rows, const target::Machine &target) {
  std::optional<int64_t> bytes = workOf(kernel).bytes.constant(), count = rows.constant();
  auto last = static_cast<int64_t>(target.lastCacheBytes()), near = static_cast<int64_t>(target.nearCacheBytes());
  return bytes && count && *count > 1 && last && *bytes > last / 2 && *bytes / *count < near / 2;
}

/// Whether the loop indexes a kept value: compute_at derives the needed elements from these loops, so they must stay.
static bool isAlongKept(ForOp loop) {
  KernelIndices indices;
  return llvm::any_of(accessesIn(loop), [&](const Access &access) {
    return access.buffer().getDefiningOp<AllocOp>() && usesLoop(indices.positionOf(access), loop, indices.names);
  });
}

/// Rows that whole vectors do not divide: LLVM computes what is left element by element, or masks the last vector of
/// rows below 16 elements, and a masked load waits for what was stored just before. So what is left gets shorter
/// vectors, and cheap reductions of such rows are unrolled.
static LogicalResult scheduleOddRow(KernelSchedule &schedule, KernelSchedule::Block handle,
                                    const target::Machine &target) {
  constexpr int64_t mostVectors = 4, maskedBelow = 16;
  constexpr size_t mostOperations = 8; // of what is cheap as scalars
  SmallVector<ForOp> nest = loopsAround(schedule.operation(handle));
  if (nest.size() < 2)
    return success();
  std::optional<int64_t> extent = KernelIndices().extentOf(nest.back()).constant();
  int64_t lanes = target.vectorLanes(4);
  if (!extent || *extent < lanes || *extent > mostVectors * lanes || *extent % lanes == 0)
    return success();
  BlockOp block = schedule.operation(handle);
  bool isShort = *extent < maskedBelow && block.body()->getOperations().size() <= mostOperations;
  if (block.isReduction() && !isShort)
    return success();
  KernelSchedule::Loop last = schedule.getLoops(handle)->back();
  return block.isReduction() ? schedule.unroll(last) : vectorizeParts(schedule, last, target);
}

static LogicalResult scheduleRows(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  unsigned rowLoops = leadingSpatialLoops(blocks.back());
  for (BlockOp block : blocks)
    if (block.isReduction())
      rowLoops = std::min(rowLoops, leadingSpatialLoops(block));
  if (rowLoops == 0)
    return success(); // a single row
  SmallVector<KernelSchedule::Block> handles;
  for (BlockOp block : blocks)
    handles.push_back(*schedule.getBlock(block.getName()));
  auto mayJoin = [&](ForOp outer, unsigned, const SymbolicInt &) {
    return loopsAround(outer).size() >= rowLoops && !isAlongKept(outer);
  };
  for (KernelSchedule::Block handle : handles)
    if (failed(joinLoops(schedule, handle, mayJoin)))
      return failure();
  SmallVector<KernelSchedule::Loop> loops = *schedule.getLoops(handles.back());
  FailureOr<KernelSchedule::Loop> rows = schedule.fuse(ArrayRef(loops).take_front(rowLoops));
  if (failed(rows))
    return failure();
  for (KernelSchedule::Block handle : llvm::drop_begin(llvm::reverse(handles)))
    if (failed(schedule.computeAt(handle, *rows)))
      return failure();
  for (KernelSchedule::Block handle : handles)
    if (failed(scheduleOddRow(schedule, handle, target)))
      return failure();
  if (areWorthAsking(kernel, schedule.operation(*rows).getExtent().values()[0], target) &&
      failed(schedule.annotate(*rows, prefetchAnnotation, Builder(kernel.getContext()).getI64IntegerAttr(1))))
    return failure();
  return schedule.parallel(*rows);
}

const Rule perpend::tile::rowsRule = {"rows", isChain, scheduleRows};
