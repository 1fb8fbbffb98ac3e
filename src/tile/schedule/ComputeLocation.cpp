//===- ComputeLocation.cpp - primitives that say where a block runs -------===//

#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The union of `a` and `b`, if it is known which ends are the outer ones.
static std::optional<IndexBounds> join(const IndexBounds &a, const IndexBounds &b) {
  auto least = [](const SymbolicInt &x, const SymbolicInt &y) -> std::optional<SymbolicInt> {
    if ((y - x).knownNonNegative())
      return x;
    return (x - y).knownNonNegative() ? std::optional(y) : std::nullopt;
  };
  std::optional<SymbolicInt> low = least(a.low, b.low), high = least(-a.high, -b.high);
  return low && high ? std::optional(IndexBounds{*low, -*high}) : std::nullopt;
}

/// The region that the accesses touch in each dimension while everything outside `outermost` stays fixed.
static std::optional<SmallVector<IndexBounds>> regionOf(ArrayRef<Access> accesses, KernelIndices &indices,
                                                        Operation *outermost) {
  SmallVector<IndexBounds> region;
  for (const Access &access : accesses) {
    IndexRanges ranges = indices.rangesAround(access.op, outermost), all = indices.rangesAround(access.op);
    for (auto [dim, index] : llvm::enumerate(indices.indicesOf(access))) {
      std::optional<IndexBounds> bounds = boundsOf(simplify(index, all), ranges);
      if (bounds &&
          (!isOutside(bounds->low, outermost, indices.names) || !isOutside(bounds->high, outermost, indices.names)))
        return std::nullopt;
      if (bounds && dim < region.size())
        bounds = join(region[dim], *bounds);
      if (!bounds)
        return std::nullopt;
      if (dim < region.size())
        region[dim] = *bounds;
      else
        region.push_back(*bounds);
    }
  }
  return region;
}

void perpend::tile::compactBuffer(AllocOp alloc, bool mayWrap) {
  Value buffer = alloc.getBuffer();
  BufferType type = alloc.getBuffer().getType();
  KernelIndices indices;
  SmallVector<Access> accesses = accessesIn(alloc->getParentOp(), buffer);
  auto region = regionOf(accesses, indices, alloc->getParentOp());
  if (accesses.empty() || !region)
    return;
  auto aligned = alloc->getAttrOfType<IntegerAttr>(alignedAttribute);
  int64_t free = aligned ? aligned.getInt() : type.rank(); // dimensions whose extents determine no stride
  Shape shape, origin;
  for (auto [bounds, extent] : llvm::zip(*region, type.extents())) {
    SymbolicInt count = bounds.high - bounds.low + SymbolicInt(1);
    bool isLess = int64_t(shape.size()) < free &&
                  ((extent - count).knownNonNegative() || (count.isConstant() && !extent.isConstant()));
    bool isSmaller = !usesIndices(count, indices.names) && count != extent && isLess;
    shape.push_back(isSmaller ? count : extent);
    origin.push_back(isSmaller ? bounds.low : SymbolicInt(0));
  }
  if (shape == type.extents())
    return;
  // Blocks refer to no loop variables, so the region's origin cannot be subtracted from indices. It is removed by
  // dropping the index that equals it, or by taking the index modulo the extent, which keeps consecutive elements
  // apart.
  SmallVector<bool> wraps(shape.size(), false);
  for (const Access &access : accesses)
    for (auto [dim, index, start] : llvm::enumerate(indices.indicesOf(access), origin))
      wraps[dim] = wraps[dim] || (usesIndices(start, indices.names) && index != start);
  if (!mayWrap && llvm::is_contained(wraps, true))
    return;
  buffer.setType(BufferType::get(type.getContext(), shape, type.getElementType(), type.getScope().getValue()));
  for (const Access &access : accesses) {
    IndexNames &names = indices.names;
    Shape local = names.read(access.indices(), access.variables());
    for (auto [dim, index, start] : llvm::enumerate(local, origin))
      index = wraps[dim] ? support::mod(index, shape[dim]) : usesIndices(start, names) ? SymbolicInt(0) : index - start;
    setIndices(access, local, names);
  }
}

void perpend::tile::compactBuffers(func::FuncOp kernel) {
  SmallVector<AllocOp> allocs;
  kernel.walk([&](AllocOp alloc) { allocs.push_back(alloc); });
  for (AllocOp alloc : allocs)
    compactBuffer(alloc, /*mayWrap=*/true);
}

//===----------------------------------------------------------------------===//
// compute_at
//===----------------------------------------------------------------------===//

namespace {
constexpr unsigned noIterator = ~0u;

/// A block that is about to be moved.
struct Producer {
  BlockOp block;
  AllocOp alloc;
  StoreOp store;
  /// For each dimension of the buffer, the iterator that is its index; none if the only index is 0.
  SmallVector<unsigned> iterators;
  bool readersHaveNoConditions = true;
  /// The block's conditions in terms of its iterators.
  Shape conditions;
};
} // namespace

