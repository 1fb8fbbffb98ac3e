//===- Scratchpads.cpp - the rule for intrinsics with own memories --------===//
//
// If an intrinsic's operands must be in memories of the target, they are copied there. These are memories within one
// kernel; of values between kernels, host/passes/PlaceValues.cpp decides.
//
//   %a = reindex_cache_read %product, 0, "input", (i, j, k) -> (i, k)    in the intrinsic's order of dimensions
//   %b = reindex_cache_read %product, 1, "input", (i, j, k) -> (k, j)
//   %out = reindex_cache_write %product, 0, "sums", (i, j, k) -> (i, j)
//   pad_einsum %product, [16, 16, 16]    if extents are not multiples
//   %i0, %i1 = split %i, [_, 48]         a block of whole calls that fits the memories
//   compute_at %product, %u
//   %k0, %k1 = split %k, [_, 16]
//   reorder %k0, %i, %j, %k1
//   compute_at %a, %k0                   or further outside, if the memory is large enough
//   tensorize %a_i, "load"               if an intrinsic copies
//   tensorize %i_1, "product"
//
// Loops that no intrinsic computes are vectorised if they fill vectors.
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

#include "graph/Shapes.h"
#include "tile/intrinsics/Expand.h"
#include "tile/kernel/Buffers.h"
#include "tile/kernel/Scratch.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class ScratchpadRule : RuleBody {
public:
  using RuleBody::RuleBody;

  /// Whether a suitable intrinsic fits the memories. If one computes such a sum but does not fit, `why` says so.
  bool find(std::string &why);
  LogicalResult run();

private:
  bool choose(const Intrinsic &intrinsic, std::string &why);
  double cyclesOfCalls();
  unsigned written() const { return intrinsic->strides.size() - 1; }
  /// The extent of an iterator of the description; and of the product.
  int64_t partOf(unsigned described) { return *intrinsic->block.getDomain().values()[described].constant(); }
  SymbolicInt extentOf(unsigned own) { return product.getDomain().values()[own]; }
  /// The memory for a buffer's copy; empty: no copy. Sums that need no memory of the target are local.
  StringRef placeOf(unsigned buffer) {
    StringRef memory = intrinsic->memoryOf(buffer);
    return memory.empty() && buffer == written() ? "local" : memory;
  }
  /// For each dimension of a buffer in the description, its iterator.
  SmallVector<unsigned> iteratorsOf(unsigned buffer) {
    Value argument = intrinsic->description.getArgument(buffer);
    return *asIterators(intrinsic->block, accessesIn(intrinsic->block, argument).front());
  }
  std::string mapOf(unsigned buffer);
  std::optional<unsigned> readNumberOf(unsigned buffer);

  LogicalResult cache();
  LogicalResult pad();
  LogicalResult divide();
  LogicalResult divideProduct();
  LogicalResult placeCopies();
  void tensorizeCopies();
  void runVectors();

  SmallVector<int64_t> callsInUnit();
  bool fits(ArrayRef<int64_t> calls);
  bool addsUpInOneCall();
  int64_t bytesOf(unsigned buffer, ArrayRef<int64_t> calls);

  BlockOp product, last;
  const Intrinsic *intrinsic = nullptr;
  Alignment alignment;

  Block productHandle{}, root{};
  /// The blocks that fill the buffers which the intrinsic reads.
  SmallVector<Block> copies;
  /// Loops of the sum outside the calls.
  Loops steps;
  Loop unit{}, call{};
};
} // namespace

//===----------------------------------------------------------------------===//
// Which intrinsic
//===----------------------------------------------------------------------===//

/// Accepts one sum, and at most one block that follows.
bool ScratchpadRule::find(std::string &why) {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
  if (blocks.empty() || blocks.size() > 2 || !blocks.front().isReduction() || !blocks.front().init() ||
      (blocks.size() == 2 && blocks.back().isReduction()))
    return false;
  product = blocks.front();
  last = blocks.back();
  const Intrinsic *best = nullptr;
  double least = 0;
  for (const Intrinsic *each : intrinsicsFor(product, target))
    if (choose(*each, why))
      if (double cycles = cyclesOfCalls(); !best || cycles < least)
        best = each, least = cycles;
  return best && choose(*best, why);
}

