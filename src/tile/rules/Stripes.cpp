//===- Stripes.cpp - the rule for products that windows combine -----------===//
//
// For a sum of products whose results, or what a map makes of them, are combined in windows that have no element in
// common (a convolution and the pooling behind it). A unit is a line of windows: it computes the lines of products
// below it, in a local buffer, and combines these. So the results of the products are never in memory all at once.
//
//   %y, %x, %c = get_loops %pool             as by the rule `window`, or as it is
//   %u = fuse %n, %y                         parallel %u
//   compute_at %map, %u
//   %u, %y1, %x1, %c1 = get_loops %map
//   %x2, %r = split %x1, [_, 4]              a block of rows for registers
//   %p, %c2 = split %c1, [_, 2]              a panel
//   reorder %y1, %x2, %p, %r, %c2
//   compute_at %conv, %p                     tensorize …, "i8.block"
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Product.h"

#include "graph/Shapes.h"
#include "tile/kernel/Buffers.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class StripesRule : RuleBody {
public:
  using RuleBody::RuleBody;

  bool find();
  LogicalResult run();

private:
  FailureOr<Loop> divideWindows();
  LogicalResult divideProducts(Loop unit);
  BufferType sums() const { return cast<BufferType>(buffersOf(product->block, /*isWritten=*/true).front().getType()); }
  unsigned rank() const { return sums().rank(); }
  int64_t sizeAlong(unsigned dim, const SymbolicInt &extent) const;
  bool isPartOfPanel() const;
  SmallVector<std::pair<Loop, unsigned>> iteratorsInside(Block block);

  std::optional<Product> product;
  /// The map behind the product, if there is one.
  BlockOp map;
  /// The blocks of windows: the sum, and its epilogue if there is one.
  SmallVector<BlockOp> windows;
};
} // namespace

static bool reads(BlockOp block, BlockOp producer) {
  return llvm::is_contained(buffersOf(block, /*isWritten=*/false), buffersOf(producer, /*isWritten=*/true).front());
}

/// In order: the product, a map or none, the sum over windows, a map or none; each reads the one before.
bool StripesRule::find() {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  if (blocks.size() < 2 || blocks.size() > 4 || !(product = asProduct(blocks.front())))
    return false;
  for (size_t i = 1; i < blocks.size(); ++i)
    if (!reads(blocks[i], blocks[i - 1]))
      return false;
  const bool hasMap = !blocks[1].isReduction();
  if (hasMap)
    map = blocks[1];
  windows.assign(blocks.begin() + 1 + hasMap, blocks.end());
  return !windows.empty() && windows.size() <= 2 && windows.front().isReduction() && !asProduct(windows.front()) &&
         (windows.size() == 1 || !windows.back().isReduction());
}

/// Rows or columns of a register tile.
int64_t StripesRule::sizeAlong(unsigned dim, const SymbolicInt &extent) const {
  if (dim + 1 == rank())
    return product->columnsOfPanel;
  Shape domain(product->block.getDomain().values());
  ProductExtents extents{extent, domain[dim + 1], domain.back()};
  for (auto [number, length] : llvm::enumerate(domain))
    if (product->block.kind(number) == IteratorKind::Reduced)
      extents.sums.push_back(length);
  return product->rowsOfTile(extents, target);
}

/// A last panel is computed whole, so the buffer of its sums needs room for all of its columns. With a map, it holds
/// one panel, or less if there are no more columns.
bool StripesRule::isPartOfPanel() const {
  const SymbolicInt columns = sums().extents().back(), panel(product->columnsOfPanel);
  return map ? (panel - columns - SymbolicInt(1)).knownNonNegative() : support::mod(columns, panel) != SymbolicInt(0);
}

/// The loops of a block inside the first, each with the iterator that it moves.
SmallVector<std::pair<StripesRule::Loop, unsigned>> StripesRule::iteratorsInside(Block block) {
  SmallVector<std::pair<Loop, unsigned>> found;
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(schedule.operation(block));
  Loops loops = *schedule.getLoops(block);
  for (Loop loop : ArrayRef(loops).drop_front())
    for (auto [iterator, binding] : llvm::enumerate(bindings))
      if (usesLoop(binding, schedule.operation(loop), indices.names))
        found.push_back({loop, iterator});
  return found;
}

/// Makes a unit of each line of windows. Where the rule `window` does not apply, as with vectors of one element, sums
/// stay one after the other.
FailureOr<StripesRule::Loop> StripesRule::divideWindows() {
  if (areWindows(windows, target))
    return scheduleWindows(schedule, windows, target);
  FailureOr<Block> sum = schedule.getBlock(windows.front().getName());
  FailureOr<Block> root =
      windows.size() == 1 ? schedule.cacheWrite(*sum, "local") : schedule.getBlock(windows.back().getName());
  if (failed(root))
    return failure();
  Loops loops = *schedule.getLoops(*root);
  if (loops.empty() || failed(schedule.computeAt(*sum, loops.back())))
    return failure();
  return fuseUnits(schedule, ArrayRef(loops).take_front(std::max<size_t>(loops.size(), 3) - 2));
}

/// Divides the lines of products that a unit needs into blocks of rows and panels, and gives them to an intrinsic.
LogicalResult StripesRule::divideProducts(Loop unit) {
  FailureOr<Block> sum = schedule.getBlock(product->block.getName());
  FailureOr<Block> root = map ? schedule.getBlock(map.getName()) : FailureOr<Block>(*sum);
  if ((map && failed(schedule.computeAt(*root, unit))) || failed(schedule.computeAt(*sum, unit)))
    return failure();
  Loops outer = {unit}, tile, reduced;
  for (auto [loop, iterator] : iteratorsInside(*root)) {
    if (schedule.operation(*root).kind(iterator) == IteratorKind::Reduced)
      reduced.push_back(loop);
    else if (iterator + 2 < rank())
      outer.push_back(loop);
    else {
      const SymbolicInt extent = schedule.operation(loop).getExtent().values().front();
      FailureOr<Loops> parts = schedule.split(loop, {std::nullopt, sizeAlong(iterator, extent)});
      if (failed(parts))
        return failure();
      outer.push_back(parts->front());
      tile.push_back(parts->back());
    }
  }
  Loops order(ArrayRef(outer).drop_front());
  order.append(tile);
  order.append(reduced);
  if (failed(schedule.reorder(order)) || (map && failed(schedule.computeAt(*sum, outer.back()))) ||
      (isPartOfPanel() && failed(schedule.storageAlign(*sum, 0, rank() - 2, product->columnsOfPanel, 0))))
    return failure();
  return chooseIntrinsic(schedule, *sum, outer.size(), target);
}

LogicalResult StripesRule::run() {
  FailureOr<Loop> unit = divideWindows();
  return failed(unit) ? failure() : divideProducts(*unit);
}

static bool isStripes(func::FuncOp kernel, const target::Machine &target, std::string &) {
  KernelSchedule none(kernel);
  return StripesRule(none, kernel, target).find();
}

static LogicalResult scheduleStripes(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  StripesRule rule(schedule, kernel, target);
  return success(rule.find() && succeeded(rule.run()));
}

const Rule perpend::tile::stripesRule = {"stripes", isStripes, scheduleStripes};