/// The conditions of a block in terms of its iterators; nullopt if they use a loop that is not an iterator.
static std::optional<Shape> conditionsOfIterators(BlockOp block, KernelIndices &indices) {
  IndexNames &names = indices.names;
  llvm::StringMap<SymbolicInt> iterators;
  Shape bindings = indices.bindingsOf(block), conditions = indices.resolve(block.getConditions(), block.getVariables());
  for (ForOp loop : loopsAround(block))
    if (auto bound = llvm::find(bindings, names.symbol(loop.variable())); bound != bindings.end())
      iterators[names.nameOf(loop.variable())] = names.symbol(block.iterators()[bound - bindings.begin()]);
  for (SymbolicInt &condition : conditions) {
    if (names.anyValue(condition, [&](Value value) { return !iterators.count(names.nameOf(value)); }))
      return std::nullopt;
    condition = condition.substitute(iterators);
  }
  return conditions;
}

/// Accepts a block that stores one element of one local buffer, indexed by its iterators.
static std::optional<Producer> asProducer(BlockOp block, std::string &reason) {
  Producer producer{block, {}, {}, {}, true, {}};
  for (const Access &access : accessesIn(block)) {
    if (!access.isStore())
      continue;
    if (producer.alloc && producer.alloc.getBuffer() != access.buffer())
      return reason = "it writes two buffers", std::nullopt;
    producer.alloc = access.buffer().getDefiningOp<AllocOp>();
    producer.store = cast<StoreOp>(access.op);
    if (!producer.alloc)
      return reason = "it writes a buffer of the kernel's caller", std::nullopt;
  }
  IndexNames names;
  Shape stored = names.read(producer.store.getIndices(), producer.store.getVariables());
  for (auto [index, extent] : llvm::zip(stored, producer.alloc.getBuffer().getType().extents())) {
    if (index == SymbolicInt(0) && extent == SymbolicInt(1)) {
      producer.iterators.push_back(noIterator);
      continue;
    }
    auto isThis = [&, &index = index](Value iterator) { return names.symbol(iterator) == index; };
    auto iterator = llvm::find_if(block.iterators(), isThis);
    unsigned number = iterator - block.iterators().begin();
    if (iterator == block.iterators().end() || block.kind(number) != IteratorKind::Spatial)
      return reason = "the indices of its store are not exactly its spatial iterators", std::nullopt;
    producer.iterators.push_back(number);
  }
  return producer;
}

/// Whether the iterator keeps its binding to loops around the new location: a spatial iterator for which the buffer has
/// no dimension left.
static bool staysBound(const Producer &producer, unsigned iterator) {
  BlockOp block = producer.block;
  return block.kind(iterator) == IteratorKind::Spatial && !llvm::is_contained(producer.iterators, iterator) &&
         block.getDomain().values()[iterator] != SymbolicInt(1);
}

/// Whether nothing beyond the end of a dimension is accessed.
static bool isWithin(const std::optional<SmallVector<IndexBounds>> &region, size_t dim, const SymbolicInt &extent) {
  return region && (region->empty() || (extent - SymbolicInt(1) - (*region)[dim].high).knownNonNegative());
}

/// Builds new loops around the block: over `region` for the stored dimensions, over everything for the reduced ones.
/// `sure` is the part that is read unconditionally, and so lies within the buffer.
static void rebuildNest(const Producer &producer, ArrayRef<IndexBounds> region,
                        const std::optional<SmallVector<IndexBounds>> &sure, KernelIndices &indices,
                        const IndexRanges &around, OpBuilder builder) {
  BlockOp block = producer.block;
  IndexNames &names = indices.names;
  Shape domain(block.getDomain().values()), bindings = indices.bindingsOf(block), conditions;
  Shape extents = AllocOp(producer.alloc).getBuffer().getType().extents();
  for (unsigned i = 0; i < domain.size(); ++i) {
    if (staysBound(producer, i))
      continue;
    auto stored = llvm::find(producer.iterators, i);
    SymbolicInt origin(0), count = domain[i];
    if (stored != producer.iterators.end()) {
      const IndexBounds &bounds = region[stored - producer.iterators.begin()];
      origin = bounds.low;
      count = bounds.high - bounds.low + SymbolicInt(1);
      if (origin == SymbolicInt(0) && (count - domain[i]).knownNonNegative() &&
          isWithin(sure, stored - producer.iterators.begin(), domain[i]))
        count = domain[i];
    }
    bindings[i] = origin;
    if (count != SymbolicInt(1)) {
      auto name = cast<StringAttr>(block.getIteratorNames()[i]).getValue();
      name.consume_front("v");
      ForOp loop = createFor(builder, block.getLoc(), count, name, names);
      bindings[i] = origin + names.symbol(loop.variable());
      builder.setInsertionPointToStart(loop.body());
    }
    // Unconditional reads are in bounds, so no condition is needed for a single element or for all of them.
    bool isAsRead = count == SymbolicInt(1) || (count == domain[i] && origin == SymbolicInt(0));
    if (stored != producer.iterators.end()) // an aligned buffer is larger than the domain
      isAsRead &= (domain[i] - extents[stored - producer.iterators.begin()]).knownNonNegative();
    std::optional<IndexBounds> last = boundsOf(origin + count, around);
    if ((isAsRead && producer.readersHaveNoConditions) || (last && (domain[i] - last->high).knownNonNegative()))
      continue;
    conditions.append({bindings[i], domain[i]});
  }
  llvm::StringMap<SymbolicInt> bound;
  for (auto [iterator, binding] : llvm::zip(block.iterators(), bindings))
    bound[names.nameOf(iterator)] = binding;
  for (const SymbolicInt &condition : producer.conditions)
    conditions.push_back(condition.substitute(bound));
  block->remove();
  builder.insert(block);
  SmallVector<Value> variables;
  block.setBindingsAttr(names.write(block.getContext(), bindings, variables));
  block.setConditionsAttr(names.write(block.getContext(), conditions, variables));
  block.getVariablesMutable().assign(variables);
}

