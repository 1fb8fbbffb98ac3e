//===- ChooseIntrinsic.cpp - chooses the intrinsic of a nest --------------===//
//
// Among the intrinsics that accept the nest of a block (its innermost loops), chooses the one with the fewest cycles
// per point of the block. For each intrinsic, the first of two ways that the primitives accept is taken, tried on a
// copy of the kernel: the intrinsic computes the whole nest; or, if its extents are constants, loops are split by
// them. For example,
//
//   for i in 6 { for j in 32 { for k in 64 { "sum" [i, j | k] } } }
// with c[16] += a[4] * b[16, 4] becomes
//   init; for i in 6 { for j0 in 2 { for k0 in 16 { for j1 in 16 { for k1 in 4 { "sum", tensorized } } } } }
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

#include "graph/BatchInvariance.h"
#include "tile/intrinsics/Emitters.h"
#include "tile/intrinsics/Match.h"
#include "tile/schedule/Nests.h"

#include <limits>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class IntrinsicChoice {
public:
  IntrinsicChoice(KernelSchedule &schedule, KernelSchedule::Block block, size_t outer, const target::Machine &target)
      : schedule(schedule), block(block), outer(outer), target(target) {}

  LogicalResult run();
  LogicalResult give(const Intrinsic &intrinsic);

private:
  using Loop = KernelSchedule::Loop;
  using Loops = SmallVector<Loop>;
  using Way = LogicalResult (IntrinsicChoice::*)(KernelSchedule &schedule, const Intrinsic &intrinsic);
  /// An accepted intrinsic and its cycles per point.
  struct Taken {
    Way way;
    double cycles;
  };

  LogicalResult asItIs(KernelSchedule &schedule, const Intrinsic &intrinsic);
  LogicalResult inParts(KernelSchedule &schedule, const Intrinsic &intrinsic);
  LogicalResult splitWords(KernelSchedule &schedule, const Intrinsic &intrinsic);
  Loops nest(KernelSchedule &schedule) {
    Loops loops = *schedule.getLoops(block);
    return Loops(ArrayRef(loops).drop_front(outer));
  }
  double cyclesPerPoint(KernelSchedule &schedule, const Intrinsic &intrinsic);
  std::optional<Taken> tryOut(const Intrinsic &intrinsic);
  bool hasLoops();

  KernelSchedule &schedule;
  KernelSchedule::Block block;
  /// The number of loops outside the nest.
  size_t outer;
  const target::Machine &target;
};
} // namespace

/// If the intrinsic's innermost sum has a constant extent, splits the nest's by it. A sum of exactly one word is left
/// alone; a shorter one does not fit.
LogicalResult IntrinsicChoice::splitWords(KernelSchedule &schedule, const Intrinsic &intrinsic) {
  std::optional<int64_t> words = intrinsic.block.getDomain().values().back().constant();
  if (!words || !intrinsic.block.isReduction())
    return success();
  KernelIndices indices;
  SymbolicInt extent = indices.extentOf(schedule.operation(nest(schedule).back()));
  if (extent == SymbolicInt(*words))
    return success();
  if (extent.constant().value_or(*words) < *words)
    return schedule.refuse("the sum of " + extent.str() + " elements has no word of " + std::to_string(*words));
  return success(succeeded(schedule.split(nest(schedule).back(), {std::nullopt, *words})));
}

LogicalResult IntrinsicChoice::asItIs(KernelSchedule &schedule, const Intrinsic &intrinsic) {
  if (failed(splitWords(schedule, intrinsic)))
    return failure();
  return schedule.tensorize(nest(schedule).front(), intrinsic.name);
}

LogicalResult IntrinsicChoice::inParts(KernelSchedule &schedule, const Intrinsic &intrinsic) {
  if (failed(splitWords(schedule, intrinsic)))
    return failure();
  Loops loops = nest(schedule);
  KernelIndices indices;
  std::string why;
  auto fit = fitIntrinsic(schedule.operation(loops.front()), intrinsic, indices, why);
  if (!fit)
    return schedule.refuse(why);
  Loops inside;
  for (auto [number, extent] : llvm::zip(*fit, intrinsic.block.getDomain().values())) {
    if (!number)
      continue;
    if (!extent.isConstant() || indices.extentOf(schedule.operation(loops[*number])) == extent) {
      inside.push_back(loops[*number]);
      loops[*number].id = ~0u;
      continue;
    }
    auto parts = schedule.split(loops[*number], {std::nullopt, *extent.constant()});
    if (failed(parts))
      return failure();
    loops[*number] = parts->front();
    inside.push_back(parts->back());
  }
  llvm::erase_if(loops, [](Loop loop) { return loop.id == ~0u; });
  size_t outside = loops.size();
  loops.append(inside);
  if (failed(schedule.reorder(loops)))
    return failure();
  bool goesOn = !intrinsic.block.init() && schedule.operation(block).init();
  if (goesOn && failed(schedule.decomposeReduction(block, loops.front())))
    return failure();
  return schedule.tensorize(loops[outside], intrinsic.name);
}