/// Requires an operand in a memory of the target, distinct buffers, constant extents, and room for one call.
bool ScratchpadRule::choose(const Intrinsic &each, std::string &why) {
  std::string difference;
  bool isInMemory = llvm::any_of(llvm::seq<unsigned>(0, each.strides.size()),
                                 [&](unsigned buffer) { return !each.memoryOf(buffer).empty(); });
  bool isPossible = isInMemory && each.parameters.empty() && each.cycles && each.cycles->isConstant();
  std::optional<Alignment> found = isPossible ? alignIntrinsic(product, each, difference) : std::nullopt;
  if (!found)
    return false;
  intrinsic = &each;
  alignment = std::move(*found);
  llvm::SmallDenseSet<Value, 4> buffers;
  bool areDifferent =
      llvm::all_of(alignment.accesses, [&](const Access &access) { return buffers.insert(access.buffer()).second; });
  bool isLong = llvm::all_of(alignment.iterators, [&](unsigned own) {
    return extentOf(own) != SymbolicInt(0) && extentOf(own) != SymbolicInt(1);
  });
  bool isWhole = !each.block.init() || addsUpInOneCall();
  bool isRoom = fits(SmallVector<int64_t>(alignment.iterators.size(), 1));
  const char *obstacle = !areDifferent ? "reads a buffer twice"
                         : !isLong     ? "would compute along an extent of 1 or 0"
                         : !isWhole    ? "would begin its sum more than once"
                         : !isRoom     ? "has no room for a call in its memories"
                                       : nullptr;
  why = obstacle ? "'" + each.name + "' " + obstacle : "";
  return !obstacle;
}

/// The whole sum must fit one call, if the intrinsic starts with an init.
bool ScratchpadRule::addsUpInOneCall() {
  return llvm::all_of(llvm::seq<unsigned>(0, product.getKinds().size()), [&](unsigned own) {
    const auto *described = llvm::find(alignment.iterators, own);
    int64_t part = described == alignment.iterators.end() ? 1 : partOf(described - alignment.iterators.begin());
    return product.kind(own) != IteratorKind::Reduced || (SymbolicInt(part) - extentOf(own)).knownNonNegative();
  });
}

