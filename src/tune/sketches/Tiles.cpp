//===- Tiles.cpp - sketch rules for contractions that reuse data ----------===//
//
// Tiles the spatial loops in three levels: units, blocks and register tiles. The tiled loops are those of the
// epilogue, if there is one; otherwise those of the sum itself, or of a local copy (cache_write) to whose loops the
// sum is moved by compute_at.
//
//   %i0, %i1, %i2 = split %i, [_, %blocks, %rows]     %j0, %j1, %j2 = split %j, [_, %panels, %columns]
//   reorder %i0, %j0, %i1, %j1, %i2, %j2              (or %j0, %i0, %j1, %i1, …)
//   compute_at %sum, %j1                              tensorize %i2_sum, "f32.block"
//
// or, if no intrinsic fits, sums in registers:
//
//   %k0, %k1 = split %k, [_, %steps]                  reorder …, %k0, %k1, %i2_sum, %j2_sum
//   decompose_reduction %sum, %i2_sum
//   unroll %k1, unroll %i2_sum, vectorize %j2_sum
//
//===----------------------------------------------------------------------===//

#include "tile/cost/KernelCost.h"
#include "tile/intrinsics/Emitters.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"
#include "tune/sketches/Sketches.h"

using namespace mlir;
using perpend::tile::BlockOp;
using perpend::tile::KernelSchedule;
using Loop = KernelSchedule::Loop;
using Loops = SmallVector<Loop>;
using Factors = SmallVector<KernelSchedule::Factor>;

namespace perpend::tune {

static const int64_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128};
static constexpr int64_t usualRows = 8, mostRows = 24, usualBlocks = 16;

namespace {
/// The sum's loops, and those of its reader.
class Tiling {
public:
  Tiling(KernelSchedule &schedule, KernelSchedule::Block sum, const target::Machine &target)
      : schedule(schedule), sum(sum), target(target) {}

  /// Divides into blocks of this many columns.
  LogicalResult divide(int64_t columns, int64_t usualRows, bool wantsCopy, bool columnsOutside);
  LogicalResult giveToIntrinsic() { return tile::chooseIntrinsic(schedule, sum, outside, target); }
  LogicalResult sumInRegisters();

private:
  FailureOr<KernelSchedule::Block> findRoot(bool wantsCopy);
  FailureOr<Loops> splitOne(Loop loop, int64_t blocks, std::optional<KernelSchedule::Factor> inner);

  KernelSchedule &schedule;
  KernelSchedule::Block sum;
  const target::Machine &target;
  size_t outside = 0; ///< number of loops around the innermost block
};
} // namespace

/// The block that reads the sum at its own iterators, or a copy; the sum itself if no copy is wanted.
FailureOr<KernelSchedule::Block> Tiling::findRoot(bool wantsCopy) {
  if (std::optional<KernelSchedule::Block> reader = readerAlike(schedule, sum))
    return *reader;
  FailureOr<SmallVector<KernelSchedule::Block>> readers = schedule.getConsumers(sum);
  bool isPlain = succeeded(readers) && readers->empty() && !wantsCopy;
  return isPlain ? FailureOr<KernelSchedule::Block>(sum) : schedule.cacheWrite(sum, "local");
}

/// Splits a loop into units, blocks and the inside of a block.
FailureOr<Loops> Tiling::splitOne(Loop loop, int64_t blocks, std::optional<KernelSchedule::Factor> inner) {
  int64_t extent = tile::estimate(tile::countOf(schedule, loop));
  FailureOr<KernelSchedule::Number> count = sample(schedule, counts, blocks, std::max<int64_t>(1, extent));
  if (failed(count))
    return failure();
  Factors factors = {std::nullopt, *count};
  if (inner)
    factors.push_back(*inner);
  return schedule.split(loop, factors);
}

LogicalResult Tiling::divide(int64_t columns, int64_t rows, bool wantsCopy, bool columnsOutside) {
  FailureOr<KernelSchedule::Block> root = findRoot(wantsCopy);
  if (failed(root))
    return failure();
  Loops loops = spatialLoops(schedule, *root), units, blocks, inner, summed = *schedule.getLoops(*root);
  summed.erase(summed.begin(), summed.begin() + loops.size());
  if (loops.size() < 2)
    return schedule.refuse("it has no rows and columns");
  for (auto [number, loop] : llvm::enumerate(loops)) {
    bool isColumns = number + 1 == loops.size(), isRows = number + 2 == loops.size();
    std::optional<KernelSchedule::Factor> size;
    int64_t extent = tile::estimate(tile::countOf(schedule, loop));
    if (isRows) {
      auto sampled = sample(schedule, counts, rows, std::min(mostRows, std::max<int64_t>(1, extent)));
      if (failed(sampled))
        return failure();
      size = *sampled;
    } else if (isColumns) {
      size = columns;
    }
    FailureOr<Loops> parts = splitOne(loop, isRows ? usualBlocks : 1, size);
    if (failed(parts))
      return failure();
    units.insert(isColumns && columnsOutside ? units.begin() : units.end(), (*parts)[0]);
    blocks.insert(isColumns && columnsOutside ? blocks.begin() : blocks.end(), (*parts)[1]);
    if (size)
      inner.push_back((*parts)[2]);
  }
  Loops order(units);
  order.append(blocks);
  outside = order.size();
  order.append(inner);
  order.append(summed);
  if (failed(schedule.reorder(order)))
    return failure();
  return success(root->id == sum.id || succeeded(schedule.computeAt(sum, blocks.back())));
}

