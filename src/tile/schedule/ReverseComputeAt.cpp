//===- ReverseComputeAt.cpp - moves a consumer to its producer ------------===//
//
// Moves a block into a loop around its producer, where it runs once for each element that the producer stores: in
// loops like those of the producer's spatial iterators, which are bound to these elements. So each point is still
// computed once, and no regions need to be computed.
//
//===----------------------------------------------------------------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// The block in the loop that writes a buffer which the moved block reads.
struct Followed {
  BlockOp block;
  SingleStore stored;
  /// For each dimension of the buffer, the reader's iterator.
  SmallVector<unsigned> iterators;
};
} // namespace

static std::optional<Followed> findFollowed(func::FuncOp kernel, BlockOp block, ForOp loop, std::string &why) {
  why = "nothing in the loop writes what the block reads";
  for (const Access &read : accessesIn(block)) {
    if (read.isStore())
      continue;
    llvm::SetVector<Operation *> writers = writersOf(kernel, read.buffer());
    auto isInside = [&](Operation *writer) { return loop->isAncestor(writer); };
    auto inside = llvm::find_if(llvm::reverse(writers), isInside);
    if (inside == llvm::reverse(writers).end())
      continue;
    auto writer = cast<BlockOp>(*inside);
    if (auto outer = writer->getParentOfType<BlockOp>())
      return why = "the block '" + writer.getName().str() + "' is inside of the block '" + outer.getName().str() + "'",
             std::nullopt;
    std::optional<SingleStore> stored = singleStoreOf(writer, why);
    if (!stored)
      return why = "of the block '" + writer.getName().str() + "', " + why, std::nullopt;
    std::optional<SmallVector<unsigned>> iterators = asIterators(block, read);
    if (!iterators)
      return why = "the block does not read " + bufferName(read.buffer()) + " at its iterators", std::nullopt;
    for (const Access &other : accessesIn(block, read.buffer()))
      if (asIterators(block, other) != iterators)
        return why = "the block reads " + bufferName(read.buffer()) + " at different places", std::nullopt;
    if (writer != writers.back())
      return why = "the block '" + cast<BlockOp>(writers.back()).getName().str() + "' writes " +
                   bufferName(read.buffer()) + " later",
             std::nullopt;
    return Followed{writer, *stored, *iterators};
  }
  return std::nullopt;
}

/// Checks that the elements written by an iteration of the loop are final.
static std::optional<SpatialNest> finalNest(Followed &followed, ForOp loop, KernelIndices &indices, std::string &why) {
  std::optional<SpatialNest> nest = spatialNestOf(followed.block, loop, indices, why);
  if (!nest)
    return std::nullopt;
  IndexRanges ranges = indices.rangesAround(followed.block);
  Operation *scope = scopeOf(followed.stored.buffer)->getParentOp();
  SmallVector<ForOp> outer = loopsAround(followed.block, scope);
  for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(followed.block)))
    for (ForOp around : outer)
      if (followed.block.kind(i) != IteratorKind::Spatial && !loop->isProperAncestor(around) &&
          usesLoop(simplify(binding, ranges), around, indices.names))
        return why = "the loop '" + around.getName().str() + "' is one of the reduction '" +
                     followed.block.getName().str() + "', which it does not complete",
               std::nullopt;
  return nest;
}

/// Whether `first` runs before `second` in each iteration of their common loops.
static bool runsBefore(Operation *first, Operation *second) {
  Operation *other = nullptr;
  for (; !(other = statementIn(first->getBlock(), second)); first = first->getParentOp())
    ;
  return first != other && first->isBeforeInBlock(other);
}

/// Whether nothing between the loop and the block's present location touches what the block writes.
static bool mayRunEarlier(func::FuncOp kernel, BlockOp block, Value written, ForOp loop) {
  return llvm::all_of(accessesIn(kernel, written), [&](const Access &access) {
    return block->isAncestor(access.op) || runsBefore(access.op, loop) || runsBefore(block, access.op);
  });
}

LogicalResult KernelSchedule::reverseComputeAt(Block blockHandle, Loop loopHandle) {
  BlockOp block;
  ForOp loop;
  if (failed(find(blockHandle, loopHandle, block, loop)))
    return failure();
  std::string title = "reverse_compute_at " + nameOf(blockHandle) + ", " + nameOf(loopHandle) + ": ", why;
  std::optional<SingleStore> result = singleStoreOf(block, why);
  if (!result || block.isReduction())
    return refuse(title + "the block '" + block.getName() + "' cannot move: " + (result ? "it is a reduction" : why));
  if (loop->isAncestor(block))
    return refuse(title + "the loop is around the block already");
  if (!runsBefore(loop, block))
    return refuse(title + "the loop is not before the block '" + block.getName() + "'");
  if (!mayRunEarlier(kernel, block, result->buffer, loop))
    return refuse(title + "between the loop and the block '" + block.getName() + "', another block uses " +
                  bufferName(result->buffer));
  std::optional<Followed> followed = findFollowed(kernel, block, loop, why);
  if (!followed)
    return refuse(title + why);
  Value buffer = followed->stored.buffer;
  Operation *place = statementIn(loop.body(), followed->block);
  KernelIndices indices;
  IndexNames &names = indices.names;
  std::optional<SpatialNest> nest = finalNest(*followed, loop, indices, why);
  if (!nest)
    return refuse(title + why);
  Shape shape = cast<BufferType>(buffer.getType()).extents(), domain(block.getDomain().values());
  Shape produced(followed->block.getDomain().values());
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (domain[followed->iterators[dim]] != extent)
      return refuse(title + "the block does not read all of " + bufferName(buffer));
    if (produced[followed->stored.iterators[dim]] != extent)
      return refuse(title + "its producer does not write all of " + bufferName(buffer));
  }
  for (const Access &read : accessesIn(block))
    if (!read.isStore() && read.buffer() != buffer && !isReadyAt(kernel, read.buffer(), place))
      return refuse(title + "the block reads the buffer " + bufferName(read.buffer()) +
                    ", which is not complete in the loop");
  Operation *outermost = statementIn(scopeOf(result->buffer), loop);
  if (!outermost || !statementIn(scopeOf(buffer), block))
    return refuse(title + "the buffer " + bufferName(result->buffer) + " does not live around the loop");
  if (Operation *alloc = result->buffer.getDefiningOp(); alloc && !alloc->isBeforeInBlock(outermost))
    alloc->moveBefore(outermost);
  // Loops like the producer's, then those of iterators that index no dimension of the buffer.
  OpBuilder builder(place);
  builder.setInsertionPointAfter(place);
  IndexRanges ranges = indices.rangesAround(followed->block);
  llvm::StringMap<SymbolicInt> replacements = copyLoops(builder, nest->loops, names);
  Shape source = indices.bindingsOf(followed->block), bindings(domain.size()), conditions;
  for (auto [dim, iterator] : llvm::enumerate(followed->iterators))
    bindings[iterator] = simplify(source[followed->stored.iterators[dim]], ranges).substitute(replacements);
  for (const SymbolicInt &condition : nest->conditions)
    conditions.push_back(condition.substitute(replacements));
  for (unsigned i = 0; i < domain.size(); ++i)
    if (!llvm::is_contained(followed->iterators, i))
      bindings[i] = createLoops(builder, block.getLoc(), domain[i], "r" + std::to_string(i), names).front();
  Operation *old = nestOf(block);
  block->remove();
  builder.insert(block);
  setBindings(block, bindings, conditions, names);
  if (old != block)
    erase(old);
  record("reverse_compute_at", {}, {nameOf(blockHandle), nameOf(loopHandle)});
  return success();
}
