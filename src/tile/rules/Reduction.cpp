//===- Reduction.cpp - the rule for a single reduction --------------------===//
//
// For one reduction of any length, and its epilogue. If the last dimension of the result is contiguous in all operands
// (a mean over pixels or rows), a tile of that dimension is summed in registers:
//
//   %c0, %c1, %c2 = split %c, [_, 4, 16]
//   compute_at %sum, %c0                     (without an epilogue: in the loops of its cache_write)
//   %init = decompose_reduction %sum, %k
//   reorder %k, %c1, %c2                     unroll %c1, vectorize %c2
//   %f = fuse %n, %c0                        parallel %f
//
// Otherwise elements are computed one after another, in the given order of loops.
//
// The rounding error of a floating-point sum grows with its length. So a long sum becomes a sum of partial sums:
//
//   %k0, %k1 = split %k, [_, 512]
//   %part = rfactor %k0, 0
//   compute_at %part, %f0                    (%f0: the loop over the parts)
//
//===----------------------------------------------------------------------===//

#include "tile/cost/KernelCost.h"
#include "tile/kernel/Buffers.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Sums up to the first length are accurate enough; partial sums have at least the second.
static constexpr int64_t shortSum = 512, leastPart = 32;
/// Most unrolled iterations if nothing is vectorised.
static constexpr int64_t mostUnrolled = 64;
/// Vectors of sums per tile, the most lanes of a vector, the most columns that are summed one after another.
static constexpr int64_t usualVectors = 4, mostLanes = 64, mostColumns = 256;

namespace {
class ReductionRule : RuleBody {
public:
  using RuleBody::RuleBody;

  /// Whether the kernel is a single reduction. If only its loops are unsuitable, `why` says so.
  bool find(std::string &why);
  LogicalResult run();

private:
  bool isRounded();
  LogicalResult joinReduced();
  LogicalResult divideSum(ArrayRef<Loop> reduced);
  FailureOr<Loop> outerReduced(Loops reduced);
  void chooseTile(const SymbolicInt &columns);
  LogicalResult scheduleColumns();
  FailureOr<Loops> splitTile(Loop loop, bool isWhole);
  LogicalResult runTile(Loops tile);
  LogicalResult scheduleTile(Block block, unsigned outer, Loops *parts = nullptr);
  bool isOfVectors(Loops reduced, int64_t count);
  bool isBetterInside(unsigned spatial);
  LogicalResult scheduleElements();
  std::optional<int64_t> extentOf(Loop loop) { return countOf(schedule, loop).constant(); }

  BlockOp sumOp;
  /// Whether the sum is long and its error grows with the length.
  bool isLong = false;
  int64_t most = 0;
  std::optional<std::string> follower; ///< the epilogue's block, if there is one
  Block sum{0};
  /// The block of partial sums, and its loop over them.
  std::optional<Block> part;
  /// Lanes of a vector, and vectors per tile, along the last spatial loop; 0: not vectorised.
  int64_t lanes = 0, vectors = 0;
};
} // namespace

/// The loops of the reduced iterators must be inside the spatial ones, which the epilogue shares.
bool ReductionRule::find(std::string &why) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  if (blocks.empty() || blocks.size() > 2 || !blocks.front().isReduction() ||
      blocks.back().isReduction() == (blocks.size() == 2))
    return false;
  sumOp = blocks.front();
  size_t spatial = leadingSpatialLoops(sumOp);
  if (blocks.size() == 2) {
    follower = blocks.back().getName().str();
    if (leadingSpatialLoops(blocks.back()) != spatial || loopsAround(blocks.back()).size() != spatial)
      return why = "'" + *follower + "' has not the loops of the sums", false;
  }
  SmallVector<ForOp> loops = loopsAround(sumOp);
  if (!loopsOfIterators(sumOp, why))
    return false;
  bool areInside = llvm::all_of(ArrayRef(loops).drop_front(spatial), [&](ForOp loop) {
    KernelIndices indices;
    Shape bindings = indices.bindingsOf(sumOp);
    auto binding = llvm::find(bindings, indices.names.symbol(loop.variable()));
    return sumOp.kind(binding - bindings.begin()) == IteratorKind::Reduced;
  });
  if (!areInside)
    why = "a reduced loop is around a spatial one";
  return areInside;
}

