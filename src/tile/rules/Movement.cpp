//===- Movement.cpp - the rule for transposed operands --------------------===//
//
// For a transpose, with any elementwise computation on it. Elements that are contiguous in the result are far apart in
// an operand, and vice versa. So the rule forms square tiles, which are read and written as whole vectors and
// transposed in registers.
//
//   transform_block_layout %block, (i0, i1, i2) -> (i0, i1*14 + i2)   (joins loops that all operands traverse as one)
//   reorder %o, %i, %j
//   %pad = decompose_padding %block, %i      (if there is padding)
//   %i0, %i1 = split %i, [_, 8]              (%i: the operand is contiguous along it)
//   %j0, %j1 = split %j, [_, 8]              (%j: the last)
//   %i0, %i2 = split %i0, [_, 14]            (if the operand is larger than the cache; or %i0 and %j0 by the tiles that
//                                             share a cache line)
//   reorder %i0, %j0, %i2, %i1, %j1
//   unroll %i1
//   vectorize %j1
//   %f = fuse %o, %i0                        parallel %f
//
// If the padding only completes the last of several panels, the whole panels get a loop of their own:
//
//   reorder %o, %i0, %p, %j0, %i1, %j1
//   %p_p0, %p_p1 = loop_partition %p, [114, _]
//
//===----------------------------------------------------------------------===//

#include "tile/kernel/Buffers.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// The loops of a kernel's single nest, and which of them are the sides of tiles.
struct Across {
  BlockOp block;
  SmallVector<ForOp> loops;
  /// Index of the loop along which the transposed operands are contiguous, forwards or backwards.
  unsigned side = 0;
  bool isPadded = false;
  /// Index of the loop over panels whose last one is partial, if padding comes from that; and the number of whole
  /// panels.
  std::optional<unsigned> cut = std::nullopt;
  int64_t wholePanels = 0;
  int64_t lanes = 0;
  int64_t bytes = 1; ///< bytes of the widest element
  /// Number of tiles, contiguous in the operand, that are processed in succession.
  int64_t run = 1;
  /// Number of tiles along each side that are processed together, because they share cache lines.
  int64_t together = 1;
};
} // namespace

/// Larger tiles need more registers than there are.
static constexpr int64_t mostLanes = 16, leastLanes = 4;

/// The largest tile that fits the extent, if that is known.
static int64_t fitting(int64_t lanes, const SymbolicInt &extent) {
  std::optional<int64_t> number = extent.constant();
  while (number && lanes > *number)
    lanes /= 2;
  return lanes;
}

/// Finds a loop over panels whose last one is partial.
static void findPanels(Across &across) {
  KernelIndices indices;
  ForOp last = across.loops.back();
  int64_t columns = indices.extentOf(last).constant().value_or(0);
  if (columns == 0)
    return;
  across.block.walk([&](arith::CmpIOp comparison) {
    for (const SymbolicInt &change : changesAlong(comparison, last, indices).value_or(SmallVector<SymbolicInt>()))
      for (auto [i, loop] : llvm::enumerate(ArrayRef(across.loops).drop_back())) {
        IndexAlong along = indices.along(change, loop, comparison);
        int64_t inside = along.first.constant().value_or(0);
        bool isPanels = i != across.side && along.stride == SymbolicInt(-columns) && inside > 0;
        if (isPanels && inside / columns < indices.extentOf(loop).constant().value_or(0)) {
          across.cut = i;
          across.wholePanels = inside / columns;
        }
      }
  });
}

/// Of work that is divided among threads.
static constexpr int64_t leastUnits = 16;

/// If the operand exceeds the core's caches, tiles are processed in runs of some cache lines per row: hardware
/// prefetchers track only a few rows, and single lines of many rows do not help them. Rows of the result must be short
/// then, so that the output of a run lies together. Runs divide the extent, so that there is no remainder.
static int64_t runOf(const Across &across, const target::Machine &target) {
  constexpr int64_t mostRun = 16, leastRun = 4, mostRowBytes = 512;
  KernelIndices indices;
  double elements = 1;
  for (ForOp loop : across.loops)
    elements *= static_cast<double>(indices.extentOf(loop).constant().value_or(0));
  if (across.isPadded || elements * static_cast<double>(across.bytes) <= static_cast<double>(target.ownCacheBytes()))
    return 1;
  int64_t side = *indices.extentOf(across.loops[across.side]).constant();
  int64_t columns = *indices.extentOf(across.loops.back()).constant();
  if (side % across.lanes != 0 || columns <= across.lanes || columns * across.bytes > mostRowBytes)
    return 1;
  for (int64_t tiles = side / across.lanes, run = mostRun; run >= leastRun; --run)
    if (tiles % run == 0 && tiles / run >= leastUnits)
      return run;
  return 1;
}

