//===- Window.cpp - the rule for sums over contiguous windows -------------===//
//
// For depthwise convolutions with channels last, and pools: each operand is contiguous or invariant along the last
// dimension of the result (the columns). A tile of a few positions by one vector of columns is summed in registers,
// and the epilogue runs on it.
//
// Windows of neighbouring rows read the same elements. If the innermost cache does not hold these for all columns, a
// block of rows is computed for one vector of columns after another. Threads take whole blocks, so that they share few
// cache lines. If the vectors of a row are a power of two apart, they fall into few sets of that cache; if the cache
// then holds only half of each row, one half of the block's rows is computed after the other.
//
//   %x0, %x1 = split %x, [_, 7]              %c0, %c1 = split %c, [_, 8]
//   %y0, %y1 = split %y, [_, 14]             reorder %y0, %c0, %y1, %x0, %x1, %c1
//   compute_at %conv, %x0                    (without an epilogue: in the loops of its cache_write)
//   %init = decompose_reduction %conv, %x
//   reorder %k0, %k1, %x, %c                 unroll %k1, unroll %x, vectorize %c
//   %f = fuse %n, %y0, %c0, %y1              parallel %f
//
//===----------------------------------------------------------------------===//

#include "tile/cost/KernelCost.h"
#include "tile/kernel/Buffers.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"

#include <numeric>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using LoopHandle = KernelSchedule::Loop;
using BlockHandle = KernelSchedule::Block;

/// Positions of a tile.
static constexpr int64_t leastPositions = 4, usualPositions = 8, mostRows = 16;
/// Limits: longer sums are left to other rules, for speed and accuracy.
static constexpr int64_t mostSummed = 1024, mostUnrolled = 8, mostProducts = 32, leastLanes = 4;

namespace {
struct Window {
  BlockOp sum, root;
  int64_t positions = 0, lanes = 0;
  unsigned outside = 0; // number of loops outside the overlapping ones
  int64_t tiles = 0;    //  tiles of a row that stay in the first cache until the next row; 0: all
  bool fillsVectors = false;
  bool sumsBytes = false;
  bool isApart = false; // positions share no operand, and columns are several whole vectors
};
} // namespace

/// The loops of the reduced iterators must be inside the spatial ones.
static std::optional<unsigned> spatialLoops(BlockOp block) {
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(block);
  unsigned count = 0;
  bool isInside = false;
  for (ForOp loop : loopsAround(block)) {
    auto binding = llvm::find(bindings, indices.names.symbol(loop.variable()));
    bool isReduced = binding != bindings.end() && block.kind(binding - bindings.begin()) == IteratorKind::Reduced;
    if (binding == bindings.end() || (isInside && !isReduced))
      return std::nullopt;
    isInside |= isReduced;
    count += !isReduced;
  }
  return isInside ? std::optional(count) : std::nullopt;
}

static bool isShortSum(BlockOp block) {
  int64_t elements = 1;
  for (auto [i, extent] : llvm::enumerate(block.getDomain().values()))
    if (block.kind(i) == IteratorKind::Reduced)
      elements *= std::clamp<int64_t>(extent.constant().value_or(mostSummed + 1), 1, mostSummed + 1);
  return elements <= mostSummed;
}

/// Whether all accesses of the block are contiguous or invariant along the last loop. The operand read at each position
/// must be contiguous; otherwise the sum is a matrix product, which has its own rule.
static bool keepsNeighbours(BlockOp block, ForOp last, ForOp position) {
  KernelIndices indices;
  return llvm::all_of(accessesIn(block), [&](const Access &access) {
    SymbolicInt place = indices.positionOf(access);
    IndexAlong along = indices.along(place, last, access.op);
    return along.isContiguous() ||
           (along.isUniform() && !access.isStore() && !usesLoop(place, position, indices.names));
  });
}