//===----------------------------------------------------------------------===//
// Sums of sums
//===----------------------------------------------------------------------===//

/// Whether the rounding error grows with the length.
bool ReductionRule::isRounded() {
  std::string why;
  std::optional<SingleStore> single = singleStoreOf(sumOp, why);
  std::optional<Combination> combination = single ? combinationOf(sumOp, *single, why) : std::nullopt;
  return combination && isa<arith::AddFOp>(combination->combine);
}

/// Joins reduced loops that all operands traverse with one stride, except the inner part of a long sum.
LogicalResult ReductionRule::joinReduced() {
  unsigned spatial = leadingSpatialLoops(sumOp);
  auto joins = [&](ForOp outer, unsigned group, const SymbolicInt &inside) {
    std::optional<int64_t> count = inside.constant(),
                           together = (inside * outer.getExtent().values().front()).constant();
    return loopsAround(outer).size() >= spatial &&
           (!isLong || group > 0 || !together || (count && *count < leastPart) || *together <= most);
  };
  if (failed(joinLoops(schedule, sum, joins, /*keepsUnits=*/isLong)))
    return failure();
  sumOp = schedule.operation(sum);
  return success();
}

/// Splits the reduction: returns the loop over parts, outside as many innermost loops as one part takes.
FailureOr<KernelSchedule::Loop> ReductionRule::outerReduced(Loops reduced) {
  int64_t inside = 1;
  while (reduced.size() > 1 && inside < leastPart && extentOf(reduced.back()) &&
         *extentOf(reduced.back()) * inside <= most)
    inside *= std::max<int64_t>(1, *extentOf(reduced.pop_back_val()));
  std::optional<int64_t> left = extentOf(reduced.back());
  if (inside < leastPart && !(left && *left * inside <= most)) {
    int64_t length = std::max<int64_t>(1, most / inside);
    if (left) // all parts have the same length, except the last
      length = llvm::divideCeil(*left, llvm::divideCeil(*left, length));
    auto parts = schedule.split(reduced.back(), {std::nullopt, length});
    if (failed(parts))
      return failure();
    reduced.back() = parts->front();
  }
  return schedule.fuse(reduced);
}

LogicalResult ReductionRule::divideSum(ArrayRef<Loop> reduced) {
  FailureOr<Loop> outer = outerReduced(Loops(reduced));
  FailureOr<Block> made = failed(outer) ? FailureOr<Block>() : schedule.rfactor(*outer, 0);
  if (failed(made))
    return failure();
  part = *made;
  return success();
}

//===----------------------------------------------------------------------===//
// Columns: vectors of sums
//===----------------------------------------------------------------------===//

/// Uses half of the registers; nearly all, if only parts of vectors divide the columns. If no few parts do, LLVM
/// divides them: with many columns the schedule treats a few vectors as one; with few, or an unknown number, it
/// vectorises nothing.
void ReductionRule::chooseTile(const SymbolicInt &columns) {
  std::optional<int64_t> count = columns.constant();
  if (count)
    count = std::max<int64_t>(*count, 1);
  int64_t registers = std::max<int64_t>(1, target.vectorRegisters / 2);
  auto largest = static_cast<int64_t>(count ? llvm::bit_floor(static_cast<uint64_t>(*count)) : 1);
  int64_t whole = std::min(lanes, largest), part = whole;
  while (count && *count % part != 0)
    part /= 2;
  if (bool isHalf = part == whole / 2; count && (isHalf || *count / part <= 2 * (registers - 1))) {
    registers = isHalf ? registers : std::max(registers, *count / part);
    whole = part;
  }
  vectors = 1;
  if (!count || *count % whole != 0) {
    bool isMany = count && *count >= mostColumns;
    lanes = isMany ? std::min(mostLanes, usualVectors * lanes) : mostColumns;
    return;
  }
  lanes = whole;
  int64_t all = *count / lanes;
  vectors = std::min(all, registers);
  for (int64_t parts = llvm::divideCeil(all, registers); parts <= all / 4; ++parts)
    if (all % parts == 0) {
      vectors = all / parts;
      break;
    }
}