/// If the operand exceeds the core's caches, a line of it is read by several tiles, and a line of the result written by
/// several. Rows that are a multiple of many lines apart fall into few sets of a cache, which holds no line until the
/// next row of tiles; so these tiles are processed together. They divide the extents, so that there is no remainder.
static int64_t togetherOf(const Across &across, const target::Machine &target) {
  constexpr int64_t fewSets = 1024; // bytes: then at most a sixteenth of the usual sets
  KernelIndices indices;
  double elements = 1;
  for (ForOp loop : across.loops)
    elements *= static_cast<double>(indices.extentOf(loop).constant().value_or(0));
  int64_t side = indices.extentOf(across.loops[across.side]).constant().value_or(1);
  int64_t columns = indices.extentOf(across.loops.back()).constant().value_or(1);
  int64_t together = target.lineBytes() / (across.lanes * across.bytes), edge = together * across.lanes;
  bool isLarge = elements * static_cast<double>(across.bytes) > static_cast<double>(target.ownCacheBytes());
  bool hasFewSets = side * across.bytes % fewSets == 0 || columns * across.bytes % fewSets == 0;
  bool divides = together > 1 && side % edge == 0 && columns % edge == 0 && side / edge >= leastUnits;
  return isLarge && hasFewSets && divides && !across.isPadded && across.run == 1 ? together : 1;
}

static std::optional<Across> acrossOf(func::FuncOp kernel, const target::Machine &target, std::string &why) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  if (blocks.size() != 1 || blocks.front().isReduction())
    return std::nullopt;
  Across across{.block = blocks.front(), .loops = loopsAround(blocks.front())};
  if (across.loops.size() < 2)
    return std::nullopt;
  KernelIndices indices;
  if (llvm::any_of(across.loops, [&](ForOp loop) { return indices.extentOf(loop) == SymbolicInt(0); }))
    return std::nullopt; // no position is contiguous or strided
  ForOp last = across.loops.back();
  int64_t widest = 1;
  StringRef obstacle;
  for (const Access &access : accessesIn(across.block)) {
    SymbolicInt position = indices.positionOf(access);
    IndexAlong alongLast = indices.along(position, last, access.op);
    bool isChosen = access.op->getParentOp() != across.block;
    bool isComputed = indices.names.anyValue(position, [](Value value) { return value.getDefiningOp(); });
    if (isComputed || !alongLast.stride)
      obstacle = isComputed ? "an index is loaded" : "an index is no sum of the loops";
    if (isChosen && access.op->getParentOp()->getParentOp() != across.block)
      obstacle = "it has nested conditions";
    across.isPadded |= isChosen;
    widest = std::max(widest, elementBytes(cast<BufferType>(access.buffer().getType()).getElementType()));
    if (alongLast.isUniform() || alongLast.isContiguous())
      continue;
    if (access.isStore()) {
      obstacle = "its result is strided, too";
      continue;
    }
    for (unsigned i = 0; i + 1 < across.loops.size(); ++i)
      if (IndexAlong along = indices.along(position, across.loops[i], access.op);
          along.isContiguous() || along.stride == SymbolicInt(-1)) {
        across.side = i;
        across.lanes = mostLanes;
      }
  }
  if (!across.lanes || !obstacle.empty()) {
    why = across.lanes ? obstacle : "";
    return std::nullopt;
  }
  across.bytes = widest;
  across.lanes = std::min<int64_t>(across.lanes, target.vectorLanes(widest));
  across.lanes = fitting(across.lanes, indices.extentOf(last));
  across.lanes = fitting(across.lanes, indices.extentOf(across.loops[across.side]));
  if (across.isPadded)
    findPanels(across);
  if (across.lanes < leastLanes)
    return why = "a tile has less than " + std::to_string(leastLanes) + " rows or columns", std::nullopt;
  across.run = runOf(across, target);
  across.together = togetherOf(across, target);
  return across;
}

