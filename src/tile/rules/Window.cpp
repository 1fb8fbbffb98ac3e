//===- Window.cpp - the rule for sums along which neighbours stay neighbours ----===//
//
// A depthwise convolution with channels last, a pool: of each operand, neighbours
// along the last dimension of the result are neighbours or the same element. A
// tile of a few positions by a vector of that dimension is summed in registers,
// and what follows is computed of it there.
//
//   %x0, %x1 = split %x, [_, 4]              %c0, %c1 = split %c, [_, 8]
//   reorder %x0, %c0, %x1, %c1
//   compute_at %conv, %c0                    (where nothing follows: of its cache_write)
//   %init = decompose_reduction %conv, %x
//   reorder %k0, %k1, %x, %c                 unroll %k1, unroll %x, vectorize %c
//   %f = fuse %n, %y                         parallel %f
//
//===----------------------------------------------------------------------===//

#include "tile/Buffers.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using LoopHandle = KernelSchedule::Loop;
using BlockHandle = KernelSchedule::Block;

/// Positions of a tile; sums of more elements want other ways, for speed and for accuracy.
static constexpr int64_t mostPositions = 4, mostSummed = 1024, mostUnrolled = 8, leastLanes = 4;

namespace {
struct Window {
  BlockOp sum, root;
  int64_t positions = 0, lanes = 0;
};
} // namespace

/// The loops of the reduced iterators stand inside of the others.
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

/// Whether neighbours along the last loop are neighbours, or the same element, in all that the block touches; of what
/// is read at each position there are neighbours, or it is a product, which has a rule of its own.
static bool keepsNeighbours(BlockOp block, ForOp last, ForOp position) {
  KernelIndices indices;
  return llvm::all_of(accessesIn(block), [&](const Access &access) {
    SymbolicInt place = indices.positionOf(access);
    IndexAlong along = indices.along(place, last, access.op);
    return along.isContiguous() ||
           (along.isUniform() && !access.isStore() && !usesLoop(place, position, indices.names));
  });
}

static std::optional<Window> windowOf(func::FuncOp kernel, const target::TargetInfo &target) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  if (blocks.empty() || blocks.size() > 2 || !blocks.front().isReduction() ||
      blocks.back().isReduction() == (blocks.size() == 2))
    return std::nullopt;
  Window window{blocks.front(), blocks.back(), mostPositions, 0};
  std::optional<unsigned> count = spatialLoops(window.sum);
  SmallVector<ForOp> sumLoops = loopsAround(window.sum), rootLoops = loopsAround(window.root);
  if (!count || *count < 2 || !isShortSum(window.sum) || (window.root != window.sum && rootLoops.size() != *count))
    return std::nullopt;
  KernelIndices indices;
  ForOp last = sumLoops[*count - 1], rootLast = rootLoops[*count - 1];
  bool isFew =
      window.sum
          .walk([](Operation *op) {
            return op->getNumRegions() && !isa<InitOp, BlockOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  if (isFew || !keepsNeighbours(window.sum, last, sumLoops[*count - 2]) ||
      !keepsNeighbours(window.root, rootLast, rootLoops[*count - 2]) ||
      indices.extentOf(last) != indices.extentOf(rootLast))
    return std::nullopt;
  int64_t widest = 1;
  for (BlockOp block : blocks)
    for (const Access &access : accessesIn(block))
      widest = std::max(widest, elementBytes(cast<BufferType>(access.buffer().getType()).getElementType()));
  window.lanes = target.vectorLanes(widest);
  std::optional<int64_t> columns = indices.extentOf(last).constant(),
                         rows = indices.extentOf(rootLoops[*count - 2]).constant();
  while (columns && window.lanes > *columns)
    window.lanes /= 2;
  while (rows && window.positions > *rows)
    window.positions /= 2;
  return window.lanes < leastLanes ? std::nullopt : std::optional(window);
}

static bool isWindow(func::FuncOp kernel, const target::TargetInfo &target) {
  return windowOf(kernel, target).has_value();
}

/// The sum's own loops, inside of the loop at which it is computed.
static LogicalResult scheduleSum(KernelSchedule &schedule, BlockHandle sum, unsigned outerLoops) {
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

static LogicalResult scheduleWindow(KernelSchedule &schedule, func::FuncOp kernel, const target::TargetInfo &target) {
  Window window = *windowOf(kernel, target);
  FailureOr<BlockHandle> sum = schedule.getBlock(window.sum.getName());
  FailureOr<BlockHandle> root =
      window.root == window.sum ? schedule.cacheWrite(*sum, "local") : schedule.getBlock(window.root.getName());
  if (failed(root))
    return failure();
  SmallVector<LoopHandle> loops = *schedule.getLoops(*root);
  SmallVector<LoopHandle> outer(ArrayRef(loops).drop_back(2));
  auto positions = schedule.split(loops[loops.size() - 2], window.positions);
  auto columns = schedule.split(loops.back(), window.lanes);
  if (failed(positions) || failed(columns) ||
      failed(schedule.reorder({positions->first, columns->first, positions->second, columns->second})) ||
      failed(schedule.computeAt(*sum, columns->first)) || failed(scheduleSum(schedule, *sum, outer.size() + 2)) ||
      failed(schedule.unroll(positions->second)) || failed(schedule.vectorize(columns->second)))
    return failure();
  if (outer.empty())
    outer.push_back(positions->first);
  FailureOr<LoopHandle> units = schedule.fuse(outer);
  return failed(units) ? failure() : schedule.parallel(*units);
}

const Rule perpend::tile::windowRule = {"window", isWindow, scheduleWindow};