/// Splits into loops over tiles (unless `isWhole`), over the vectors of a tile (if several), and over a vector.
FailureOr<SmallVector<KernelSchedule::Loop>> ReductionRule::splitTile(Loop loop, bool isWhole) {
  SmallVector<KernelSchedule::Factor> factors = {lanes};
  if (vectors > 1)
    factors.insert(factors.begin(), vectors);
  if (!isWhole)
    factors.insert(factors.begin(), std::nullopt);
  return factors.size() == 1 ? FailureOr<Loops>(Loops{loop}) : schedule.split(loop, factors);
}

/// Schedules the loops over the vectors of one tile.
LogicalResult ReductionRule::runTile(Loops tile) {
  if (Loop last = tile.pop_back_val(); lanes <= mostLanes && failed(schedule.vectorize(last)))
    return failure();
  return success(llvm::all_of(tile, [&](Loop loop) { return succeeded(schedule.unroll(loop)); }));
}

/// Schedules a block's loops inside `outer` others: the first is over the tile, the rest are reduced.
LogicalResult ReductionRule::scheduleTile(Block block, unsigned outer, Loops *parts) {
  Loops loops = *schedule.getLoops(block);
  if (loops.size() <= outer)
    return schedule.refuse("a tile of one element has no loop");
  Loops order(ArrayRef(loops).drop_front(outer + 1));
  FailureOr<Loops> tile = splitTile(loops[outer], /*isWhole=*/true);
  if (failed(tile))
    return failure();
  if (parts)
    *parts = order;
  if (!order.empty()) {
    FailureOr<Block> init = schedule.decomposeReduction(block, tile->front());
    if (failed(init) || failed(runTile(Loops(ArrayRef(*schedule.getLoops(*init)).drop_front(outer)))))
      return failure();
    llvm::append_range(order, *tile);
    if (failed(schedule.reorder(order)))
      return failure();
  }
  return runTile(*tile);
}

