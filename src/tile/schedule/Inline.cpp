//===- Inline.cpp - primitives that inline one block into another ---------===//
//
// A block may be moved into the blocks that read its result, because what it reads does not change in between: every
// element of a buffer is written once, and an element of a reduction is complete before another block reads it.
// Rolling buffers (RollingBuffer.cpp) are the exception; blocks that read or write them are refused.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Accepts a block without reductions that stores each element of a local buffer and is its only writer.
static std::optional<SingleStore> inlinable(func::FuncOp kernel, BlockOp block, std::string &why) {
  std::optional<SingleStore> single = singleStoreOf(block, why);
  if (!single)
    return std::nullopt;
  if (block.isReduction() || block.init())
    return why = "it is a reduction", std::nullopt;
  if (!single->buffer.getDefiningOp<AllocOp>())
    return why = "it writes a buffer of the kernel's caller", std::nullopt;
  if (writersOf(kernel, single->buffer).size() != 1)
    return why = "another block writes the buffer " + bufferName(single->buffer), std::nullopt;
  Shape domain(block.getDomain().values());
  for (auto [iterator, extent] : llvm::zip(single->iterators, cast<BufferType>(single->buffer.getType()).extents()))
    if (!(domain[iterator] - extent).knownNonNegative())
      return why = "the buffer " + bufferName(single->buffer) + " has more elements than it computes", std::nullopt;
  return single;
}

Value perpend::tile::cloneBody(OpBuilder &builder, BlockOp block, StoreOp store, ArrayRef<SymbolicInt> iterators,
                               IndexNames &names, IRMapping mapping) {
  Location loc = block.getLoc();
  SmallVector<IndexOp> indices;
  for (auto [iterator, expression] : llvm::zip(block.iterators(), iterators)) {
    SmallVector<Value> operands;
    graph::ShapeAttr text = names.write(builder.getContext(), expression, operands);
    indices.push_back(builder.create<IndexOp>(loc, builder.getIndexType(), operands, text));
    mapping.map(iterator, indices.back().getResult());
  }
  for (Operation &op : *block.body())
    if (&op != store && !mapping.contains(&op))
      builder.clone(op, mapping);
  for (auto [index, expression] : llvm::zip(indices, iterators))
    replaceVariable(index.getResult(), expression, names);
  for (IndexOp index : indices)
    if (index.use_empty())
      index.erase();
  return mapping.lookupOrDefault(store.getValue());
}

LogicalResult KernelSchedule::computeInline(Block handle) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string why, title = "compute_inline " + nameOf(handle) + ": the block '" + block.getName().str() + "' ";
  std::optional<SingleStore> single = inlinable(kernel, block, why);
  if (!single)
    return refuse(title + "cannot be computed where it is read: " + why);
  for (const Access &source : accessesIn(block))
    if (isRolled(source.buffer()))
      return refuse(title + "reads or writes the rolled buffer " + bufferName(source.buffer()) +
                    ", whose elements do not stay; do this before rolling_buffer");
  SmallVector<Access> reads;
  for (const Access &access : accessesIn(kernel, single->buffer))
    if (!access.isStore())
      reads.push_back(access);
  for (const Access &read : reads)
    for (const Access &source : accessesIn(block))
      if (!source.isStore() && !statementIn(scopeOf(source.buffer()), read.op))
        return refuse(title + "reads the buffer " + bufferName(source.buffer()) +
                      ", which does not live where its result is read");
  for (const Access &read : reads) {
    IndexNames names;
    Shape iterators(block.getKinds().size());
    for (auto [dim, index] : llvm::enumerate(names.read(read.indices(), read.variables())))
      iterators[single->iterators[dim]] = index;
    OpBuilder builder(read.op);
    Value value = cloneBody(builder, block, single->store, iterators, names);
    read.op->getResult(0).replaceAllUsesWith(value);
    read.op->erase();
  }
  erase(nestOf(block));
  erase(single->buffer.getDefiningOp());
  record("compute_inline", {}, nameOf(handle));
  return success();
}