/// Whether windows at neighbouring iterations of `loop` have elements of this index in common: those that the loops of
/// the sum reach are as many as it moves by, or more. Assumed if a stride or an extent is not known.
static bool reachesNext(KernelIndices &indices, const SymbolicInt &index, Operation *access, ForOp loop,
                        ArrayRef<ForOp> moving) {
  auto strideAlong = [&](ForOp one) {
    std::optional<SymbolicInt> stride = indices.along(index, one, access).stride;
    return stride ? stride->constant() : std::nullopt;
  };
  int64_t reach = 0;
  for (ForOp one : moving) {
    std::optional<int64_t> stride = strideAlong(one), extent = indices.extentOf(one).constant();
    if (!stride || !extent)
      return true;
    reach += std::abs(*stride) * std::max<int64_t>(*extent - 1, 0);
  }
  std::optional<int64_t> step = strideAlong(loop);
  return !step || reach >= std::abs(*step);
}

/// The loops of the sum that move an index which `loop` moves, too, so that windows along it overlap.
static SmallVector<ForOp> overlapsAlong(BlockOp block, ForOp loop, ArrayRef<ForOp> summed) {
  KernelIndices indices;
  SmallVector<ForOp> found;
  for (const Access &access : accessesIn(block))
    for (const SymbolicInt &index : indices.indicesOf(access)) {
      if (!usesLoop(index, loop, indices.names))
        continue;
      SmallVector<ForOp> moving;
      llvm::copy_if(summed, std::back_inserter(moving),
                    [&](ForOp other) { return usesLoop(index, other, indices.names); });
      if (moving.empty() || !reachesNext(indices, index, access.op, loop, moving))
        continue;
      llvm::copy_if(moving, std::back_inserter(found), [&](ForOp other) { return !llvm::is_contained(found, other); });
    }
  return found;
}

/// Whether sums at different positions read the same elements: their windows overlap, or one operand is for all of
/// them.
static bool sharesOperands(BlockOp sum, ForOp position, ArrayRef<ForOp> summed) {
  KernelIndices indices;
  return !overlapsAlong(sum, position, summed).empty() || llvm::any_of(accessesIn(sum), [&](const Access &access) {
    return !access.isStore() && !usesLoop(indices.positionOf(access), position, indices.names);
  });
}

/// The number of loops outside those along which windows overlap; all, if the innermost cache holds the input of all
/// columns, or if there is no cache.
static unsigned loopsOutside(BlockOp sum, ArrayRef<ForOp> outer, ArrayRef<ForOp> tile, ArrayRef<ForOp> summed,
                             int64_t elementBytes, const target::Machine &target) {
  unsigned outside = 0;
  while (outside < outer.size() && overlapsAlong(sum, outer[outside], summed).empty())
    ++outside;
  KernelIndices indices;
  auto bytes = double(elementBytes);
  for (ForOp loop : tile)
    bytes *= double(estimate(indices.extentOf(loop)));
  for (ForOp loop : outer.drop_front(outside))
    for (ForOp other : overlapsAlong(sum, loop, summed))
      bytes *= double(estimate(indices.extentOf(other)));
  const auto cache = double(target.nearCacheBytes());
  return cache > 0 && bytes > cache / 2 ? outside : outer.size();
}

/// The number of lines of the innermost cache that vectors at this distance can occupy; a way has 4 KiB.
static int64_t linesApart(int64_t bytes, const target::Machine &target) {
  const int64_t line = target.lineBytes(), setsOfWay = 4096 / line;
  int64_t ways = std::max<int64_t>(1, static_cast<int64_t>(target.nearCacheBytes()) / (line * setsOfWay));
  return ways * setsOfWay / (bytes % line == 0 ? std::gcd(bytes / line, setsOfWay) : 1);
}

static int64_t product(ArrayRef<ForOp> loops) {
  int64_t extents = 1;
  KernelIndices indices;
  for (ForOp loop : loops)
    extents *= estimate(indices.extentOf(loop));
  return extents;
}

