//===- Merge.cpp - primitives that merge and partition loops --------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Primitives.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// merge
//===----------------------------------------------------------------------===//

/// Whether everything that `first` touches from its loop's next iteration on lies behind what `second` touches in the
/// current one: in some dimension, or in linear memory.
static bool isBehind(const Access &first, ForOp firstLoop, const Access &second, ForOp secondLoop,
                     KernelIndices &indices) {
  IndexNames &names = indices.names;
  IndexRanges inFirst = indices.rangesAround(first.op, firstLoop);
  IndexRanges inSecond = indices.rangesAround(second.op, secondLoop);
  SymbolicInt variable = names.symbol(firstLoop.variable());
  llvm::StringMap<SymbolicInt> same, next;
  same[names.nameOf(secondLoop.variable())] = variable;
  next[names.nameOf(firstLoop.variable())] = variable + SymbolicInt(1);
  Shape places = indices.indicesOf(first), others = indices.indicesOf(second);
  places.push_back(indices.positionOf(first));
  others.push_back(indices.positionOf(second));
  for (auto [a, b] : llvm::zip(places, others)) {
    std::optional<IndexBounds> x = boundsOf(a, inFirst), y = boundsOf(b, inSecond);
    if (!x || !y || !isOutside(x->low, firstLoop, names) || !isOutside(y->high, secondLoop, names))
      continue;
    SymbolicInt later = x->low.substitute(next);
    if ((later - x->low).knownNonNegative() && (later - y->high.substitute(same)).knownPositive())
      return true;
  }
  return false;
}

/// A buffer in which a later iteration of one loop and an earlier one of the other may conflict; empty: none.
static std::string meeting(ForOp first, ForOp second) {
  KernelIndices indices;
  for (const Access &a : accessesIn(first))
    for (const Access &b : accessesIn(second, a.buffer()))
      if ((a.isStore() || b.isStore()) && !isBehind(a, first, b, second, indices))
        return bufferName(a.buffer());
  return {};
}

/// Why the loops, in this order, cannot be merged.
static std::string whyNotMerged(MutableArrayRef<ForOp> loops) {
  for (ForOp loop : loops) {
    if (loop->getBlock() != loops.front()->getBlock())
      return "the loops '" + loops.front().getName().str() + "' and '" + loop.getName().str() +
             "' do not stand side by side; merge the loops around them before";
    if (loop.getKind() != LoopKind::Serial)
      return "the loop '" + loop.getName().str() + "' is " + stringifyLoopKind(loop.getKind()).str() +
             "; merge it before";
    if (loop.getExtent() != loops.front().getExtent() || !loop.getVariables().empty())
      return "the loops '" + loops.front().getName().str() + "' and '" + loop.getName().str() +
             "' have different extents, " + loops.front().getExtent().values().front().str() + " and " +
             loop.getExtent().values().front().str();
  }
  for (Operation *op = loops.front(); op != loops.back(); op = op->getNextNode())
    if (!llvm::is_contained(loops, op) && !isa<AllocOp>(op))
      return "other code stands between the loops '" + loops.front().getName().str() + "' and '" +
             loops.back().getName().str() + "'";
  for (size_t i = 0; i < loops.size(); ++i)
    for (size_t j = i + 1; j < loops.size(); ++j)
      if (std::string buffer = meeting(loops[i], loops[j]); !buffer.empty())
        return "an iteration of the loop '" + loops[j].getName().str() + "' may need what a later one of '" +
               loops[i].getName().str() + "' does to the buffer " + buffer;
  return {};
}