/// Cycles per point of the tensorized block; infinite if the intrinsic gives no cost. A batch-invariant kernel must
/// not choose by the number of its rows, because intrinsics may add up in different orders.
double IntrinsicChoice::cyclesPerPoint(KernelSchedule &schedule, const Intrinsic &intrinsic) {
  KernelIndices indices;
  std::string why;
  auto around = schedule.operation(block)->getParentOfType<BlockOp>();
  std::optional<IntrinsicMatch> match = matchIntrinsic(around, intrinsic, indices, why);
  if (!match)
    return std::numeric_limits<double>::infinity();
  const bool isForAnyRows = intrinsic.panels && graph::isBatchInvariant(around);
  Shape extents = isForAnyRows ? intrinsic.panels->withFullRows(intrinsic, match->extents, target) : match->extents;
  std::optional<double> cycles = intrinsic.cyclesPerPoint(extents, target);
  return cycles.value_or(std::numeric_limits<double>::infinity());
}

/// The types of all accessed buffers, in a canonical order.
static SmallVector<Type> typesOf(BlockOp block) {
  SmallVector<Type> types;
  for (const Access &access : accessesIn(block))
    if (!access.op->getParentOfType<InitOp>())
      types.push_back(cast<BufferType>(access.buffer().getType()).getElementType());
  llvm::sort(types, [](Type a, Type b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); });
  return types;
}

/// The type of the operand that comes first: of a product, the one whose rows are multiplied.
static Type firstTypeOf(BlockOp block) {
  SmallVector<Access> accesses = accessesIn(block);
  auto isStored = [&](Value buffer) {
    return llvm::any_of(accesses, [&](const Access &other) { return other.isStore() && other.buffer() == buffer; });
  };
  auto *first = llvm::find_if(accesses, [&](const Access &access) { return !isStored(access.buffer()); });
  return first == accesses.end() ? Type() : cast<BufferType>(first->buffer().getType()).getElementType();
}

SmallVector<const Intrinsic *> perpend::tile::intrinsicsFor(BlockOp block, const target::Machine &target) {
  SmallVector<const Intrinsic *> known;
  for (const auto &intrinsic : IntrinsicLibrary::of(block.getContext()).list())
    if (intrinsic->missingOn(target).empty() && typesOf(intrinsic->block) == typesOf(block))
      known.push_back(intrinsic.get());
  return known;
}

/// Cycles per point of an intrinsic for numbers in groups, with so many rows at once; nullopt if it does not accept the
/// extents.
static std::optional<double> cyclesOfGroups(const Intrinsic &intrinsic, int64_t rows, int64_t panel,
                                            const ProductExtents &extents, const target::Machine &target) {
  Shape domain;
  size_t reduced = 0;
  for (auto [number, extent] : llvm::enumerate(intrinsic.block.getDomain().values())) {
    if (intrinsic.block.kind(number) != IteratorKind::Reduced)
      domain.emplace_back(extent == SymbolicInt::symbol(rowsParameter) ? rows : panel);
    else if (reduced < extents.sums.size())
      domain.push_back(extents.sums[reduced++]);
  }
  bool isSame = domain.size() == intrinsic.block.getKinds().size() && reduced == extents.sums.size();
  return isSame && intrinsic.allows(domain) ? intrinsic.cyclesPerPoint(domain, target) : std::nullopt;
}

/// The rows of a block for the cheapest intrinsic for numbers in groups; no rows if there is none.
static RowsOfBlock rowsOfGroups(ArrayRef<const Intrinsic *> intrinsics, const ProductExtents &extents, int64_t panel,
                                const target::Machine &target) {
  RowsOfBlock best{0};
  double least = std::numeric_limits<double>::infinity();
  for (const Intrinsic *intrinsic : intrinsics) {
    if (!intrinsic->groups)
      continue;
    int64_t rows = rowsAtOnce(*intrinsic, panel, extents.rows.constant(), target), blocks = 1;
    if (int64_t most = blocksAtOnce(*intrinsic); sharesUnpacking(*intrinsic))
      blocks = std::clamp<int64_t>(extents.rows.constant().value_or(most * rows) / rows, 1, most);
    double cycles = cyclesOfGroups(*intrinsic, blocks * rows, panel, extents, target).value_or(least);
    if (best.rows > 0 && cycles >= least)
      continue;
    least = cycles;
    best = {rows, blocksAtOnce(*intrinsic), 1, sharesUnpacking(*intrinsic)};
  }
  return best;
}

