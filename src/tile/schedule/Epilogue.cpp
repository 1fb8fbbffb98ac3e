//===- Epilogue.cpp - folds an addition into the init of a reduction ------===//
//
// `e = sum + bias` after a reduction becomes a reduction into e whose init is the
// bias. Sums may be reassociated, so it does not matter when the bias is added.
//
//===----------------------------------------------------------------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// A block that adds something to each element of a sum.
struct Addition {
  SingleStore result;
  LoadOp sum;
  Operation *add = nullptr;
  /// For each dimension of the sum, the block's iterator.
  SmallVector<unsigned> iterators;
  Value added() { return add->getOperand(add->getOperand(0).getDefiningOp() == sum.getOperation() ? 1 : 0); }
};
} // namespace

static bool isAddition(Operation *op) { return isa_and_nonnull<arith::AddFOp, arith::AddIOp>(op); }

/// Accepts a block that stores the sum's element at its iterators plus a term that does not depend on the sum.
static std::optional<Addition> additionOf(BlockOp block, Value sum, std::string &why) {
  Addition addition;
  std::optional<SingleStore> result = singleStoreOf(block, why);
  if (!result || block.isReduction() || block.init())
    return why = result ? "it is a reduction" : why, std::nullopt;
  addition.result = *result;
  SmallVector<Access> reads = accessesIn(block, sum);
  addition.add = result->store.getValue().getDefiningOp();
  why = "it does not store the sum of one element of " + bufferName(sum) + ", at its iterators, and of other values";
  if (reads.size() != 1 || reads.front().op->getBlock() != block.body() || !isAddition(addition.add) ||
      !addition.add->getResult(0).hasOneUse())
    return std::nullopt;
  addition.sum = cast<LoadOp>(reads.front().op);
  std::optional<SmallVector<unsigned>> iterators = asIterators(block, reads.front());
  if (!iterators || iterators->size() != block.getKinds().size() || !addition.sum.getResult().hasOneUse() ||
      !llvm::is_contained(addition.add->getOperands(), addition.sum.getResult()))
    return std::nullopt;
  addition.iterators = *iterators;
  return addition;
}

/// Makes the reduction store into the addition's result, with the added term as init.
static void rewrite(BlockOp reduction, const SingleStore &sum, BlockOp epilogue, Addition &addition) {
  IndexNames names;
  Shape iterators(epilogue.getKinds().size()), target;
  for (auto [dim, iterator] : llvm::enumerate(addition.iterators))
    iterators[iterator] = names.symbol(reduction.iterators()[sum.iterators[dim]]);
  for (unsigned iterator : addition.result.iterators)
    target.push_back(iterators[iterator]);
  for (const Access &access : accessesIn(reduction, sum.buffer)) {
    if (access.isStore() && access.op->getParentOfType<InitOp>()) {
      OpBuilder builder(access.op);
      IRMapping mapping;
      Operation *left[] = {addition.sum, addition.add}; // replaced, hence not cloned
      for (Operation *op : left)
        mapping.map(op, op);
      StoreOp store = addition.result.store;
      store.getValueMutable().assign(addition.added());
      access.op->setOperand(0, cloneBody(builder, epilogue, store, iterators, names, mapping));
    }
    redirect(access, addition.result.buffer);
    setIndices(access, target, names);
  }
}

LogicalResult KernelSchedule::fuseReductionEpilogue(Block reductionHandle, Block epilogueHandle) {
  FailureOr<BlockOp> foundReduction = find(reductionHandle);
  FailureOr<BlockOp> foundEpilogue = succeeded(foundReduction) ? find(epilogueHandle) : foundReduction;
  if (failed(foundEpilogue))
    return failure();
  BlockOp reduction = *foundReduction, epilogue = *foundEpilogue;
  std::string why, title = "fuse_reduction_epilogue " + nameOf(reductionHandle) + ", " + nameOf(epilogueHandle) + ": ";
  std::optional<SingleStore> sum = singleStoreOf(reduction, why);
  std::optional<Combination> combination = sum ? combinationOf(reduction, *sum, why) : std::nullopt;
  if (combination && !isAddition(combination->combine))
    why = "it is no sum, so nothing can be added to its init";
  if (!combination || !isAddition(combination->combine))
    return refuse(title + "the block '" + reduction.getName() + "': " + why);
  if (mayBeEmpty(reduction))
    return refuse(title + "the sum '" + reduction.getName() + "' may be empty, and would then not run its init");
  title += "the block '" + epilogue.getName().str() + "': ";
  std::optional<Addition> addition = additionOf(epilogue, sum->buffer, why);
  if (!addition)
    return refuse(title + why);
  llvm::SetVector<Operation *> readers = readersOf(kernel, sum->buffer);
  readers.remove(reduction);
  if (!sum->buffer.getDefiningOp() || readers.size() != 1 || writersOf(kernel, sum->buffer).size() != 1 ||
      writersOf(kernel, addition->result.buffer).size() != 1)
    return refuse(title +
                  "expected it to be the only reader of the sum, in a local buffer, and the only writer of its result");
  Shape shape = cast<BufferType>(sum->buffer.getType()).extents(), domain(epilogue.getDomain().values());
  Shape produced(reduction.getDomain().values());
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (domain[addition->iterators[dim]] != extent)
      return refuse(title + "it does not read all of the sum");
    if (produced[sum->iterators[dim]] != extent)
      return refuse(title + "not all of the sum is computed");
  }
  for (const Access &read : accessesIn(epilogue))
    if (!read.isStore() && read.buffer() != sum->buffer && !isReadyAt(kernel, read.buffer(), reduction))
      return refuse(title + "it reads the buffer " + bufferName(read.buffer()) +
                    ", which is not complete where the sum begins");
  if (!makeLiveAt(addition->result.buffer, reduction))
    return refuse(title + "its buffer " + bufferName(addition->result.buffer) + " does not live where the sum runs");
  rewrite(reduction, *sum, epilogue, *addition);
  erase(nestOf(epilogue));
  erase(sum->buffer.getDefiningOp());
  record("fuse_reduction_epilogue", {}, {nameOf(reductionHandle), nameOf(epilogueHandle)});
  return success();
}