/// The number of positions of a row to process for a block of rows, such that what the windows of one row have read is
/// still in the cache for the next. Results are written there, too.
static std::optional<int64_t> positionsThatStay(BlockOp sum, ForOp row, ForOp position, ArrayRef<ForOp> summed,
                                                const target::Machine &target) {
  SmallVector<ForOp> high = overlapsAlong(sum, row, summed), wide = overlapsAlong(sum, position, summed);
  if (high.empty() || wide.size() != 1)
    return std::nullopt;
  KernelIndices indices;
  for (const Access &access : accessesIn(sum)) {
    SymbolicInt place = indices.positionOf(access);
    IndexAlong step = indices.along(place, position, access.op), pixel = indices.along(place, wide.front(), access.op);
    if (access.isStore() || step.isUniform() || !step.stride || !pixel.stride)
      continue;
    std::optional<int64_t> apart = pixel.stride->constant(), next = step.stride->constant();
    if (!apart || !next || *apart < 1 || *next < *apart)
      continue;
    int64_t bytes = elementBytes(cast<BufferType>(access.buffer().getType()).getElementType());
    int64_t lines = linesApart(*apart * bytes, target) * 2 / 3, rows = product(high);
    return (lines - rows * (product(wide) - 1)) / (rows * (*next / *apart) + 1);
  }
  return std::nullopt;
}

/// The positions of a tile: the largest divisor up to `usual`, else a larger divisor, else the size that leaves the
/// fewest positions over, whose sums are not in registers.
static int64_t positionsOfTile(std::optional<int64_t> count, int64_t usual, int64_t most) {
  if (!count)
    return leastPositions;
  int64_t best = leastPositions;
  for (int64_t size = leastPositions; size <= std::min(*count, most); ++size)
    if (*count % size < *count % best || (*count % size == *count % best && size <= usual))
      best = size;
  return std::min(*count, best);
}

/// A sum in i32 of values read as bytes: several contiguous products can be added at once (tile/intrinsics/Words.h).
static bool isOfBytes(BlockOp sum) {
  return llvm::all_of(accessesIn(sum), [](const Access &access) {
    Type element = cast<BufferType>(access.buffer().getType()).getElementType();
    bool isSum = access.isStore() || access.op->getResult(0).getType().isInteger(32);
    return element.isInteger(isSum ? 32 : 8);
  });
}

static std::optional<Window> windowOf(SmallVector<BlockOp> blocks, const target::Machine &target, std::string &why) {
  if (blocks.empty() || blocks.size() > 2 || !blocks.front().isReduction() ||
      blocks.back().isReduction() == (blocks.size() == 2))
    return std::nullopt;
  Window window{blocks.front(), blocks.back()};
  std::optional<unsigned> count = spatialLoops(window.sum);
  SmallVector<ForOp> sumLoops = loopsAround(window.sum), rootLoops = loopsAround(window.root);
  if (!count || *count < 2 || !isShortSum(window.sum) || (window.root != window.sum && rootLoops.size() != *count))
    return std::nullopt;
  KernelIndices indices;
  ForOp last = sumLoops[*count - 1], rootLast = rootLoops[*count - 1];
  scf::IfOp choice = choiceToChange(window.sum);
  bool isFew = window.sum
                   .walk([&](Operation *op) {
                     bool isPlain = op->getNumRegions() == 0 || isa<InitOp, BlockOp>(op) || op == choice;
                     return isPlain ? WalkResult::advance() : WalkResult::interrupt();
                   })
                   .wasInterrupted();
  if (!keepsNeighbours(window.sum, last, sumLoops[*count - 2]) ||
      !keepsNeighbours(window.root, rootLast, rootLoops[*count - 2]))
    return std::nullopt;
  if (isFew || indices.extentOf(last) != indices.extentOf(rootLast)) {
    why = isFew ? "its summand has a condition" : "the epilogue has other columns";
    return std::nullopt;
  }
  int64_t widest = 1;
  for (BlockOp block : blocks)
    for (const Access &access : accessesIn(block))
      widest = std::max(widest, elementBytes(cast<BufferType>(access.buffer().getType()).getElementType()));
  window.lanes = target.vectorLanes(widest);
  std::optional<int64_t> columns = indices.extentOf(last).constant(),
                         rows = indices.extentOf(rootLoops[*count - 2]).constant();
  while (columns && window.lanes > *columns)
    window.lanes /= 2;
  if (window.lanes < leastLanes)
    return why = "a vector has less than " + std::to_string(leastLanes) + " columns", std::nullopt;
  bool isWide = columns && *columns >= leastPositions * window.lanes && *columns % window.lanes == 0;
  window.isApart = isWide && !sharesOperands(window.sum, sumLoops[*count - 2], ArrayRef(sumLoops).drop_front(*count));
  window.positions = positionsOfTile(rows, usualPositions, target.mostSums());
  window.sumsBytes = isOfBytes(window.sum);
  window.fillsVectors = columns && *columns % window.lanes == 0;
  window.outside =
      loopsOutside(window.sum, ArrayRef(sumLoops).take_front(*count - 2), ArrayRef(sumLoops).slice(*count - 2, 2),
                   ArrayRef(sumLoops).drop_front(*count), widest, target);
  if (window.outside + 2 < *count && rows)
    if (std::optional<int64_t> stay = positionsThatStay(window.sum, sumLoops[window.outside], sumLoops[*count - 2],
                                                        ArrayRef(sumLoops).drop_front(*count), target)) {
      int64_t all = llvm::divideCeil(*rows, window.positions);
      int64_t parts = llvm::divideCeil(all, std::max<int64_t>(1, *stay / window.positions));
      // More parts would be too short to amortise their start.
      window.tiles = parts == 2 ? llvm::divideCeil(all, parts) : 0;
    }
  return window;
}