LogicalResult KernelSchedule::computeAt(Block blockHandle, Loop loopHandle) {
  BlockOp block;
  ForOp loop;
  if (failed(find(blockHandle, loopHandle, block, loop)))
    return failure();
  std::string title = "compute_at " + nameOf(blockHandle) + ", " + nameOf(loopHandle) + ": ";
  std::string why;
  std::optional<Producer> producer = asProducer(block, why);
  if (!producer)
    return refuse(title + "the block '" + block.getName() + "' cannot move: " + why);
  if (loop->isAncestor(block))
    return refuse(title + "the loop is around the block already");
  KernelIndices indices;
  std::optional<Shape> conditions = conditionsOfIterators(block, indices);
  if (!conditions)
    return refuse(title + "the block has a condition on loops that are not its iterators; move it before loops around "
                          "it are split");
  producer->conditions = *conditions;
  SmallVector<Access> reads, sureReads;
  Operation *first = nullptr;
  for (const Access &access : accessesIn(kernel, producer->alloc.getBuffer())) {
    if (block->isAncestor(access.op))
      continue;
    auto user = access.op->getParentOfType<BlockOp>();
    if (access.isStore())
      return refuse(title + "the block '" + user.getName() + "' writes the buffer '" + producer->alloc.getName() +
                    "', too\nhint: compute_at before what makes several of one block, such as decompose_reduction");
    if (!loop->isAncestor(access.op))
      return refuse(title + "the buffer '" + producer->alloc.getName() +
                    "' is read outside of the loop, by the block '" + user.getName() +
                    "'\nhint: a loop that is around all blocks that read it");
    Operation *statement = statementIn(loop.body(), access.op);
    first = !first || statement->isBeforeInBlock(first) ? statement : first;
    reads.push_back(access);
    bool isInBranch = !isa<BlockOp, InitOp>(access.op->getParentOp());
    if (!isInBranch)
      sureReads.push_back(access);
    producer->readersHaveNoConditions &= !isInBranch;
    for (auto reader = access.op->getParentOfType<BlockOp>(); reader; reader = reader->getParentOfType<BlockOp>())
      producer->readersHaveNoConditions &= reader.getConditions().getDims().empty();
  }
  if (reads.empty())
    return refuse(title + "nothing in the loop reads what the block computes");
  // The block's operands must be ready: complete before the loop, or written by the same iteration.
  for (const Access &read : accessesIn(block))
    if (!read.isStore() && read.buffer() != producer->alloc.getBuffer() && !isReadyAt(kernel, read.buffer(), first))
      return refuse(title + "the buffer " + bufferName(read.buffer()) +
                    " that the block reads is not complete in an iteration, before what reads the block");
  auto region = regionOf(reads, indices, loop);
  if (!region)
    return refuse(title + "the elements that an iteration reads are unknown");
  for (const IndexBounds &bounds : *region) {
    if (usesIndices(bounds.high - bounds.low, indices.names))
      return refuse(title + "iterations read regions of different sizes");
    std::optional<IndexBounds> first = boundsOf(bounds.low, indices.rangesAround(loop));
    if (!first || !first->low.knownNonNegative())
      return refuse(title + "an iteration may read from before the start of the buffer, under a condition");
  }
  Shape bindings = indices.bindingsOf(block);
  for (unsigned i = 0; i < bindings.size(); ++i)
    if (staysBound(*producer, i) && !isOutside(bindings[i], loop, indices.names))
      return refuse(title + "the block '" + block.getName() +
                    "' has moved before, into loops that are not around this one");
  Operation *nest = nestOf(block);
  rebuildNest(*producer, *region, regionOf(sureReads, indices, loop), indices, indices.rangesAround(loop),
              OpBuilder(first));
  if (nest != block)
    erase(nest);
  producer->alloc->moveBefore(&loop.body()->front());
  compactBuffer(producer->alloc);
  record("compute_at", {}, {nameOf(blockHandle), nameOf(loopHandle)});
  return success();
}