/// Unknown extents are assumed to be long.
double ScratchpadRule::cyclesOfCalls() {
  constexpr int64_t longExtent = 256;
  auto cycles = double(*intrinsic->cycles->constant());
  for (auto [described, own] : llvm::enumerate(alignment.iterators))
    cycles *= double(llvm::divideCeil(extentOf(own).constant().value_or(longExtent), partOf(described)));
  return cycles;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The map from the product's iterators to the indices of a buffer's copy; the intrinsic's dimensions come last.
std::string ScratchpadRule::mapOf(unsigned buffer) {
  const Access &access = alignment.accesses[buffer];
  IndexNames names;
  std::set<std::string> used;
  for (const SymbolicInt &index : names.read(access.indices(), access.variables()))
    index.symbols(used);
  SmallVector<std::string> inputs, outer, inner;
  for (auto [i, iterator] : llvm::enumerate(product.iterators())) {
    inputs.push_back("i" + std::to_string(i));
    if (used.count(names.nameOf(iterator)) && !llvm::is_contained(alignment.iterators, i))
      outer.push_back(inputs.back());
  }
  for (unsigned iterator : iteratorsOf(buffer))
    if (unsigned own = alignment.iterators[iterator]; used.count(names.nameOf(product.iterators()[own])))
      inner.push_back(inputs[own]);
  llvm::append_range(outer, inner);
  return "(" + llvm::join(inputs, ", ") + ") -> (" + llvm::join(outer, ", ") + ")";
}

std::optional<unsigned> ScratchpadRule::readNumberOf(unsigned buffer) {
  llvm::SetVector<Value> read = buffersOf(product, /*isWritten=*/false);
  const auto *found = llvm::find(read, alignment.accesses[buffer].buffer());
  return found == read.end() ? std::nullopt : std::optional<unsigned>(found - read.begin());
}

/// Copies operands and sums to the intrinsic's memories.
LogicalResult ScratchpadRule::cache() {
  FailureOr<Block> handle = schedule.getBlock(product.getName());
  productHandle = *handle;
  for (unsigned buffer = 0; buffer < written(); ++buffer) {
    if (placeOf(buffer).empty())
      continue;
    std::optional<unsigned> number = readNumberOf(buffer);
    if (!number)
      return schedule.refuse("an operand is what it writes");
    FailureOr<Block> copy = schedule.reindexCacheRead(productHandle, *number, placeOf(buffer), mapOf(buffer));
    if (failed(copy))
      return failure();
    copies.push_back(*copy);
  }
  FailureOr<Block> out = schedule.reindexCacheWrite(productHandle, 0, placeOf(written()), mapOf(written()));
  if (failed(out))
    return failure();
  root = *out;
  return success();
}

/// Pads extents to multiples of the intrinsic's. Copies get zeros after their ends.
LogicalResult ScratchpadRule::pad() {
  SmallVector<int64_t> multiples(product.getKinds().size(), 1);
  for (auto [described, own] : llvm::enumerate(alignment.iterators))
    multiples[own] = partOf(described);
  bool isWhole = llvm::all_of(llvm::zip(product.getDomain().values(), multiples), [](auto pair) {
    return support::mod(std::get<0>(pair), SymbolicInt(std::get<1>(pair))) == SymbolicInt(0);
  });
  if (isWhole)
    return success();
  if (failed(schedule.padEinsum(productHandle, multiples)))
    return failure();
  for (Block copy : std::exchange(copies, {})) {
    FailureOr<SmallVector<Block>> readers = schedule.getConsumers(copy);
    if (failed(readers) || schedule.operation(readers->front()) == product)
      continue;
    Value filled = *buffersOf(schedule.operation(copy), /*isWritten=*/true).begin();
    if (failed(schedule.setScope(readers->front(), cast<BufferType>(filled.getType()).getScope().getValue())) ||
        failed(schedule.computeInline(copy)))
      return failure();
  }
  FailureOr<SmallVector<Block>> filling = schedule.getProducers(productHandle);
  if (failed(filling))
    return failure();
  copies = *filling;
  FailureOr<SmallVector<Block>> readers = schedule.getConsumers(productHandle);
  if (failed(readers) || schedule.operation(readers->front()) == schedule.operation(root))
    return success();
  return success(succeeded(schedule.setScope(productHandle, placeOf(written()))) &&
                 succeeded(schedule.computeInline(readers->front())));
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Bytes of the block in a buffer, with this many calls along each of the intrinsic's iterators.
int64_t ScratchpadRule::bytesOf(unsigned buffer, ArrayRef<int64_t> calls) {
  int64_t bytes = elementBytes(intrinsic->bufferType(buffer).getElementType());
  for (unsigned iterator : iteratorsOf(buffer))
    bytes *= partOf(iterator) * calls[iterator];
  return bytes;
}

/// Whether the block fits. An unlimited memory takes one call, or as many as would fit a stack.
bool ScratchpadRule::fits(ArrayRef<int64_t> calls) {
  bool isOne = llvm::all_of(calls, [](int64_t count) { return count == 1; });
  return llvm::all_of(target.memories, [&](const target::Memory &memory) {
    uint64_t bytes = 0, most = memory.bytes || isOne ? memory.bytes : mostStackBytes;
    for (unsigned buffer = 0; buffer <= written(); ++buffer)
      bytes += placeOf(buffer) == memory.name ? bytesOf(buffer, calls) : 0;
    return most == 0 || bytes <= most;
  });
}

static int64_t nextDivisor(int64_t number, int64_t divisor) {
  do
    ++divisor;
  while (divisor <= number && number % divisor != 0);
  return divisor;
}

/// Calls of a unit along each iterator: as nearly square as possible, as many as fit.
SmallVector<int64_t> ScratchpadRule::callsInUnit() {
  SmallVector<int64_t> calls(alignment.iterators.size(), 1), counts(calls);
  for (auto [described, own] : llvm::enumerate(alignment.iterators))
    if (product.kind(own) == IteratorKind::Spatial)
      counts[described] = extentOf(own).constant().value_or(0) / partOf(described);
  for (bool grows = true; grows;) {
    grows = false;
    std::optional<SmallVector<int64_t>> best;
    for (unsigned i = 0; i < calls.size(); ++i) {
      SmallVector<int64_t> larger(calls);
      larger[i] = nextDivisor(counts[i], calls[i]);
      if (larger[i] > counts[i] || !fits(larger))
        continue;
      auto longest = [](ArrayRef<int64_t> list) { return *llvm::max_element(list); };
      if (!best || longest(larger) < longest(*best))
        best = larger;
    }
    if (best)
      calls = *best, grows = true;
  }
  return calls;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Makes blocks of the result units, and computes the product in them, over the part of the sum outside the calls.
LogicalResult ScratchpadRule::divide() {
  SmallVector<int64_t> calls = callsInUnit();
  Loops loops = *schedule.getLoops(root), units, inner;
  KernelIndices indices;
  BlockOp copy = schedule.operation(root);
  Value sums = *buffersOf(product, /*isWritten=*/true).begin();
  SmallVector<Access> reads = accessesIn(copy, sums);
  Shape at = indices.indicesOf(reads.front());
  std::string why;
  SingleStore single = *singleStoreOf(product, why);
  for (Loop loop : loops) {
    SymbolicInt variable = indices.names.symbol(schedule.operation(loop).variable());
    const auto *dim = llvm::find(at, variable);
    const auto *described = dim == at.end() ? alignment.iterators.end()
                                            : llvm::find(alignment.iterators, single.iterators[dim - at.begin()]);
    if (described == alignment.iterators.end()) {
      units.push_back(loop);
      continue;
    }
    unsigned number = described - alignment.iterators.begin();
    auto parts = schedule.split(loop, {std::nullopt, partOf(number) * calls[number]});
    if (failed(parts))
      return failure();
    units.push_back((*parts)[0]);
    inner.push_back((*parts)[1]);
  }
  Loops order(units);
  llvm::append_range(order, inner);
  auto isSpatial = [&](unsigned own) { return product.kind(own) == IteratorKind::Spatial; };
  if (inner.size() != size_t(llvm::count_if(alignment.iterators, isSpatial)))
    return schedule.refuse("the sums' loops are not those of the intrinsic");
  if (failed(schedule.reorder(order)))
    return failure();
  FailureOr<Loop> fused = units.empty() ? schedule.addUnitLoop(root) : schedule.fuse(units);
  if (failed(fused) || failed(schedule.computeAt(productHandle, *fused)))
    return failure();
  unit = *fused;
  return success(succeeded(schedule.parallel(unit)) && succeeded(divideProduct()));
}

/// Orders the loops of the unit: the sum outside the calls, the calls, and the contents of a call.
LogicalResult ScratchpadRule::divideProduct() {
  Loops loops = *schedule.getLoops(productHandle), sums, others, inner;
  KernelIndices indices;
  Shape bindings = indices.bindingsOf(product);
  SmallVector<std::optional<Loop>> calls(alignment.iterators.size());
  for (Loop loop : ArrayRef(loops).drop_front()) {
    ForOp op = schedule.operation(loop);
    const auto *binding = llvm::find_if(bindings, [&](auto &each) { return usesLoop(each, op, indices.names); });
    if (binding == bindings.end())
      return schedule.refuse("no iterator moves with the loop '" + op.getName() + "'");
    unsigned own = binding - bindings.begin();
    const auto *described = llvm::find(alignment.iterators, own);
    Loop outside = loop;
    if (described != alignment.iterators.end()) {
      unsigned number = described - alignment.iterators.begin();
      auto parts = schedule.split(loop, {std::nullopt, partOf(number)});
      if (failed(parts))
        return failure();
      outside = (*parts)[0];
      calls[number] = (*parts)[1];
    }
    (product.kind(own) == IteratorKind::Reduced ? sums : others).push_back(outside);
  }
  for (const std::optional<Loop> &loop : calls)
    if (loop)
      inner.push_back(*loop);
  steps = sums;
  llvm::append_range(steps, others);
  Loops order(steps);
  llvm::append_range(order, inner);
  if (inner.empty())
    return schedule.refuse("a call would have no loops");
  if (failed(schedule.reorder(order)))
    return failure();
  call = inner.front();
  return intrinsic->block.init() ? success() : LogicalResult(schedule.decomposeReduction(productHandle, steps.front()));
}

/// Places copies at the outermost loop at which all of them fit.
LogicalResult ScratchpadRule::placeCopies() {
  Loops around{unit};
  llvm::append_range(around, steps);
  for (Loop loop : around) {
    auto place = [&](KernelSchedule &trial) -> LogicalResult {
      for (Block copy : copies)
        if (failed(trial.computeAt(copy, loop)))
          return failure();
      if (&trial == &schedule)
        return success();
      auto copied = trial.operation(productHandle)->getParentOfType<func::FuncOp>();
      compactBuffers(copied);
      std::string exceeded = exceededMemory(copied, target);
      return exceeded.empty() ? success() : trial.refuse(exceeded);
    };
    if (succeeded(schedule.tryOut(place)))
      return place(schedule);
  }
  return failure();
}

void ScratchpadRule::tensorizeCopies() {
  for (Block copy : copies) {
    Loops loops = *schedule.getLoops(copy);
    size_t outside =
        llvm::find_if(loops, [&](Loop loop) { return !schedule.operation(loop)->isAncestor(product); }) - loops.begin();
    if (outside < loops.size())
      (void)schedule.decomposePadding(copy, loops[outside]);
    (void)chooseIntrinsic(schedule, copy, outside, target);
  }
  (void)chooseIntrinsic(schedule, root, 1, target);
}

/// Vectorises loops that no intrinsic computes, if they fill vectors.
void ScratchpadRule::runVectors() {
  SmallVector<std::string> names;
  for (BlockOp block : blocksOf(kernel))
    if (!block->getParentOfType<BlockOp>() && intrinsicOf(block).empty())
      names.push_back(block.getName().str());
  for (const std::string &name : names) {
    Loops loops = *schedule.getLoops(*schedule.getBlock(name));
    auto vectorizeLast = [&](KernelSchedule &trial) -> LogicalResult {
      ForOp last = trial.operation(loops.back());
      std::optional<int64_t> extent = last.getExtent().values().front().constant();
      int64_t lanes = lanesOf(last, target);
      if (!extent || !lanes || *extent % lanes != 0 || *extent == 0)
        return failure();
      if (*extent == lanes)
        return trial.vectorize(loops.back());
      auto parts = trial.split(loops.back(), lanes);
      return failed(parts) ? failure() : trial.vectorize(parts->second);
    };
    if (!loops.empty() && succeeded(schedule.tryOut(vectorizeLast)))
      (void)vectorizeLast(schedule);
  }
}

LogicalResult ScratchpadRule::run() {
  if (failed(cache()) || failed(pad()))
    return failure();
  if (last != product) { // the next block reads the sums in place
    FailureOr<Block> follows = schedule.getBlock(last.getName());
    if (failed(schedule.computeInline(root)))
      return failure();
    root = *follows;
  }
  if (failed(divide()) || failed(placeCopies()) || failed(schedule.tensorize(call, intrinsic->name)))
    return failure();
  tensorizeCopies();
  runVectors();
  return success();
}

static bool wantsMemories(func::FuncOp kernel, const target::Machine &target, std::string &why) {
  KernelSchedule none(kernel, target);
  return ScratchpadRule(none, kernel, target).find(why);
}

static LogicalResult scheduleScratchpads(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  ScratchpadRule rule(schedule, kernel, target);
  std::string why;
  return success(rule.find(why) && succeeded(rule.run()));
}

const Rule perpend::tile::scratchpadRule = {"scratchpads", wantsMemories, scheduleScratchpads};