LogicalResult ReductionRule::scheduleColumns() {
  FailureOr<Block> root = follower ? schedule.getBlock(*follower) : schedule.cacheWrite(sum, "local");
  if (failed(root))
    return failure();
  Loops units = *schedule.getLoops(*root), parts;
  SymbolicInt count = countOf(schedule, units.back());
  chooseTile(count);
  bool isWhole = support::mod(count, SymbolicInt(lanes * vectors)) == SymbolicInt(0);
  FailureOr<Loops> columns = splitTile(units.pop_back_val(), /*isWhole=*/false);
  if (failed(columns) || failed(schedule.computeAt(sum, columns->front())))
    return failure();
  size_t around = units.size() + 1;
  if (units.empty() || isWhole) // a partial last tile cuts the loop over tiles
    units.push_back(columns->front());
  if (failed(scheduleTile(sum, around, &parts)) || failed(runTile(Loops(ArrayRef(*columns).drop_front()))))
    return failure();
  if (part && (failed(schedule.computeAt(*part, parts.front())) || failed(scheduleTile(*part, around + 1))))
    return failure();
  while (countOf(schedule, units).isPoison())
    units.pop_back();
  return runUnits(schedule, units);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

namespace {
/// Finds whether expressions differ between iterations of a loop, be it through what a block computes or loads.
class Variation {
public:
  Variation(ForOp loop, KernelIndices &indices) : loop(loop), indices(indices) {}

  bool isIn(const SymbolicInt &expression) {
    return usesLoop(expression, loop, indices.names) ||
           indices.names.anyValue(expression, [&](Value value) { return isIn(value); });
  }

private:
  bool isIn(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      return false; // an iterator, or what was asked before
    if (isa<LoadOp>(op))
      return isIn(indices.positionOf({op}));
    if (auto index = dyn_cast<IndexOp>(op))
      return isIn(indices.resolve(index.getExpression(), index.getVariables()).front());
    return llvm::any_of(op->getOperands(), [&](Value operand) { return isIn(operand); });
  }

  ForOp loop;
  KernelIndices &indices;
  llvm::SmallPtrSet<Operation *, 16> seen;
};
} // namespace

/// Whether LLVM vectorises it: one loop along which operands are contiguous in every iteration, at least two vectors
/// long.
bool ReductionRule::isOfVectors(Loops reduced, int64_t count) {
  if (reduced.size() != 1)
    return false;
  KernelIndices indices;
  ForOp loop = schedule.operation(reduced.front());
  Variation variation(loop, indices);
  return llvm::all_of(accessesIn(loop), [&](const Access &access) {
    int64_t bytes = elementBytes(cast<BufferType>(access.buffer().getType()).getElementType());
    IndexAlong along = indices.along(indices.positionOf(access), loop, access.op);
    bool isAlways = isa<BlockOp, InitOp>(access.op->getParentOp());
    bool isOne = (along.isContiguous() || along.isUniform()) && !variation.isIn(along.first);
    return isAlways && count >= 2 * int64_t(target.vectorLanes(bytes)) && (access.isStore() || isOne);
  });
}

/// Whether a vector of sums would gather elements, at indices that the block computes, although one sum reads
/// contiguous ones.
bool ReductionRule::isBetterInside(unsigned spatial) {
  KernelIndices indices;
  bool isGathered = llvm::any_of(accessesIn(sumOp), [&](const Access &access) {
    return indices.names.anyValue(indices.positionOf(access), [](Value value) { return value.getDefiningOp(); });
  });
  if (!isGathered)
    return false;
  Loops reduced(ArrayRef(*schedule.getLoops(sum)).drop_front(spatial));
  std::optional<int64_t> count = countOf(schedule, reduced).constant();
  return count && isOfVectors(reduced, *count);
}

LogicalResult ReductionRule::scheduleElements() {
  Loops loops = *schedule.getLoops(follower ? *schedule.getBlock(*follower) : sum), reduced;
  if (follower) {
    if (!loops.empty() && failed(schedule.computeAt(sum, loops.back())))
      return failure();
    reduced = *schedule.getLoops(sum);
    reduced.erase(reduced.begin(), reduced.begin() + loops.size());
  } else {
    unsigned spatial = leadingSpatialLoops(schedule.operation(sum));
    reduced.assign(loops.begin() + spatial, loops.end());
    loops.truncate(spatial);
  }
  if (part && failed(schedule.computeAt(*part, reduced.front())))
    return failure();
  std::optional<int64_t> count = countOf(schedule, reduced).constant();
  if (!part && count && *count <= mostUnrolled && !isOfVectors(reduced, *count))
    for (Loop loop : reduced)
      if (failed(schedule.unroll(loop)))
        return failure();
  return runUnits(schedule, unitsAmong(schedule, loops));
}

LogicalResult ReductionRule::run() {
  sum = *schedule.getBlock(sumOp.getName());
  SmallVector<ForOp> nest = loopsAround(sumOp);
  unsigned spatial = leadingSpatialLoops(sumOp);
  lanes = spatial && !isBetterInside(spatial) ? lanesOf(nest[spatial - 1], target) : 0;
  most = lanes ? shortSum : shortSum * std::max<int64_t>(1, target.vectorLanes(4));
  SymbolicInt summed(1);
  for (ForOp loop : ArrayRef(nest).drop_front(spatial))
    summed *= loop.getExtent().values().front();
  isLong = isRounded() && !(SymbolicInt(most) - summed).knownNonNegative();
  if (failed(joinReduced()))
    return failure();
  Loops loops = *schedule.getLoops(sum);
  if (isLong && failed(divideSum(ArrayRef(loops).drop_front(leadingSpatialLoops(sumOp)))))
    return failure();
  return lanes ? scheduleColumns() : scheduleElements();
}

static bool isReduction(func::FuncOp kernel, const target::Machine &target, std::string &why) {
  KernelSchedule none(kernel);
  return ReductionRule(none, kernel, target).find(why);
}

static LogicalResult scheduleReduction(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  ReductionRule rule(schedule, kernel, target);
  std::string why;
  return success(rule.find(why) && succeeded(rule.run()));
}

const Rule perpend::tile::reductionRule = {"reduction", isReduction, scheduleReduction};