LogicalResult Tiling::sumInRegisters() {
  Loops loops = *schedule.getLoops(sum), inner(ArrayRef(loops).drop_front(outside));
  FailureOr<KernelSchedule::Block> init = schedule.decomposeReduction(sum, inner.front());
  if (failed(init))
    return failure();
  size_t spatial = schedule.getLoops(*init)->size() - outside;
  Loops order(ArrayRef(inner).drop_front(spatial));
  int64_t extent = tile::estimate(tile::countOf(schedule, order.back()));
  auto together = sample(schedule, {1, 2, 3, 4, 5, 7, 8}, 4, std::max<int64_t>(1, extent));
  auto parts = failed(together) ? FailureOr<Loops>(failure()) : schedule.split(order.back(), {std::nullopt, *together});
  if (failed(parts))
    return failure();
  order.back() = parts->front();
  order.push_back(parts->back());
  order.append(inner.begin(), inner.begin() + spatial);
  if (failed(schedule.reorder(order)) || failed(schedule.unroll(parts->back())))
    return failure();
  Loops initLoops = *schedule.getLoops(*init);
  for (ArrayRef<Loop> tile : {ArrayRef<Loop>(inner).take_front(spatial), ArrayRef<Loop>(initLoops).drop_front(outside)})
    for (Loop loop : tile)
      if (failed(loop.id == tile.back().id ? schedule.vectorize(loop) : schedule.unroll(loop)))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static bool isSumOfReused(BlockOp block, const target::Machine &) { return isUntouched(block) && reusesData(block); }

/// Widths to try: lanes of the widest vectors, several vectors, or the panels of an operand.
static constexpr int64_t columnCounts[] = {64, 48, 32, 16, 8, 4, 2, 1};

/// The intrinsic accepts the panel width of the operands; a trial finds which one.
static LogicalResult tileForIntrinsic(KernelSchedule &schedule, KernelSchedule::Block sum, unsigned form,
                                      const target::Machine &target) {
  BlockOp op = schedule.operation(sum);
  Type type = cast<tile::BufferType>(tile::buffersOf(op, /*isWritten=*/true).front().getType()).getElementType();
  SmallVector<Loop> spatial = spatialLoops(schedule, sum);
  if (tile::intrinsicsFor(op, target).empty() || spatial.size() < 2)
    return schedule.refuse("no intrinsic computes with its types");
  std::optional<int64_t> extent = tile::countOf(schedule, spatial[spatial.size() - 2]).constant();
  for (int64_t columns : columnCounts)
    for (bool wantsCopy : {false, true}) {
      int64_t rows = tile::rowsInRegisters(type, columns, 1, extent, target);
      auto steps = [&](KernelSchedule &trial) {
        Tiling tiling(trial, sum, target);
        return success(succeeded(tiling.divide(columns, rows, wantsCopy, form == 1)) &&
                       succeeded(tiling.giveToIntrinsic()));
      };
      if (succeeded(schedule.tryOut(steps)))
        return steps(schedule);
    }
  return failure();
}

const SketchRule tensorTilesRule = {"tiles of an intrinsic", isSumOfReused, tileForIntrinsic, 2};

static LogicalResult tileForRegisters(KernelSchedule &schedule, KernelSchedule::Block sum, unsigned form,
                                      const target::Machine &target) {
  SmallVector<Loop> spatial = spatialLoops(schedule, sum);
  int64_t lanes = target.vectorLanes(4);
  std::optional<int64_t> extent = spatial.empty() ? std::nullopt : tile::countOf(schedule, spatial.back()).constant();
  while (extent && lanes > 1 && lanes > *extent)
    lanes /= 2;
  Tiling tiling(schedule, sum, target);
  return success(succeeded(tiling.divide(lanes, usualRows, /*wantsCopy=*/true, form == 1)) &&
                 succeeded(tiling.sumInRegisters()));
}

const SketchRule tilesRule = {"tiles", isSumOfReused, tileForRegisters, 2};
} // namespace perpend::tune
