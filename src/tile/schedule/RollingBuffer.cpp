//===- RollingBuffer.cpp - reuses elements of the previous iteration ------===//
//
// If the iterations of a loop compute overlapping windows of a buffer, each
// computes only the new part of its window. The buffer holds one window and is
// used as a ring. Iterations are then no longer independent.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// In iteration i of the loop, the block stores the indices [low(i), low(i) + size) of a dimension, where low(i + 1) =
/// low(i) + step and step < size.
struct Window {
  unsigned dim = 0;
  SymbolicInt index, low, size, step;
};
} // namespace

/// The only dimension along which iterations overlap; the others must not depend on the loop.
static std::optional<Window> windowOf(BlockOp block, const SingleStore &single, ForOp loop, KernelIndices &indices,
                                      std::string &why) {
  IndexNames &names = indices.names;
  IndexRanges inside = indices.rangesAround(block, loop);
  llvm::StringMap<SymbolicInt> next;
  next[names.nameOf(loop.variable())] = names.symbol(loop.variable()) + SymbolicInt(1);
  Shape bindings = indices.bindingsOf(block);
  std::optional<Window> found;
  for (auto [dim, iterator] : llvm::enumerate(single.iterators)) {
    SymbolicInt index = simplify(bindings[iterator], indices.rangesAround(block));
    if (!usesLoop(index, loop, names))
      continue;
    std::optional<IndexBounds> bounds = boundsOf(index, inside);
    if (found || !bounds || !isOutside(bounds->low, loop, names) || !isOutside(bounds->high, loop, names))
      return why = "it is not known what its iterations store, in one dimension", std::nullopt;
    Window window{static_cast<unsigned>(dim), index, bounds->low, bounds->high - bounds->low + SymbolicInt(1),
                  bounds->low.substitute(next) - bounds->low};
    if (usesIndices(window.size, names) || usesIndices(window.step, names) || !window.step.knownPositive())
      return why = "its iterations do not store windows of one size, one behind the other", std::nullopt;
    if (!(window.size - window.step).knownPositive())
      return why = "the windows of its iterations do not overlap", std::nullopt;
    found = window;
  }
  if (!found)
    why = "every iteration stores the same elements; compute_at an outer loop";
  return found;
}

/// Whether elements that an iteration skips were computed before: conditions may depend on the iteration only through
/// the element.
static bool areOfElements(BlockOp block, const Window &window, ForOp loop, KernelIndices &indices) {
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  IndexRanges ranges = indices.rangesAround(block);
  for (size_t i = 0; i < conditions.size(); i += 2) {
    SymbolicInt difference = simplify(conditions[i + 1], ranges) - simplify(conditions[i], ranges);
    bool isOfElement = !usesLoop(difference, loop, indices.names) ||
                       isOutside(difference + window.index, loop->getParentOp(), indices.names);
    if (!isOfElement)
      return false;
  }
  return true;
}

LogicalResult KernelSchedule::rollingBuffer(Block handle, int64_t number) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string why, title = "rolling_buffer " + nameOf(handle) + ": ";
  FailureOr<Value> written = findBuffer(block, "write", number, title);
  if (failed(written))
    return failure();
  Value buffer = *written;
  title += "the block '" + block.getName().str() + "': ";
  auto alloc = buffer.getDefiningOp<AllocOp>();
  auto loop = alloc ? dyn_cast<ForOp>(alloc->getParentOp()) : ForOp();
  if (!loop)
    return refuse(title + bufferName(buffer) + " is not memory of a loop's iteration\nhint: compute_at before");
  if (loop.getKind() != LoopKind::Serial && loop.getKind() != LoopKind::Unrolled)
    return refuse(title + "the loop '" + loop.getName() + "' is " + stringifyLoopKind(loop.getKind()) +
                  ", so no iteration runs before another");
  std::optional<SingleStore> single = singleStoreOf(block, why);
  if (single && writersOf(kernel, buffer).size() != 1)
    why = "another block writes " + bufferName(buffer);
  if (!single || writersOf(kernel, buffer).size() != 1)
    return refuse(title + why);
  KernelIndices indices;
  std::optional<Window> window = windowOf(block, *single, loop, indices, why);
  if (!window)
    return refuse(title + why);
  if (!areOfElements(block, *window, loop, indices))
    return refuse(title + "a condition depends on the loop '" + loop.getName() + "'; do this before loops are split");
  auto type = cast<BufferType>(buffer.getType());
  Shape shape = type.extents();
  shape[window->dim] = window->size;
  buffer.setType(BufferType::get(type.getContext(), shape, type.getElementType(), type.getScope().getValue()));
  IndexNames &names = indices.names;
  for (const Access &access : accessesIn(loop, buffer)) {
    Shape index = names.read(access.indices(), access.variables());
    index[window->dim] = support::mod(index[window->dim], window->size);
    setIndices(access, index, names);
  }
  // The whole first window, and of each later one the part beyond the previous window.
  SymbolicInt isLater = support::min(names.symbol(loop.variable()), SymbolicInt(1));
  Shape bindings = indices.bindingsOf(block);
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  conditions.append({window->low + (window->size - window->step) * isLater - SymbolicInt(1), window->index});
  setBindings(block, bindings, conditions, names);
  alloc->moveBefore(loop);
  alloc->setAttr(rolledAttribute, UnitAttr::get(type.getContext()));
  record("rolling_buffer", {}, {nameOf(handle), std::to_string(number)});
  return success();
}
