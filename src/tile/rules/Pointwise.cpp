//===- Pointwise.cpp - the rule for elementwise computations --------------===//
//
// For kernels without reductions whose results have one shape: maps, views, and computations on them. The innermost
// loops that all operands traverse with one stride are joined. The innermost loop that remains is vectorised (the one
// around it, if it has at most 4 iterations). The outer loops are the units, which threads share; if they are too few,
// the vectorised loop is split, and its parts are units, too.
//
//   transform_block_layout %b, (i0, i1, i2) -> (i0, i1*5 + i2)   (joins loops that all operands traverse as one)
//   %i_p0, %i_p1 = loop_partition %i, [56, _]  (if code selects by the loop's index, as after a concat)
//   %i_0, %i_1 = split %i, [_, 16]
//   vectorize %i_1
//   %u = fuse %o, …                          parallel %u
//
//===----------------------------------------------------------------------===//

#include "tile/cost/BlockCost.h"
#include "tile/cost/KernelCost.h"
#include "tile/flatten/Lanes.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/IndexMap.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using LoopHandle = KernelSchedule::Loop;
using BlockHandle = KernelSchedule::Block;

/// A last dimension this short (colour channels, coordinates) is unrolled, so that the next one can be vectorised.
static constexpr int64_t mostUnrolled = 4;
/// Most pieces into which a loop is cut where code chooses by index, and most operations in all of them: those outside
/// of the choices are emitted once per piece. Few pieces may have more.
static constexpr size_t mostPieces = 64, fewPieces = 8, mostInPieces = 1024;
/// Vectors of a unit that consists of vectors.
static constexpr int64_t mostVectors = 4;

namespace {
class Pointwise : RuleBody {
public:
  using RuleBody::RuleBody;

  LogicalResult run();

private:
  LogicalResult joinLoops();
  LogicalResult schedulePiece(LoopHandle piece) { return vectorizeParts(schedule, piece, target); }
  LogicalResult scheduleLastIn(LoopHandle piece);
  LogicalResult scheduleUnit(ArrayRef<LoopHandle> inner);
  int64_t partOf(LoopHandle last, ArrayRef<LoopHandle> units);
  LogicalResult runParts(LoopHandle last, SmallVector<LoopHandle> units, int64_t lanes);

  /// The loops of the only nest, outermost first.
  SmallVector<LoopHandle> loops;
};
} // namespace

//===----------------------------------------------------------------------===//
// One nest
//===----------------------------------------------------------------------===//

/// The map that joins the iterators of the innermost loops that are one, such as `(i0, i1, i2) -> (i0, i1*5 + i2)`;
/// nullopt if there are none.
static std::optional<IndexMap> joinedIterators(ArrayRef<BlockOp> blocks) {
  KernelIndices indices;
  auto nests = llvm::map_to_vector(blocks, [](BlockOp block) { return loopsAround(block); });
  Shape domain(BlockOp(blocks.front()).getDomain().values()), inputs, extents;
  for (auto [i, extent] : llvm::enumerate(domain))
    if (extent != SymbolicInt(1)) {
      inputs.push_back(SymbolicInt::symbol("%" + std::to_string(i)));
      extents.push_back(extent);
    }
  size_t first = inputs.empty() ? 0 : inputs.size() - 1; // the first of the loops to join
  SymbolicInt joined = inputs.empty() ? SymbolicInt(0) : inputs.back(), count = extents.empty() ? 1 : extents.back();
  while (first > 0 && llvm::all_of(nests, [&](ArrayRef<ForOp> nest) {
           return isContiguousAlong(nest.back(), indices) &&
                  areOne(nest[first - 1], nest[first], extents[first], indices);
         })) {
    --first;
    joined = inputs[first] * count + joined;
    count = count * extents[first];
  }
  if (first + 1 >= inputs.size() || count.isPoison())
    return std::nullopt;
  inputs.truncate(first);
  inputs.push_back(joined);
  return IndexMap::of(domain.size(), inputs);
}

