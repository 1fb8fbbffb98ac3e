//===- Contraction.cpp - the rule for products and convolutions -----------===//
//
//   %root = get_block "map"
//   %i0, %i1 = get_loops %root
//   %b, %i, %r = split %i0, [_, 4, 6]        a block of rows for the second cache, then one for registers
//   %p, %c = split %i1, [_, 16]              a panel
//   reorder %b, %p, %i, %r, %c
//   %u = fuse %b, %p
//   parallel %u
//   compute_at %matmul, %i
//   tensorize %i0, "f32.block"
//
// What follows the product is computed on its block in registers' scratch memory.
// A window's block of rows runs along the last dimension but one of the result,
// and the units are blocks of the dimension before.
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

#include "tile/Schedule.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class ContractionRule {
public:
  ContractionRule(KernelSchedule &schedule, func::FuncOp kernel, const Schedule &numbers,
                  const target::TargetInfo &target)
      : schedule(schedule), kernel(kernel), numbers(numbers), target(target) {}

  LogicalResult run();

private:
  using Loop = KernelSchedule::Loop;
  using Loops = SmallVector<Loop>;

  bool findBlocks();
  SmallVector<KernelSchedule::Factor> columnFactors();
  LogicalResult divide();
  LogicalResult tensorize();
  std::optional<Loop> loopOf(ArrayRef<Loop> loops, BlockOp block, unsigned iterator);

  KernelSchedule &schedule;
  func::FuncOp kernel;
  const Schedule &numbers;
  const target::TargetInfo &target;
  /// The sum of products, and what is computed of it; they may be one.
  BlockOp product, root;
  Value sumBuffer;
  /// Around the blocks of registers: those that are units, and those inside of one.
  Loops units, inUnit;
};
} // namespace

/// The index of each dimension is the iterator of the same number, or 0 where that is all there is.
static bool isAtIterators(BlockOp block, const Access &access) {
  IndexNames names;
  Shape extents = cast<BufferType>(access.buffer().getType()).extents();
  for (auto [dim, index] : llvm::enumerate(names.read(access.indices(), access.variables())))
    if (dim >= block.getKinds().size() ||
        (index != names.symbol(block.iterators()[dim]) && (index != SymbolicInt(0) || extents[dim] != SymbolicInt(1))))
      return false;
  return true;
}

/// One reduction, and at most one block that reads it at its own iterators.
bool ContractionRule::findBlocks() {
  SmallVector<BlockOp> blocks;
  kernel.walk([&](BlockOp block) { blocks.push_back(block); });
  if (blocks.empty() || blocks.size() > 2 || !blocks.front().init())
    return false;
  product = blocks.front();
  root = blocks.back();
  for (const Access &access : accessesIn(product))
    if (access.isStore())
      sumBuffer = access.buffer();
  if (root != product && root.isReduction())
    return false;
  for (BlockOp block : blocks)
    for (const Access &access : accessesIn(block))
      if ((access.isStore() || access.buffer() == sumBuffer) && !isAtIterators(block, access))
        return false;
  return cast<BufferType>(sumBuffer.getType()).rank() >= 2;
}

/// The loop whose variable an iterator is; none for an extent of 1.
std::optional<ContractionRule::Loop> ContractionRule::loopOf(ArrayRef<Loop> loops, BlockOp block, unsigned iterator) {
  KernelIndices indices;
  SymbolicInt binding = indices.bindingsOf(block)[iterator];
  for (Loop loop : loops)
    if (binding == indices.names.symbol(schedule.operation(loop).variable()))
      return loop;
  return std::nullopt;
}

/// Panels; and where groups of columns read different operands, groups of panels.
SmallVector<KernelSchedule::Factor> ContractionRule::columnFactors() {
  SmallVector<KernelSchedule::Factor> factors{std::nullopt, numbers.cols};
  IndexNames names;
  SymbolicInt column = names.symbol(product.iterators()[cast<BufferType>(sumBuffer.getType()).rank() - 1]);
  int64_t perGroup = 0;
  auto visit = [&](const support::SymbolicAtom &atom) {
    if (atom.kind() == support::SymbolicAtomKind::FloorDiv && atom.operands()[0] == column)
      perGroup = std::max(perGroup, atom.operands()[1].constant().value_or(0));
  };
  for (const Access &access : accessesIn(product))
    for (const SymbolicInt &index : names.read(access.indices(), access.variables()))
      for (const support::SymbolicTerm &term : index.terms())
        for (const support::SymbolicFactor &factor : term.factors)
          visit(factor.atom);
  if (perGroup > numbers.cols && perGroup % numbers.cols == 0)
    factors.insert(factors.begin() + 1, perGroup / numbers.cols);
  return factors;
}