static bool isWindow(func::FuncOp kernel, const target::Machine &target, std::string &why) {
  std::optional<Window> window = windowOf(blocksOf(kernel), target, why);
  if (window && window->isApart)
    why = "its positions share no operand: longer vectors of columns read whole lines";
  return window && !window->isApart;
}

bool perpend::tile::areWindows(ArrayRef<BlockOp> blocks, const target::Machine &target) {
  std::string why;
  return windowOf(SmallVector<BlockOp>(blocks), target, why).has_value();
}

/// Unrolls all products of a position; those of one column of the window become neighbours.
static LogicalResult unrollWindow(KernelSchedule &schedule, ArrayRef<LoopHandle> spatial,
                                  ArrayRef<LoopHandle> reduced) {
  SmallVector<LoopHandle> order(spatial);
  order.append(reduced.rbegin(), reduced.rend());
  if (failed(schedule.reorder(order)))
    return failure();
  int64_t products = 1;
  for (LoopHandle loop : reduced) {
    products *= schedule.operation(loop).getExtent().values().front().constant().value_or(mostProducts + 1);
    if (products <= mostProducts && failed(schedule.unroll(loop)))
      return failure();
  }
  for (LoopHandle loop : spatial)
    if (failed(loop.id == spatial.back().id ? schedule.vectorize(loop) : schedule.unroll(loop)))
      return failure();
  return success();
}

/// Schedules the sum's own loops, inside the loop at which it is computed.
static LogicalResult scheduleSum(KernelSchedule &schedule, BlockHandle sum, unsigned outerLoops, bool sumsBytes) {
  SmallVector<LoopHandle> loops = *schedule.getLoops(sum);
  SmallVector<LoopHandle> inner(ArrayRef(loops).drop_front(outerLoops));
  BlockOp op = schedule.operation(sum);
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(op);
  SmallVector<LoopHandle> spatial, reduced;
  for (LoopHandle loop : inner) {
    auto uses = [&](const SymbolicInt &binding) { return usesLoop(binding, schedule.operation(loop), indices.names); };
    unsigned iterator = llvm::find_if(bindings, uses) - bindings.begin();
    (op.kind(iterator) == IteratorKind::Spatial ? spatial : reduced).push_back(loop);
  }
  if (sumsBytes)
    return unrollWindow(schedule, spatial, reduced);
  FailureOr<BlockHandle> init = schedule.decomposeReduction(sum, inner.front());
  if (failed(init))
    return failure();
  SmallVector<LoopHandle> initLoops = *schedule.getLoops(*init), order(reduced);
  order.append(spatial);
  if (failed(schedule.reorder(order)))
    return failure();
  std::optional<int64_t> last = schedule.operation(reduced.back()).getExtent().values().front().constant();
  if (last && *last <= mostUnrolled && failed(schedule.unroll(reduced.back())))
    return failure();
  for (ArrayRef<LoopHandle> tile : {ArrayRef<LoopHandle>(spatial), ArrayRef(initLoops).drop_front(outerLoops)})
    for (LoopHandle loop : tile)
      if (failed(loop.id == tile.back().id ? schedule.vectorize(loop) : schedule.unroll(loop)))
        return failure();
  return success();
}