static bool liesAcross(func::FuncOp kernel, const target::Machine &target, std::string &why) {
  return acrossOf(kernel, target, why).has_value();
}

/// Fills the padding before the tiles run, with vectors along the last dimension.
static LogicalResult schedulePadding(KernelSchedule &schedule, KernelSchedule::Block padding, int64_t lanes) {
  auto columns = schedule.split(schedule.getLoops(padding)->back(), lanes);
  return failed(columns) ? failure() : schedule.vectorize(columns->second);
}

/// Vectorises a tile; its rows and columns are the last two loops.
static LogicalResult transposeTile(KernelSchedule &schedule, ArrayRef<KernelSchedule::Loop> loops) {
  return failed(schedule.unroll(loops.end()[-2])) ? failure() : schedule.vectorize(loops.back());
}

/// Transposes the tiles of whole panels; partial panels stay scalar.
static LogicalResult transposeWhole(KernelSchedule &schedule, KernelSchedule::Loop panels, int64_t whole) {
  auto parts = schedule.loopPartition(panels, {whole, std::nullopt});
  if (failed(parts))
    return failure();
  auto blocks = schedule.getChildBlocks(parts->front());
  if (failed(blocks))
    return failure();
  return transposeTile(schedule, *schedule.getLoops(blocks->front()));
}

static LogicalResult scheduleMovement(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  std::string why;
  Across across = *acrossOf(kernel, target, why);
  FailureOr<KernelSchedule::Block> block = schedule.getBlock(across.block.getName());
  if (!across.isPadded) { // to have fewer edges
    auto mayJoin = [](ForOp, unsigned, const SymbolicInt &) { return true; };
    if (failed(joinLoops(schedule, *block, mayJoin)))
      return failure();
    std::optional<Across> joined = acrossOf(kernel, target, why);
    if (!joined)
      return failure();
    across = *joined;
  }
  SmallVector<KernelSchedule::Loop> loops = *schedule.getLoops(*block), outer, tiles;
  for (auto [i, loop] : llvm::enumerate(ArrayRef(loops).drop_back()))
    if (i != across.side && i != across.cut)
      outer.push_back(loop);
  KernelSchedule::Loop side = loops[across.side], last = loops.back();
  SmallVector<KernelSchedule::Loop> order(outer);
  order.push_back(side);
  if (across.cut)
    order.push_back(loops[*across.cut]);
  order.push_back(last);
  if (failed(schedule.reorder(order)))
    return failure();
  bool isFilled = across.isPadded && !across.cut;
  if (isFilled) {
    FailureOr<KernelSchedule::Block> padding = schedule.decomposePadding(*block, side);
    if (failed(padding) || failed(schedulePadding(schedule, *padding, across.lanes)))
      return failure();
  }
  auto rows = schedule.split(side, across.lanes);
  auto columns = schedule.split(last, across.lanes);
  if (failed(rows) || failed(columns))
    return failure();
  tiles = {rows->first};
  if (across.cut)
    tiles.push_back(loops[*across.cut]);
  tiles.push_back(columns->first);
  if (across.run > 1) {
    auto runs = schedule.split(rows->first, across.run);
    if (failed(runs))
      return failure();
    tiles.front() = runs->first;
    tiles.push_back(runs->second);
  }
  if (across.together > 1) {
    auto outerRows = schedule.split(rows->first, across.together);
    auto outerColumns = schedule.split(columns->first, across.together);
    if (failed(outerRows) || failed(outerColumns))
      return failure();
    tiles = {outerRows->first, outerColumns->first, outerColumns->second, outerRows->second};
  }
  tiles.append({rows->second, columns->second});
  if (failed(schedule.reorder(tiles)))
    return failure();
  if (failed(across.cut ? transposeWhole(schedule, loops[*across.cut], across.wholePanels)
                        : transposeTile(schedule, tiles)))
    return failure();
  if (!isFilled)
    outer.push_back(tiles.front());
  if (outer.empty())
    return success();
  FailureOr<KernelSchedule::Loop> units = schedule.fuse(outer);
  return failed(units) ? failure() : schedule.parallel(*units);
}

const Rule perpend::tile::movementRule = {"movement", liesAcross, scheduleMovement};