LogicalResult KernelSchedule::reverseComputeInline(Block handle) {
  FailureOr<BlockOp> found = find(handle);
  if (failed(found))
    return failure();
  BlockOp block = *found;
  std::string why, title = "reverse_compute_inline " + nameOf(handle) + ": the block '" + block.getName().str() + "' ";
  std::optional<SingleStore> result = singleStoreOf(block, why);
  if (!result || block.isReduction())
    return refuse(title + "cannot be computed where its producer stores: " + (result ? "it is a reduction" : why));
  // The only buffer read by this block alone, at its iterators.
  BlockOp producer;
  std::optional<SingleStore> stored;
  for (const Access &read : accessesIn(block)) {
    llvm::SetVector<Operation *> writers = writersOf(kernel, read.buffer());
    if (read.isStore() || writers.size() != 1 || !read.buffer().getDefiningOp<AllocOp>())
      continue;
    auto writer = cast<BlockOp>(writers.front());
    why.clear();
    llvm::SetVector<Operation *> readers = readersOf(kernel, read.buffer());
    readers.remove(writer);
    if (readers.size() == 1 && (stored = inlinable(kernel, writer, why))) {
      producer = writer;
      break;
    }
  }
  if (!stored)
    return refuse(title + "has no producer that it could be computed in" +
                  (why.empty() ? ": expected a local buffer that it alone reads" : ": " + why));
  std::optional<SmallVector<unsigned>> positions;
  for (const Access &read : accessesIn(block, stored->buffer)) {
    positions = asIterators(block, read);
    if (!positions || positions->size() != block.getKinds().size() || read.op->getParentOp() != block)
      return refuse(title + "does not read " + bufferName(stored->buffer) + " at its iterators");
    if (positions != asIterators(block, accessesIn(block, stored->buffer).front()))
      return refuse(title + "reads " + bufferName(stored->buffer) + " at different places");
  }
  Shape shape = cast<BufferType>(stored->buffer.getType()).extents(), domain(block.getDomain().values());
  Shape produced(producer.getDomain().values());
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (domain[(*positions)[dim]] != extent)
      return refuse(title + "does not read all of " + bufferName(stored->buffer));
    if (produced[stored->iterators[dim]] != extent)
      return refuse(title + "has a producer that does not write all of " + bufferName(stored->buffer));
  }
  for (const Access &read : accessesIn(block))
    if (!read.isStore() && read.buffer() != stored->buffer && !isReadyAt(kernel, read.buffer(), producer))
      return refuse(title + "reads the buffer " + bufferName(read.buffer()) +
                    ", which is not complete where its producer runs");
  if (!makeLiveAt(result->buffer, producer))
    return refuse(title + "writes the buffer " + bufferName(result->buffer) +
                  ", which does not live where its producer runs");
  IndexNames names;
  Shape iterators(domain.size());
  for (auto [dim, index] : llvm::enumerate(names.read(stored->store.getIndices(), stored->store.getVariables())))
    iterators[(*positions)[dim]] = index;
  OpBuilder builder(stored->store);
  IRMapping mapping;
  for (const Access &read : accessesIn(block, stored->buffer)) {
    mapping.map(read.op->getResult(0), stored->store.getValue());
    mapping.map(read.op, stored->store.getOperation());
  }
  Value value = cloneBody(builder, block, result->store, iterators, names, mapping);
  Shape target = names.read(result->store.getIndices(), result->store.getVariables());
  llvm::StringMap<SymbolicInt> replacements;
  for (auto [iterator, expression] : llvm::zip(block.iterators(), iterators))
    replacements[names.nameOf(iterator)] = expression;
  for (SymbolicInt &index : target)
    index = index.substitute(replacements);
  createStore(builder, stored->store.getLoc(), value, result->buffer, target, names);
  stored->store.erase();
  erase(nestOf(block));
  erase(stored->buffer.getDefiningOp());
  record("reverse_compute_inline", {}, nameOf(handle));
  return success();
}