FailureOr<KernelSchedule::Loop> KernelSchedule::merge(ArrayRef<Loop> list) {
  SmallVector<ForOp> loops;
  SmallVector<std::string> operands;
  for (Loop handle : list) {
    FailureOr<ForOp> found = find(handle);
    if (failed(found))
      return failure();
    if (llvm::is_contained(loops, *found))
      return refuse("merge: " + nameOf(handle) + " is named twice");
    loops.push_back(*found);
    operands.push_back(nameOf(handle));
  }
  if (loops.size() < 2)
    return refuse("merge: expected at least two loops");
  if (llvm::all_of(loops, [&](ForOp loop) { return loop->getBlock() == loops.front()->getBlock(); }))
    llvm::sort(loops, [](ForOp a, ForOp b) { return a->isBeforeInBlock(b); });
  if (std::string why = whyNotMerged(loops); !why.empty())
    return refuse("merge: " + why);
  for (Operation *op = loops.front(); op != loops.back();) {
    Operation *next = op->getNextNode();
    if (isa<AllocOp>(op))
      op->moveBefore(loops.front());
    op = next;
  }
  IndexNames names;
  OpBuilder builder(loops.front());
  ForOp merged = createFor(builder, loops.front().getLoc(), loops.front().getExtent().values().front(),
                           (loops.front().getName() + "_m").str(), names);
  for (ForOp loop : loops) {
    merged.body()->getOperations().splice(merged.body()->end(), loop.body()->getOperations());
    replaceVariable(loop.variable(), names.symbol(merged.variable()), names);
    erase(loop);
  }
  Loop result{addHandle(merged, merged.getName())};
  record("merge", nameOf(result), operands);
  return result;
}

//===----------------------------------------------------------------------===//
// loop_partition
//===----------------------------------------------------------------------===//

namespace {
/// The iterations [start, start + count) of a loop.
struct Part {
  SymbolicInt start, count;
};

/// For each iterator of a block, its stride along a loop: iterator = stride * variable + rest, with rest below the
/// stride. No entry if it does not depend on the loop.
using Strides = SmallVector<std::optional<SymbolicInt>>;
} // namespace

static std::optional<Strides> stridesOf(BlockOp block, ForOp loop, std::string &why) {
  KernelIndices indices;
  IndexRanges ranges = indices.rangesAround(block);
  std::string variable = indices.names.nameOf(loop.variable());
  llvm::StringMap<SymbolicInt> first, second;
  first[variable] = SymbolicInt(0);
  second[variable] = SymbolicInt(1);
  Strides strides;
  for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block))) {
    SymbolicInt bound = simplify(binding, ranges);
    if (!usesLoop(bound, loop, indices.names)) {
      strides.push_back(std::nullopt);
      continue;
    }
    SymbolicInt rest = bound.substitute(first), stride = bound.substitute(second) - rest;
    std::optional<IndexBounds> bounds = boundsOf(rest, ranges);
    bool isDigit = bound == stride * indices.names.symbol(loop.variable()) + rest &&
                   !usesIndices(stride, indices.names) && bounds && bounds->low.knownNonNegative() &&
                   (stride - bounds->high).knownPositive();
    if (!isDigit || block.kind(i) == IteratorKind::Opaque)
      return why = "the loop is not the outermost part of the iterator " + std::to_string(i) + " of the block '" +
                   block.getName().str() + "'; partition it before it is split, fused or reordered",
             std::nullopt;
    strides.push_back(stride);
  }
  return strides;
}

/// Restricts a block to a part of the loop: iterators count from the part's start, and only the first part keeps the
/// init.
static void restrictTo(BlockOp block, const Strides &strides, const Part &part, bool isFirst) {
  IndexNames names;
  Shape bindings = names.read(block.getBindings(), block.getVariables()), domain(block.getDomain().values());
  Shape conditions = names.read(block.getConditions(), block.getVariables());
  bool isReduced = false;
  for (auto [i, stride] : llvm::enumerate(strides)) {
    if (!stride)
      continue;
    SymbolicInt start = *stride * part.start, rest = domain[i] - start, count = *stride * part.count;
    bindings[i] -= start;
    domain[i] = (rest - count).knownNonNegative() ? count : support::min(count, rest);
    isReduced |= block.kind(i) == IteratorKind::Reduced;
    shiftIterator(block, i, start);
  }
  block.setDomainAttr(graph::ShapeAttr::get(block.getContext(), domain));
  setBindings(block, bindings, conditions, names);
  if (isReduced && !isFirst && block.init())
    block.init().erase();
  takeDecidedChoices(block);
}