/// The loops around a tile; the first `units` are the units.
struct Order {
  SmallVector<LoopHandle> loops;
  size_t units;
};

/// If windows overlap, the loop over columns goes around a block of rows, whose memory is contiguous: threads then
/// write separate lines, and read what they wrote in the previous kernel. Columns that do not fill the last vector
/// remain a loop with its own end.
static FailureOr<Order> orderOf(KernelSchedule &schedule, const Window &window, SmallVector<LoopHandle> outer,
                                LoopHandle positions, LoopHandle columns) {
  if (window.outside == outer.size()) {
    size_t units = std::max<size_t>(1, outer.size());
    outer.append({positions, columns});
    return Order{outer, units};
  }
  auto *slid = outer.begin() + window.outside;
  int64_t usual = window.fillsVectors ? mostRows : usualPositions; // otherwise a block is a unit
  auto parts = schedule.split(*slid, positionsOfTile(countOf(schedule, *slid).constant(), usual, mostRows));
  if (failed(parts))
    return failure();
  *slid = parts->second;
  if (window.tiles) {
    auto ofRow = schedule.split(positions, window.tiles);
    if (failed(ofRow))
      return failure();
    slid = outer.insert(slid, ofRow->first);
    positions = ofRow->second;
  }
  slid = outer.insert(slid, columns);
  outer.insert(slid, parts->first);
  outer.push_back(positions);
  return Order{outer, window.fillsVectors ? outer.size() - (window.tiles ? 3 : 1) : window.outside + 1};
}

FailureOr<LoopHandle> perpend::tile::scheduleWindows(KernelSchedule &schedule, ArrayRef<BlockOp> blocks,
                                                     const target::Machine &target) {
  std::string why;
  Window window = *windowOf(SmallVector<BlockOp>(blocks), target, why);
  FailureOr<BlockHandle> sum = schedule.getBlock(window.sum.getName());
  FailureOr<BlockHandle> root =
      window.root == window.sum ? schedule.cacheWrite(*sum, "local") : schedule.getBlock(window.root.getName());
  if (failed(root))
    return failure();
  SmallVector<LoopHandle> loops = *schedule.getLoops(*root);
  auto positions = schedule.split(loops[loops.size() - 2], window.positions);
  auto columns = schedule.split(loops.back(), window.lanes);
  if (failed(positions) || failed(columns))
    return failure();
  loops.truncate(loops.size() - 2);
  FailureOr<Order> order = orderOf(schedule, window, loops, positions->first, columns->first);
  if (failed(order))
    return failure();
  LoopHandle innermost = order->loops.back();
  size_t outer = order->loops.size();
  order->loops.append({positions->second, columns->second});
  if (failed(schedule.reorder(order->loops)) || failed(schedule.computeAt(*sum, innermost)) ||
      failed(scheduleSum(schedule, *sum, outer, window.sumsBytes)) || failed(schedule.unroll(positions->second)) ||
      failed(schedule.vectorize(columns->second)))
    return failure();
  return fuseUnits(schedule, ArrayRef(order->loops).take_front(order->units));
}

static LogicalResult scheduleWindow(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  return scheduleWindows(schedule, blocksOf(kernel), target);
}

const Rule perpend::tile::windowRule = {"window", isWindow, scheduleWindow};
