//===- Loops.cpp - queries of loops for rules -----------------------------===//

#include "tile/cost/KernelCost.h"
#include "tile/flatten/Lanes.h"
#include "tile/rules/Rules.h"
#include "tile/schedule/IndexMap.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

unsigned perpend::tile::leadingSpatialLoops(BlockOp block) {
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(block);
  unsigned count = 0;
  for (ForOp loop : loopsAround(block)) {
    auto binding = llvm::find(bindings, indices.names.symbol(loop.variable()));
    if (binding == bindings.end() || block.kind(binding - bindings.begin()) != IteratorKind::Spatial)
      break;
    ++count;
  }
  return count;
}

/// Whether code computes with the loop's variable, beyond using it as an index.
static bool isObserved(ForOp loop, KernelIndices &indices) {
  WalkResult result = loop.walk([&](Operation *op) {
    auto index = dyn_cast<IndexOp>(op);
    bool found = index && llvm::any_of(indices.resolve(index.getExpression(), index.getVariables()),
                                       [&](auto &expression) { return usesLoop(expression, loop, indices.names); });
    if (auto block = dyn_cast<BlockOp>(op))
      for (auto [iterator, binding] : llvm::zip(block.iterators(), indices.bindingsOf(block)))
        found |= usesLoop(binding, loop, indices.names) && llvm::any_of(iterator.getUsers(), [](Operation *user) {
                   return !isa<LoadOp, StoreOp, IndexOp>(user);
                 });
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

bool perpend::tile::areOne(ForOp outer, ForOp inner, const SymbolicInt &extent, KernelIndices &indices) {
  return !isObserved(outer, indices) && !isObserved(inner, indices) &&
         llvm::all_of(accessesIn(inner), [&](const Access &access) {
           SymbolicInt position = indices.positionOf(access);
           IndexAlong far = indices.along(position, outer, access.op), near = indices.along(position, inner, access.op);
           return far.stride && near.stride && *far.stride == *near.stride * extent;
         });
}

/// Joins by a map such as `(i0, i1, i2) -> (i0, i1*5 + i2)`.
LogicalResult
perpend::tile::joinLoops(KernelSchedule &schedule, KernelSchedule::Block handle,
                         llvm::function_ref<bool(ForOp outer, unsigned group, const SymbolicInt &inside)> mayJoin,
                         bool keepsUnits) {
  KernelIndices indices;
  BlockOp block = schedule.operation(handle);
  SmallVector<ForOp> nest = loopsAround(block);
  Shape domain(block.getDomain().values()), outputs, units;
  size_t number = nest.size(); // number of the next loop
  SymbolicInt inside;
  IteratorKind kind = IteratorKind::Spatial;
  bool joinsAny = false;
  for (unsigned i = domain.size(); i-- > 0;) {
    SymbolicInt iterator = SymbolicInt::symbol("%" + std::to_string(i));
    if (domain[i] == SymbolicInt(1)) {
      if (keepsUnits && block.kind(i) == IteratorKind::Spatial)
        units.insert(units.begin(), iterator);
      continue;
    }
    --number;
    if (!outputs.empty() && block.kind(i) == kind && mayJoin(nest[number], outputs.size() - 1, inside) &&
        areOne(nest[number], nest[number + 1], indices.extentOf(nest[number + 1]), indices)) {
      outputs.front() = outputs.front() + iterator * inside;
      inside = inside * domain[i];
      joinsAny = true;
      continue;
    }
    kind = block.kind(i);
    inside = domain[i];
    outputs.insert(outputs.begin(), iterator);
  }
  outputs.insert(outputs.begin(), units.begin(), units.end());
  return success(!joinsAny ||
                 succeeded(schedule.transformBlockLayout(handle, IndexMap::of(domain.size(), outputs).str())));
}

bool perpend::tile::isContiguousAlong(ForOp loop, KernelIndices &indices) {
  return llvm::all_of(accessesIn(loop), [&](const Access &access) {
    IndexAlong along = indices.along(indices.positionOf(access), loop, access.op);
    return along.isContiguous() || (along.isUniform() && !access.isStore());
  });
}

int64_t perpend::tile::lanesOf(ForOp loop, const target::Machine &target) {
  static constexpr int64_t leastLanes = 2;
  unsigned widest = 1;
  KernelIndices indices;
  for (const Access &access : accessesIn(loop)) {
    if (!usesLoop(indices.positionOf(access), loop, indices.names))
      continue;
    Type type = cast<BufferType>(access.buffer().getType()).getElementType();
    widest = std::max<unsigned>(widest, type.isIntOrFloat() ? llvm::divideCeil(type.getIntOrFloatBitWidth(), 8) : 8);
  }
  int64_t lanes = target.vectorLanes(widest);
  return lanes >= leastLanes && isContiguousAlong(loop, indices) && fitsLanes(loop, indices) ? lanes : 0;
}

/// Vectorises a loop; with many vectors, several per iteration.
static LogicalResult runVectors(KernelSchedule &schedule, KernelSchedule::Loop loop, int64_t lanes) {
  constexpr int64_t fewVectors = 16; // LLVM unrolls so many by itself
  std::optional<int64_t> extent = countOf(schedule, loop).constant();
  if (extent && *extent == lanes)
    return schedule.vectorize(loop);
  int64_t together = 1;
  for (int64_t count : {2, 3, 4})
    if (extent && *extent > fewVectors * lanes && *extent % (count * lanes) == 0)
      together = count;
  SmallVector<KernelSchedule::Factor> factors = {std::nullopt, together, lanes};
  if (together == 1)
    factors.erase(factors.begin() + 1);
  auto loops = schedule.split(loop, factors);
  if (failed(loops) || (together > 1 && failed(schedule.unroll((*loops)[1]))))
    return failure();
  return schedule.vectorize(loops->back());
}

LogicalResult perpend::tile::vectorizeParts(KernelSchedule &schedule, KernelSchedule::Loop loop,
                                            const target::Machine &target, bool isRest) {
  constexpr int64_t leastLanes = 2;
  std::optional<int64_t> extent = countOf(schedule, loop).constant();
  int64_t lanes = lanesOf(schedule.operation(loop), target);
  if (extent && *extent < lanes && !isRest && !llvm::isPowerOf2_64(*extent))
    return success(); // LLVM can vectorise across several loops
  while (extent && lanes > *extent)
    lanes /= 2;
  if (lanes < leastLanes)
    return success();
  int64_t rest = extent ? *extent % lanes : 0;
  if (rest > 1) {
    auto parts = schedule.loopPartition(loop, {*extent - rest, std::nullopt});
    if (failed(parts) || failed(vectorizeParts(schedule, parts->back(), target, /*isRest=*/true)))
      return failure();
    loop = parts->front();
  }
  return runVectors(schedule, loop, lanes);
}

SymbolicInt perpend::tile::countOf(KernelSchedule &schedule, ArrayRef<KernelSchedule::Loop> loops) {
  return graph::elementCount(llvm::map_to_vector(
      loops, [&](KernelSchedule::Loop loop) { return schedule.operation(loop).getExtent().values().front(); }));
}

SmallVector<KernelSchedule::Loop> perpend::tile::unitsAmong(KernelSchedule &schedule,
                                                            ArrayRef<KernelSchedule::Loop> loops) {
  SmallVector<KernelSchedule::Loop> units;
  for (KernelSchedule::Loop loop : loops) {
    units.push_back(loop);
    if (countOf(schedule, units).isPoison())
      return units.pop_back(), units;
    if (estimate(countOf(schedule, units)) >= wantedUnits)
      break;
  }
  return units;
}

FailureOr<KernelSchedule::Loop> perpend::tile::fuseUnits(KernelSchedule &schedule,
                                                         ArrayRef<KernelSchedule::Loop> units) {
  FailureOr<KernelSchedule::Loop> one = schedule.fuse(units);
  if (failed(one) || failed(schedule.parallel(*one)))
    return failure();
  return one;
}

LogicalResult perpend::tile::runUnits(KernelSchedule &schedule, ArrayRef<KernelSchedule::Loop> units) {
  return success(units.empty() || succeeded(fuseUnits(schedule, units)));
}
