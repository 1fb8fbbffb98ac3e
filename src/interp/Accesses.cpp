//===- Accesses.cpp - checks a kernel's reads and writes ------------------===//

#include "interp/Accesses.h"

#include "graph/Shapes.h"

using namespace mlir;

namespace perpend::interp {

/// Converts a row-major position to an index in each dimension.
static Extents indexAt(int64_t position, ArrayRef<int64_t> shape) {
  Extents index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; position /= shape[dim])
    index[dim] = position % shape[dim];
  return index;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

TrackedBuffer::TrackedBuffer(std::string name, ArrayRef<int64_t> shape, bool isInput)
    : name(std::move(name)), shape(shape), isInput(isInput),
      elements(isInput ? 0 : static_cast<size_t>(countElements(shape).value_or(0))) {}

std::string TrackedBuffer::describe(int64_t element) const {
  return "element " + graph::toString(indexAt(element, shape)) + " of the buffer '" + name + "'";
}

std::vector<TrackedBuffer::Claim> &TrackedBuffer::claimsOf(uint32_t block) {
  for (auto &[number, list] : claims)
    if (number == block)
      return list;
  return claims.emplace_back(block, std::vector<Claim>(elements.size())).second;
}

//===----------------------------------------------------------------------===//
// Iterations of parallel loops
//===----------------------------------------------------------------------===//

void AccessTracker::enterIteration(tile::ForOp loop, uint64_t execution, int64_t number) {
  iterations.push_back({current, iterations[current].depth + 1, loop, execution, number});
  current = static_cast<uint32_t>(iterations.size() - 1);
}

/// The outermost loop in whose same execution the two places belong to different iterations; nullopt if the program
/// orders them.
std::optional<AccessTracker::Divergence> AccessTracker::diverge(uint32_t first, uint32_t second) const {
  while (iterations[first].depth > iterations[second].depth)
    first = iterations[first].around;
  while (iterations[second].depth > iterations[first].depth)
    second = iterations[second].around;
  if (first == second)
    return std::nullopt;
  while (iterations[first].around != iterations[second].around) {
    first = iterations[first].around;
    second = iterations[second].around;
  }
  const Iteration &a = iterations[first], &b = iterations[second];
  if (a.execution != b.execution)
    return std::nullopt;
  return Divergence{a.loop, a.number, b.number, a.depth};
}

LogicalResult AccessTracker::checkRace(Operation *op, const TrackedBuffer &tracked, int64_t element,
                                       TrackedBuffer::Place before, bool wasWrite, bool isWrite) const {
  if (!before.exists())
    return success();
  std::optional<Divergence> divergence = diverge(before.iteration, current);
  if (!divergence)
    return success();
  auto doing = [](bool writes) { return writes ? " writes" : " reads"; };
  tile::ForOp loop = divergence->loop;
  return op->emitError() << place() << "iteration " << divergence->second << " of the "
                         << tile::stringifyLoopKind(loop.getKind()) << " loop '" << loop.getName() << "'"
                         << doing(isWrite) << " what iteration " << divergence->first << doing(wasWrite) << " ("
                         << nameOf(before.block) << "): " << tracked.describe(element)
                         << "\nhint: iterations of such a loop may run at the same time; a serial loop keeps the order";
}

//===----------------------------------------------------------------------===//
// Instances of blocks
//===----------------------------------------------------------------------===//

void AccessTracker::addBlock(tile::BlockOp op, ArrayRef<int64_t> domain) {
  numbers[op] = static_cast<uint32_t>(blocks.size());
  Block &block = blocks.emplace_back();
  block.op = op;
  block.domain = Extents(domain);
  while (block.spatial < domain.size() && op.kind(block.spatial) == tile::IteratorKind::Spatial)
    ++block.spatial;
  op->walk([&](tile::StoreOp store) { block.written.insert(store.getBuffer()); });
}

std::string AccessTracker::nameOf(uint32_t block) const {
  return block == TrackedBuffer::none ? "outside of blocks"
                                      : "block '" + tile::BlockOp(blocks[block].op).getName().str() + "'";
}

std::string AccessTracker::place() const { return frames.empty() ? "" : nameOf(frames.back().block) + ": "; }

TrackedBuffer::Place AccessTracker::here() const {
  return {current, frames.empty() ? TrackedBuffer::none : frames.back().block};
}

std::string AccessTracker::pointText(const Block &block, int64_t point, unsigned dims) const {
  return graph::toString(indexAt(point, ArrayRef(block.domain).take_front(dims)));
}

LogicalResult AccessTracker::enterInstance(tile::BlockOp op, ArrayRef<int64_t> point) {
  auto known = numbers.find(op);
  if (known == numbers.end())
    return op.emitError("expected a block of the kernel itself, got one of a function that it calls");
  uint32_t number = known->second;
  Block &block = blocks[number];
  int64_t position = 0, spatialPoint = 0;
  for (auto [i, value] : llvm::enumerate(point)) {
    if (value < 0 || value >= block.domain[i])
      return op.emitError() << nameOf(number) << ": expected the iterator '"
                            << cast<StringAttr>(op.getIteratorNames()[i]).getValue() << "' inside its extent of "
                            << block.domain[i] << ", got " << value
                            << "\nhint: a condition (where) must exclude iterations beyond the extent";
    position = position * block.domain[i] + value;
    spatialPoint = i < block.spatial ? position : spatialPoint;
  }
  uint32_t scope = frames.empty() ? 0 : frames.back().serial;
  frames.push_back({number, scope, ++nextInstance, spatialPoint});
  if (!checksInstances)
    return success();
  if (block.scope != scope) {
    if (failed(checkRuns(block)))
      return failure();
    block.runs.assign(static_cast<size_t>(countElements(block.domain).value_or(0)), 0);
    block.scope = scope;
  }
  if (block.runs[position]++)
    return op.emitError() << nameOf(number)
                          << ": expected the block to run once for each value of its iterators, but for "
                          << graph::toString(point) << " it runs again";
  return success();
}

LogicalResult AccessTracker::checkRuns(Block &block) {
  auto missing = llvm::find(block.runs, 0);
  if (missing == block.runs.end())
    return success();
  return block.op.emitError() << nameOf(numbers.lookup(block.op))
                              << ": expected the block to run once for each value of its iterators, but for "
                              << pointText(block, missing - block.runs.begin(), block.domain.size())
                              << " it never runs";
}

LogicalResult AccessTracker::finish() {
  for (Block &block : blocks) {
    bool isOutermost = !block.op->getParentOfType<tile::BlockOp>();
    if (checksInstances && isOutermost && block.scope == TrackedBuffer::none)
      block.runs.assign(static_cast<size_t>(countElements(block.domain).value_or(0)), 0);
    if (checksInstances && failed(checkRuns(block)))
      return failure();
  }
  return success();
}

/// Records the access of this frame's instance to the element, and checks it against other instances of the block.
LogicalResult AccessTracker::claim(Operation *op, TrackedBuffer &tracked, int64_t element, const Frame &frame,
                                   bool isWrite) {
  TrackedBuffer::Claim &claim = tracked.claimsOf(frame.block)[element];
  if (claim.scope != frame.scope)
    claim = {frame.scope, false, -1, -1};
  int64_t point = frame.spatialPoint;
  bool meetsWriter = claim.writer >= 0 && claim.writer != point;
  bool meetsReader = isWrite && claim.reader >= 0 && (claim.reader != point || claim.severalRead);
  if (meetsWriter || meetsReader) {
    const Block &block = blocks[frame.block];
    int64_t other = meetsWriter ? claim.writer : claim.reader;
    return op->emitError() << nameOf(frame.block) << ": the instance " << pointText(block, point, block.spatial)
                           << " of its spatial iterators " << (isWrite ? "writes" : "reads") << " what "
                           << (other == point ? std::string("another") : pointText(block, other, block.spatial))
                           << (meetsWriter ? " writes" : " reads") << ": " << tracked.describe(element)
                           << "\nhint: an iterator of instances that access the same element must be reduced or opaque";
  }
  if (isWrite) {
    claim.writer = point;
    return success();
  }
  claim.severalRead |= claim.reader >= 0 && claim.reader != point;
  claim.reader = point;
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

LogicalResult AccessTracker::read(Operation *op, Value buffer, TrackedBuffer &tracked, int64_t position) {
  if (tracked.isInput)
    return success();
  TrackedBuffer::Element &element = tracked.elements[position];
  if (!element.write.exists())
    return op->emitError() << place() << "reads the " << tracked.describe(position) << ", which was not written"
                           << "\nhint: memory of an iteration is uninitialised";
  if (failed(checkRace(op, tracked, position, element.write, /*wasWrite=*/true, /*isWrite=*/false)))
    return failure();
  for (const Frame &frame : frames)
    if (blocks[frame.block].written.contains(buffer) && failed(claim(op, tracked, position, frame, false)))
      return failure();
  // Reads of two different iterations are kept, so that a later write conflicts with one of them, whatever its
  // iteration. Of several candidates, the one that differs in the outermost loop covers the most.
  auto depthOf = [&](TrackedBuffer::Place place) {
    std::optional<Divergence> divergence = place.exists() ? diverge(place.iteration, current) : std::nullopt;
    return divergence ? divergence->depth : TrackedBuffer::none;
  };
  uint32_t depth = depthOf(element.read), otherDepth = depthOf(element.otherRead);
  if (depth < otherDepth || otherDepth == TrackedBuffer::none)
    element.otherRead = depth == TrackedBuffer::none ? TrackedBuffer::Place() : element.read;
  element.read = here();
  return success();
}

LogicalResult AccessTracker::write(Operation *op, TrackedBuffer &tracked, int64_t position) {
  if (tracked.isInput)
    return op->emitError() << place() << "writes the " << tracked.describe(position)
                           << ", expected a result or memory of the kernel";
  TrackedBuffer::Element &element = tracked.elements[position];
  if (failed(checkRace(op, tracked, position, element.write, true, true)) ||
      failed(checkRace(op, tracked, position, element.otherRead, false, true)) ||
      failed(checkRace(op, tracked, position, element.read, false, true)))
    return failure();
  for (const Frame &frame : frames)
    if (failed(claim(op, tracked, position, frame, true)))
      return failure();
  element.write = here();
  return success();
}
} // namespace perpend::interp