/// Joins loops that all operands traverse with one stride; then merges the nests of several results, loop by loop.
LogicalResult Pointwise::joinLoops() {
  SmallVector<SmallVector<LoopHandle>> nests;
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  std::optional<IndexMap> map = joinedIterators(blocks);
  for (BlockOp block : blocks) {
    FailureOr<BlockHandle> handle = schedule.getBlock(block.getName());
    if (failed(handle) || (map && failed(schedule.transformBlockLayout(*handle, map->str()))))
      return failure();
    nests.push_back(*schedule.getLoops(*handle));
  }
  loops = nests.front();
  for (unsigned i = 0; nests.size() > 1 && i < loops.size(); ++i) {
    FailureOr<LoopHandle> merged =
        schedule.merge(llvm::map_to_vector(nests, [&](ArrayRef<LoopHandle> nest) { return nest[i]; }));
    if (failed(merged))
      return failure();
    loops[i] = *merged;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The last dimension
//===----------------------------------------------------------------------===//

/// Operations that every piece of the loop has.
static size_t operationsOutsideChoices(ForOp loop) {
  size_t count = 0;
  loop.walk<WalkOrder::PreOrder>([&](Operation *op) {
    ++count;
    return isa<scf::IfOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return count;
}

/// Lengths of the pieces between the iterations at which a choice in the loop changes; empty if none changes, too many
/// do, or it is unknown.
static SmallVector<int64_t> piecesOf(ForOp loop) {
  KernelIndices indices;
  std::optional<int64_t> extent = indices.extentOf(loop).constant();
  std::set<int64_t> cuts;
  bool isKnown = extent.has_value();
  loop.walk([&](arith::CmpIOp comparison) {
    std::optional<SmallVector<SymbolicInt>> changes = changesAlong(comparison, loop, indices);
    isKnown &= changes.has_value();
    for (const SymbolicInt &change : changes.value_or(SmallVector<SymbolicInt>())) {
      std::optional<int64_t> at = change.constant();
      isKnown &= at.has_value();
      if (isKnown && *at > 0 && *at < *extent)
        cuts.insert(*at);
    }
  });
  SmallVector<int64_t> pieces;
  const size_t most = std::clamp(mostInPieces / operationsOutsideChoices(loop), fewPieces, mostPieces);
  if (!isKnown || cuts.empty() || cuts.size() >= most)
    return pieces;
  int64_t from = 0;
  cuts.insert(*extent);
  for (int64_t cut : cuts)
    pieces.push_back(cut - std::exchange(from, cut));
  return pieces;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Elements of the last loop per unit, if the outer loops may give too few units because a symbol may be 1. 0: all.
int64_t Pointwise::partOf(LoopHandle last, ArrayRef<LoopHandle> units) {
  constexpr int64_t leastPart = 4096; // of very cheap elements
  int64_t known = 1;
  for (LoopHandle unit : units)
    known *= std::max<int64_t>(1, schedule.operation(unit).getExtent().values().front().constant().value_or(1));
  SymbolicInt extent = countOf(schedule, last);
  double elements = static_cast<double>(estimate(countOf(schedule, units))) * estimate(extent);
  auto least = std::min<int64_t>(leastPart, leastSecondsOfPart * elements / costOf(kernel, target).seconds() + 1);
  int64_t wanted = llvm::divideCeil(wantedUnits, known);
  int64_t even = extent.constant() ? llvm::divideCeil(*extent.constant(), wanted) : leastPart;
  int64_t part = llvm::alignTo(std::max(even, least), 64);
  return wanted == 1 || (extent.constant() && part >= *extent.constant()) ? 0 : part;
}

/// Divides the last loop into parts and makes them units.
LogicalResult Pointwise::runParts(LoopHandle last, SmallVector<LoopHandle> units, int64_t lanes) {
  int64_t part = partOf(last, units);
  if (!part)
    return schedulePiece(last);
  SmallVector<KernelSchedule::Factor> factors = {std::nullopt, part};
  if (lanes)
    factors = {std::nullopt, part / lanes, lanes};
  auto parts = schedule.split(last, factors);
  if (failed(parts) || (lanes && failed(schedule.vectorize(parts->back()))))
    return failure();
  units.push_back(parts->front());
  return runUnits(schedule, units);
}

LogicalResult Pointwise::scheduleLastIn(LoopHandle piece) {
  auto blocks = schedule.getChildBlocks(piece);
  return failed(blocks) ? failure() : schedulePiece((*schedule.getLoops(blocks->front()))[loops.size()]);
}

/// Schedules the loops inside a unit. The last loop, or the one around it, is cut into pieces if its code would choose
/// in every iteration.
LogicalResult Pointwise::scheduleUnit(ArrayRef<LoopHandle> inner) {
  for (LoopHandle loop : llvm::reverse(inner.take_back(2))) {
    SmallVector<int64_t> pieces = piecesOf(schedule.operation(loop));
    if (pieces.empty())
      continue;
    auto parts = schedule.loopPartition(loop, SmallVector<KernelSchedule::Factor>(pieces.begin(), pieces.end()));
    if (failed(parts))
      return failure();
    for (LoopHandle part : *parts)
      if (failed(loop.id == inner.back().id ? schedulePiece(part) : scheduleLastIn(part)))
        return failure();
    return success();
  }
  return schedulePiece(inner.back());
}

LogicalResult Pointwise::run() {
  if (failed(joinLoops()))
    return failure();
  if (loops.empty())
    return success();
  LoopHandle last = loops.pop_back_val();
  std::optional<int64_t> extent = countOf(schedule, last).constant();
  if (extent && *extent <= mostUnrolled && !loops.empty()) {
    if (failed(schedule.unroll(last)))
      return failure();
    last = loops.pop_back_val();
  }
  int64_t lanes = lanesOf(schedule.operation(last), target);
  if (loops.empty() && lanes && (!extent || *extent >= lanes)) { // a unit consists of a few vectors
    auto parts = schedule.split(last, {std::nullopt, mostVectors, lanes});
    if (failed(parts) || failed(schedule.unroll((*parts)[1])) || failed(schedule.vectorize(parts->back())))
      return failure();
    return schedule.parallel(parts->front());
  }
  SmallVector<LoopHandle> units = unitsAmong(schedule, loops);
  bool mayDivide = units.size() == loops.size() && (units.empty() || piecesOf(schedule.operation(last)).empty());
  if (units.empty() || (mayDivide && partOf(last, units)))
    return runParts(last, units, lanes);
  SmallVector<LoopHandle> inner(ArrayRef(loops).drop_front(units.size()));
  inner.push_back(last);
  return failed(scheduleUnit(inner)) ? failure() : runUnits(schedule, units);
}

/// No value is a reduction, and all have the loops of the first.
static bool isPointwise(func::FuncOp kernel, const target::Machine &, std::string &) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  return !blocks.empty() && llvm::all_of(blocks, [&](BlockOp block) {
    return !block.isReduction() && block.getDomain() == blocks.front().getDomain() &&
           llvm::all_of(accessesIn(block), [&](const Access &access) {
             bool isElement = !access.isStore() || access.op->getBlock() == block.body();
             return isElement && !access.buffer().getDefiningOp<AllocOp>();
           });
  });
}

static LogicalResult schedulePointwise(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  return Pointwise(schedule, kernel, target).run();
}

const Rule perpend::tile::pointwiseRule = {"pointwise", isPointwise, schedulePointwise};