LogicalResult ContractionRule::divide() {
  FailureOr<KernelSchedule::Block> handle = schedule.getBlock(root.getName());
  Loops loops = schedule.getLoops(*handle);
  unsigned rank = root.getDomain().values().size() - llvm::count(root.getKinds(), int32_t(IteratorKind::Reduced));
  bool isWindow = llvm::count(product.getKinds(), int32_t(IteratorKind::Reduced)) > 1;
  SmallVector<std::optional<Loop>> dims;
  for (unsigned i = 0; i < rank; ++i)
    dims.push_back(loopOf(loops, root, i));
  Loops inner, reduced(ArrayRef(loops).drop_front(llvm::count_if(dims, [](const auto &dim) { return bool(dim); })));
  auto split = [&](Loop loop, ArrayRef<KernelSchedule::Factor> factors) { return schedule.split(loop, factors); };
  for (unsigned i = 0; i + 2 < rank; ++i) {
    bool isHeight = isWindow && i + 3 == rank;
    if (!dims[i])
      continue;
    if (!isHeight || numbers.block <= 1) {
      units.push_back(*dims[i]);
      continue;
    }
    auto parts = split(*dims[i], {std::nullopt, numbers.block});
    if (failed(parts))
      return failure();
    units.push_back((*parts)[0]);
    inUnit.push_back((*parts)[1]);
  }
  if (std::optional<Loop> rows = dims[rank - 2]) {
    int64_t blocks = isWindow ? 1 : numbers.block / numbers.rows;
    SmallVector<KernelSchedule::Factor> factors{std::nullopt, numbers.rows};
    if (blocks > 1)
      factors.insert(factors.begin() + 1, blocks);
    auto parts = split(*rows, factors);
    if (failed(parts))
      return failure();
    if (isWindow || blocks > 1)
      inUnit.push_back((*parts)[parts->size() - 2]);
    if (!isWindow)
      units.push_back(parts->front());
    inner.push_back(parts->back());
  }
  if (dims.back()) {
    auto columns = split(*dims.back(), columnFactors());
    if (failed(columns))
      return failure();
    inner.push_back(columns->pop_back_val());
    units.append(*columns);
  }
  Loops order(units);
  order.append(inUnit);
  order.append(inner);
  order.append(reduced);
  return schedule.reorder(order);
}

LogicalResult ContractionRule::tensorize() {
  FailureOr<KernelSchedule::Block> handle = schedule.getBlock(product.getName());
  return failed(handle) ? failure() : chooseIntrinsic(schedule, *handle, inUnit.size() + !units.empty(), target);
}

LogicalResult ContractionRule::run() {
  if (!numbers.rows || !findBlocks())
    return failure();
  // A panel that is cut is not written whole.
  SymbolicInt columns = cast<BufferType>(sumBuffer.getType()).extents().back();
  if (root == product && support::mod(columns, SymbolicInt(numbers.cols)) != SymbolicInt(0)) {
    FailureOr<KernelSchedule::Block> handle = schedule.getBlock(product.getName());
    FailureOr<KernelSchedule::Block> copy = schedule.cacheWrite(*handle, "local");
    if (failed(copy))
      return failure();
    root = schedule.operation(*copy);
  }
  if (failed(divide()))
    return failure();
  if (units.empty())
    return tensorize(); // a single sum
  FailureOr<Loop> unit = schedule.fuse(units);
  if (failed(unit) || failed(schedule.parallel(*unit)))
    return failure();
  if (root != product) {
    FailureOr<KernelSchedule::Block> handle = schedule.getBlock(product.getName());
    if (failed(schedule.computeAt(*handle, inUnit.empty() ? *unit : inUnit.back())))
      return failure();
    // The sums of a single panel that is cut get room for the others.
    if (columns.isConstant() && *columns.constant() < numbers.cols &&
        failed(schedule.storageAlign(*handle, 0, cast<BufferType>(sumBuffer.getType()).rank() - 2, numbers.cols, 0)))
      return failure();
  }
  return tensorize();
}

/// ScheduleKernels.cpp has chosen rows and columns of a block.
static bool applies(func::FuncOp kernel, const target::TargetInfo &) { return Schedule::of(kernel).rows > 0; }

static LogicalResult scheduleContraction(KernelSchedule &schedule, func::FuncOp kernel,
                                         const target::TargetInfo &target) {
  Schedule numbers = Schedule::of(kernel);
  return ContractionRule(schedule, kernel, numbers, target).run();
}

const Rule perpend::tile::contractionRule = {"contraction", applies, scheduleContraction};
