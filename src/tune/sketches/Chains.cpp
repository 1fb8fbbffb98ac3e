//===- Chains.cpp - sketch rules for chains of values ---------------------===//
//
// The rules inline, partial sums, parallel, location and vectors of Sketches.def, in this order:
//
//   compute_inline %map                          (if one block reads its value)
//   %k0, %k1 = split %k, [_, %lanes]             %part = rfactor %k1, 1
//   %f = fuse %i0, %i1                           parallel %f
//   %l = sample_compute_location %sum            compute_at %sum, %l
//   %j0, %j1, %j2 = split %j, [_, %together, %lanes]   unroll %j1, vectorize %j2
//
//===----------------------------------------------------------------------===//

#include "tile/cost/KernelCost.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"
#include "tune/sketches/Sketches.h"

using namespace mlir;
using perpend::tile::BlockOp;
using perpend::tile::KernelSchedule;
using Loop = KernelSchedule::Loop;

namespace perpend::tune {

//===----------------------------------------------------------------------===//
// Inlining
//===----------------------------------------------------------------------===//

/// The blocks that read what a block writes into a local buffer.
static SmallVector<BlockOp> readersOf(BlockOp block) {
  SmallVector<BlockOp> readers;
  for (Value buffer : tile::buffersOf(block, /*isWritten=*/true))
    for (Operation *reader : tile::readersOf(block->getParentOfType<func::FuncOp>(), buffer))
      if (reader != block)
        readers.push_back(cast<BlockOp>(reader));
  return readers;
}

static bool isReadOnce(BlockOp block, const target::Machine &) {
  SmallVector<BlockOp> readers = readersOf(block);
  return readers.size() == 1 && !block.isReduction() && isUntouched(block) &&
         readers.front().getDomain().values().size() == block.getDomain().values().size() &&
         llvm::equal(readers.front().getDomain().values(), block.getDomain().values());
}

static LogicalResult inlineBlock(KernelSchedule &schedule, KernelSchedule::Block block, unsigned,
                                 const target::Machine &) {
  return schedule.computeInline(block);
}

const SketchRule inlineRule = {"inline", isReadOnce, inlineBlock};

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

/// Multiples of a vector's lanes.
static SmallVector<int64_t> lanesFor(int64_t lanes) { return {lanes, 2 * lanes, 4 * lanes}; }

static bool isAlongNeighbours(BlockOp block, const target::Machine &target) {
  SmallVector<tile::ForOp> loops = tile::loopsAround(block);
  if (!block.init() || !isUntouched(block) || reusesData(block) || loops.empty())
    return false;
  tile::KernelIndices indices;
  std::optional<int64_t> extent = indices.extentOf(loops.back()).constant();
  return extent && *extent % target.vectorLanes(4) == 0 && *extent > target.vectorLanes(4) &&
         llvm::all_of(tile::accessesIn(block), [&](const tile::Access &access) {
           tile::IndexAlong along = indices.along(indices.positionOf(access), loops.back(), access.op);
           return along.isContiguous() || along.isUniform();
         });
}

static LogicalResult sumInParts(KernelSchedule &schedule, KernelSchedule::Block block, unsigned,
                                const target::Machine &target) {
  SmallVector<Loop> loops = *schedule.getLoops(block);
  int64_t extent = *tile::countOf(schedule, loops.back()).constant();
  auto sum = cast<tile::BufferType>(tile::buffersOf(schedule.operation(block), /*isWritten=*/true).front().getType());
  SmallVector<int64_t> lanes = lanesFor(target.vectorLanes(4));
  llvm::erase_if(lanes, [&](int64_t count) { return extent % count != 0; });
  auto count = sample(schedule, lanes, 4 * lanes.front(), extent);
  auto parts =
      failed(count) ? FailureOr<SmallVector<Loop>>(failure()) : schedule.split(loops.back(), {std::nullopt, *count});
  return failed(parts) ? failure() : LogicalResult(schedule.rfactor(parts->back(), sum.rank()));
}

const SketchRule partialSumsRule = {"partial sums", isAlongNeighbours, sumInParts, 1, /*isOptional=*/true};

//===----------------------------------------------------------------------===//
// Units, and locations of the other blocks
//===----------------------------------------------------------------------===//

static bool isInUnits(BlockOp block) {
  return llvm::any_of(tile::loopsAround(block),
                      [](tile::ForOp loop) { return loop.getKind() == tile::LoopKind::Parallel; });
}

static bool isResult(BlockOp block) { return readersOf(block).empty(); }

static bool hasNoUnits(BlockOp block, const target::Machine &) {
  return isResult(block) && !isInUnits(block) && !block->getParentOfType<BlockOp>();
}

/// Makes parts of the only loop, or outer loops, parallel.
static LogicalResult runInParallel(KernelSchedule &schedule, KernelSchedule::Block block, unsigned,
                                   const target::Machine &) {
  SmallVector<Loop> loops = spatialLoops(schedule, block);
  if (loops.empty())
    return failure();
  bool isInnermost = schedule.operation(loops.back()).getOperation() == schedule.operation(block)->getParentOp();
  if (isInnermost && loops.size() > 1)
    loops.pop_back();
  else if (isInnermost) {
    auto size = sample(schedule, {64, 256, 1024, 4096, 16384}, 4096, INT64_MAX);
    auto parts =
        failed(size) ? FailureOr<SmallVector<Loop>>(failure()) : schedule.split(loops.front(), {std::nullopt, *size});
    if (failed(parts))
      return failure();
    loops.front() = parts->front();
  }
  return tile::runUnits(schedule, tile::unitsAmong(schedule, loops));
}

const SketchRule parallelRule = {"parallel", hasNoUnits, runInParallel};

static bool isForOthers(BlockOp block, const target::Machine &) { return isUntouched(block) && !isResult(block); }

static LogicalResult moveToReader(KernelSchedule &schedule, KernelSchedule::Block block, unsigned,
                                  const target::Machine &) {
  for (int64_t decision = 0; decision < mostLocations; ++decision)
    if (FailureOr<Loop> loop = schedule.sampleComputeLocation(block, decision); succeeded(loop))
      return schedule.computeAt(block, *loop);
  return failure();
}

const SketchRule locationRule = {"compute location", isForOthers, moveToReader};

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

static bool isVector(tile::ForOp loop, const target::Machine &target) {
  return loop.getKind() == tile::LoopKind::Serial && tile::lanesOf(loop, target) > 0;
}

/// Whether the block is a sum over a vector's lanes of partial sums, whose loops are outside.
static bool sumsLanes(BlockOp block, const target::Machine &target) {
  SmallVector<tile::ForOp> loops = tile::loopsAround(block);
  tile::KernelIndices indices;
  return block.init() && loops.size() >= 2 && indices.extentOf(loops[loops.size() - 2]).isConstant() &&
         isVector(loops[loops.size() - 2], target);
}

static bool hasVectors(BlockOp block, const target::Machine &target) {
  SmallVector<tile::ForOp> loops = tile::loopsAround(block);
  return !block->getParentOfType<BlockOp>() && !loops.empty() &&
         (isVector(loops.back(), target) || sumsLanes(block, target));
}

static LogicalResult sumLanes(KernelSchedule &schedule, KernelSchedule::Block block) {
  SmallVector<Loop> loops = *schedule.getLoops(block);
  Loop lanes = loops[loops.size() - 2];
  FailureOr<KernelSchedule::Block> init = schedule.decomposeReduction(block, lanes);
  if (failed(init) || failed(schedule.reorder({loops.back(), lanes})) || failed(schedule.vectorize(lanes)))
    return failure();
  return schedule.vectorize(schedule.getLoops(*init)->back());
}

static LogicalResult runAsVectors(KernelSchedule &schedule, KernelSchedule::Block block, unsigned,
                                  const target::Machine &target) {
  constexpr int64_t leastLanes = 4;
  Loop last = schedule.getLoops(block)->back();
  if (!isVector(schedule.operation(last), target))
    return sumLanes(schedule, block);
  std::optional<int64_t> extent = tile::countOf(schedule, last).constant();
  int64_t lanes = tile::lanesOf(schedule.operation(last), target);
  while (extent && lanes > *extent)
    lanes /= 2;
  if (lanes < leastLanes)
    return failure();
  if (extent && *extent <= 4 * lanes && llvm::isPowerOf2_64(*extent))
    return schedule.vectorize(last);
  auto width = sample(schedule, lanesFor(lanes), lanes, extent.value_or(INT64_MAX));
  auto together = sample(schedule, {1, 2, 3, 4, 8}, 1, extent ? std::max<int64_t>(1, *extent / lanes) : 8);
  if (failed(width) || failed(together))
    return failure();
  auto loops = schedule.split(last, {std::nullopt, *together, *width});
  return success(succeeded(loops) && succeeded(schedule.unroll((*loops)[1])) &&
                 succeeded(schedule.vectorize(loops->back())));
}

const SketchRule vectorsRule = {"vectors", hasVectors, runAsVectors, 1, /*isOptional=*/true};
} // namespace perpend::tune