RowsOfBlock perpend::tile::rowsOfBlock(ArrayRef<const Intrinsic *> intrinsics, const ProductExtents &extents,
                                       int64_t panel, int64_t group, Type sum, const target::Machine &target) {
  std::optional<PanelLayout::Fit> best;
  int64_t together = 1;
  for (const Intrinsic *intrinsic : intrinsics) {
    const std::optional<PanelLayout> &panels = intrinsic->panels;
    if (!panels || panels->group != group || panels->columns.constant().value_or(panel) != panel)
      continue;
    int64_t most = rowsAtOnce(*intrinsic, panel, extents.rows.constant(), target);
    ProductExtents own = extents;
    own.lines = std::min(extents.lines, linesAtOnce(*intrinsic));
    auto fit = panels->fit(*intrinsic, own, panel, most, target);
    if (fit && (!best || fit->cyclesPerPoint < best->cyclesPerPoint)) {
      best = fit;
      together = blocksAtOnce(*intrinsic);
    }
  }
  if (RowsOfBlock groups = best ? RowsOfBlock{0} : rowsOfGroups(intrinsics, extents, panel, target); groups.rows > 0)
    return groups;
  if (!best)
    return {rowsInRegisters(sum, panel, group, extents.rows.constant(), target)};
  return {best->rows, together, best->lines};
}

/// Tries the two ways; returns the first that the primitives accept.
std::optional<IntrinsicChoice::Taken> IntrinsicChoice::tryOut(const Intrinsic &intrinsic) {
  for (Way way : {&IntrinsicChoice::asItIs, &IntrinsicChoice::inParts}) {
    double cycles = 0;
    LogicalResult isTaken = schedule.tryOut([&](KernelSchedule &trial) {
      LogicalResult result = (this->*way)(trial, intrinsic);
      cycles = succeeded(result) ? cyclesPerPoint(trial, intrinsic) : 0;
      return result;
    });
    if (succeeded(isTaken))
      return Taken{way, cycles};
  }
  return std::nullopt;
}

bool IntrinsicChoice::hasLoops() {
  BlockOp op = schedule.operation(block);
  return loopsAround(op).size() > outer ||
         succeeded(schedule.refuse("'" + op.getName() + "' has no loops for an intrinsic"));
}

LogicalResult IntrinsicChoice::give(const Intrinsic &intrinsic) {
  std::optional<Taken> taken = hasLoops() ? tryOut(intrinsic) : std::nullopt;
  return taken ? (this->*taken->way)(schedule, intrinsic) : failure();
}

LogicalResult IntrinsicChoice::run() {
  BlockOp op = schedule.operation(block);
  if (!hasLoops())
    return failure();
  SmallVector<const Intrinsic *> known = intrinsicsFor(op, target);
  if (known.size() == 1 && !known.front()->emitter.empty())
    return asItIs(schedule, *known.front());
  // Factors may change places, but rows of the other operand would then be taken for columns, one at a time.
  auto isInOrder = [type = firstTypeOf(op)](const Intrinsic *one) { return firstTypeOf(one->block) == type; };
  if (llvm::any_of(known, isInOrder))
    llvm::erase_if(known, [&](const Intrinsic *one) { return !isInOrder(one); });
  const Intrinsic *best = nullptr;
  Taken least{};
  for (const Intrinsic *intrinsic : known)
    if (std::optional<Taken> taken = tryOut(*intrinsic); taken && (!best || taken->cycles < least.cycles))
      best = intrinsic, least = *taken;
  if (known.empty())
    return schedule.refuse("no intrinsic computes with the types of '" + op.getName() + "'");
  return best ? (this->*least.way)(schedule, *best) : failure(); // with the reason of the last one
}

LogicalResult perpend::tile::chooseIntrinsic(KernelSchedule &schedule, KernelSchedule::Block block, size_t outer,
                                             const target::Machine &target) {
  return IntrinsicChoice(schedule, block, outer, target).run();
}

LogicalResult perpend::tile::giveToIntrinsic(KernelSchedule &schedule, KernelSchedule::Block block, size_t outer,
                                             const Intrinsic &intrinsic, const target::Machine &target) {
  return IntrinsicChoice(schedule, block, outer, target).give(intrinsic);
}