/// The parts with these sizes, one of which may be free; empty, with a reason, if they do not add up to the loop.
static SmallVector<Part> partsOf(ArrayRef<std::optional<int64_t>> counts, const SymbolicInt &extent, std::string &why) {
  SymbolicInt known(0);
  for (std::optional<int64_t> count : counts) {
    if (count && *count < 1)
      return why = "expected counts of at least 1, got " + std::to_string(*count), SmallVector<Part>();
    known += SymbolicInt(count.value_or(0));
  }
  SymbolicInt rest = extent - known;
  bool isFree = llvm::is_contained(counts, std::nullopt);
  if (counts.empty() || llvm::count(counts, std::nullopt) > 1 || !rest.knownNonNegative() ||
      (!isFree && rest != SymbolicInt(0)))
    return why = "expected counts whose sum is the extent " + extent.str() + ", one of them free (_) at most",
           SmallVector<Part>();
  SmallVector<Part> parts;
  SymbolicInt start(0);
  for (std::optional<int64_t> count : counts) {
    parts.push_back({start, count ? SymbolicInt(*count) : rest});
    start += parts.back().count;
  }
  return parts;
}

/// At most one count may be free.
FailureOr<SmallVector<KernelSchedule::Loop>> KernelSchedule::loopPartition(Loop handle, ArrayRef<Factor> counts) {
  FailureOr<ForOp> found = find(handle);
  if (failed(found))
    return failure();
  ForOp loop = *found;
  std::string why, title = "loop_partition " + nameOf(handle) + ": ";
  if (loop.getKind() != LoopKind::Serial)
    return refuse(title + "the loop is " + stringifyLoopKind(loop.getKind()) + "; partition it before");
  if (!loop.getVariables().empty())
    return refuse(title + "the extent depends on another loop");
  SmallVector<Part> parts = partsOf(valuesOf(counts), loop.getExtent().values().front(), why);
  if (parts.empty())
    return refuse(title + why);
  SmallVector<Strides> strides; // of each block inside
  for (BlockOp block : blocksInside(loop)) {
    std::optional<Strides> known = stridesOf(block, loop, why);
    if (!known)
      return refuse(title + why);
    if (block.init() && parts.size() > 1 && !parts.front().count.knownPositive())
      return refuse(title + "its first part may be empty, and would then not run the init of '" + block.getName() +
                    "'; decompose_reduction before");
    auto goesAlong = [](auto pair) { return std::get<0>(pair) && std::get<1>(pair) != SymbolicInt(1); };
    auto outlives = [&](Value buffer) { return !loop->isAncestor(buffer.getParentRegion()->getParentOp()); };
    if (parts.size() > 1 && llvm::none_of(llvm::zip(*known, block.getDomain().values()), goesAlong) &&
        llvm::any_of(buffersOf(block, /*isWritten=*/true), outlives))
      return refuse(title + "the block '" + block.getName() +
                    "' does not go along the loop, so each part would write all of it");
    strides.push_back(*known);
  }
  SmallVector<ForOp> loops;
  OpBuilder builder(loop);
  for (auto [number, part] : llvm::enumerate(parts)) {
    IndexNames names;
    ForOp created = createFor(builder, loop.getLoc(), part.count, (loop.getName() + "_p" + Twine(number)).str(), names);
    loops.push_back(created);
    if (number == 0)
      continue;
    IRMapping mapping;
    mapping.map(loop.variable(), created.variable());
    OpBuilder inside = OpBuilder::atBlockEnd(created.body());
    for (Operation &op : *loop.body())
      inside.clone(op, mapping);
    created.walk([&](Operation *op) {
      if (isa<BlockOp, AllocOp>(op))
        op->setAttr("name",
                    builder.getStringAttr(uniqueName(kernel, op->getAttrOfType<StringAttr>("name").getValue().str() +
                                                                 "_p" + std::to_string(number))));
    });
  }
  loops.front().body()->getOperations().splice(loops.front().body()->end(), loop.body()->getOperations());
  loop.variable().replaceAllUsesWith(loops.front().variable());
  for (auto [number, created] : llvm::enumerate(loops)) {
    IndexNames names;
    replaceVariable(created.variable(), names.symbol(created.variable()) + parts[number].start, names);
    for (auto [block, known] : llvm::zip(blocksInside(created), strides))
      restrictTo(block, known, parts[number], number == 0);
  }
  erase(loop);
  SmallVector<Loop> results;
  SmallVector<std::string> names;
  for (ForOp created : loops) {
    results.push_back({addHandle(created, created.getName())});
    names.push_back(nameOf(results.back()));
  }
  record("loop_partition", names, {nameOf(handle), textOf(counts)});
  return results;
}
