//===- Contraction.cpp - the rule for products and convolutions -----------===//
//
// For a sum of products with an operand in panels (intrinsics/PanelLayout.h), and its epilogue.
//
//   %root = get_block "map"
//   %i0, %i1 = get_loops %root
//   %b, %i, %r = split %i0, [_, 4, 6]        a block of rows for a thread's own caches, then one for registers
//   %p, %c = split %i1, [_, 16]              a panel
//   reorder %b, %p, %i, %r, %c
//   %u = fuse %b, %p
//   parallel %u
//   compute_at %matmul, %i
//   tensorize %i0, "f32.block"
//
// The epilogue runs on the block of sums, in a local buffer. The rows are the last dimension of the result on which
// only the unpacked operand depends. If there is another such dimension (the height of an image), a unit (an iteration
// of the parallel loop) is a block of that one; the two change roles if the last one is narrow. A block can then have
// several lines of the image, each with all of its rows:
//
//   %b, %i, %l = split %i1, [_, 7, 2]        reorder …, %i, …, %l, %r, %c
//
// A constant dimension that lies between the rows of the unpacked operand in memory (heads of keys) is inside a unit,
// so that a unit reads contiguous memory.
//
//===----------------------------------------------------------------------===//

#include "tile/rules/Rules.h"

#include "graph/ElementTypes.h"
#include "graph/Shapes.h"
#include "tile/Attributes.h"
#include "tile/cost/KernelCost.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/kernel/Buffers.h"
#include "tile/schedule/Nests.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Limit for the rows of a panel, in words of 32 bits.
static constexpr int64_t mostPanelColumns = 64;

namespace {
/// The sum of products, its epilogue, and how the rule divides them.
class ContractionRule {
public:
  ContractionRule(func::FuncOp kernel, const target::Machine &target) : kernel(kernel), target(target) {}

  /// Whether the kernel is a contraction. If only its types or layouts are unsuitable, `why` says so.
  bool analyse(std::string &why) { return findBlocks() && findOperands() && findPanel(why); }
  LogicalResult run(KernelSchedule &kernelSchedule);

private:
  using Loop = KernelSchedule::Loop;
  using Loops = SmallVector<Loop>;

  bool findBlocks();
  bool findOperands();
  bool findPanel(std::string &why);
  bool hasWords(ArrayRef<const Intrinsic *> intrinsics);
  void chooseRows(ArrayRef<const Intrinsic *> intrinsics);
  unsigned rank() { return cast<BufferType>(sumBuffer.getType()).rank(); }
  SymbolicInt extentOf(unsigned dim) { return cast<BufferType>(sumBuffer.getType()).extents()[dim]; }
  /// Whether a dimension of the sum moves one of the operand's dimensions from `first` on.
  bool moves(unsigned dim, const Access &operand, unsigned first = 0);
  void joinBlocks();
  int64_t stepBytes(unsigned dim);
  std::optional<double> panelBytes();
  bool holdsPanel(unsigned dim, int64_t blocks);
  int64_t resultBytes();
  bool keepsPanels();
  int64_t rowsOfPanelsFromMemory();
  int64_t blockOf(unsigned dim, int64_t multiple);
  bool isBetweenRows(unsigned dim);
  bool hasPartsOfRows();
  /// Divisor of a thread's own caches for the plain operand of a unit; more if products take as long as reading it.
  int64_t cacheParts() const { return height || together > 1 ? 4 : 2; }

  LogicalResult divide();
  LogicalResult askAhead(Loop unit);
  LogicalResult tensorize();
  std::optional<Loop> loopOf(ArrayRef<Loop> loops, BlockOp block, unsigned iterator);

  func::FuncOp kernel;
  const target::Machine &target;
  KernelSchedule *schedule = nullptr;
  /// May be the same block.
  BlockOp product, root;
  Value sumBuffer;
  Access plain, packed;
  /// Elements of a word, columns of a panel, rows per call, rows of its blocks, the most blocks per call; lines of an
  /// image per block.
  int64_t group = 1, panel = 0, rowsAtOnce = 1, blockRows = 1, together = 1, lines = 1;
  /// Whether the blocks of a call share work.
  bool shareWork = false;
  /// Dimensions of the sum.
  std::optional<unsigned> rows, height;
  /// Loops around the register tiles: those that are units, and those inside a unit.
  Loops units, inUnit;
};
} // namespace

/// Whether each index is the iterator of the same number, or 0 for an extent of 1.
static bool isAtIterators(BlockOp block, const Access &access) {
  IndexNames names;
  Shape extents = cast<BufferType>(access.buffer().getType()).extents();
  for (auto [dim, index] : llvm::enumerate(names.read(access.indices(), access.variables())))
    if (dim >= block.getKinds().size() ||
        (index != names.symbol(block.iterators()[dim]) && (index != SymbolicInt(0) || extents[dim] != SymbolicInt(1))))
      return false;
  return true;
}

/// Finds a reduction, and at most one block that reads it at its own iterators.
bool ContractionRule::findBlocks() {
  SmallVector<BlockOp> blocks = blocksOf(kernel);
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
  return rank() >= 2;
}

bool ContractionRule::moves(unsigned dim, const Access &operand, unsigned first) {
  KernelIndices indices;
  std::set<std::string> used;
  Shape read = indices.names.read(operand.indices(), operand.variables());
  for (const SymbolicInt &index : ArrayRef(read).drop_front(first))
    index.symbols(used);
  return extentOf(dim) != SymbolicInt(1) && used.count(indices.names.nameOf(product.iterators()[dim]));
}

/// Whether an index is computed inside the block, as for a gather.
static bool isComputed(const Access &access) {
  return llvm::any_of(access.variables(), [](Value variable) { return variable.getDefiningOp(); });
}

/// The plain operand comes first, and may have scales of lower rank. Of the operands that columns move, the packed one
/// has the highest rank; scales of groups have a lower one.
bool ContractionRule::findOperands() {
  SmallVector<Access> operands;
  for (const Access &access : accessesIn(product))
    if (access.buffer() != sumBuffer)
      operands.push_back(access);
  if (operands.size() < 2 || llvm::any_of(operands, isComputed))
    return false;
  auto rankOf = [](const Access &access) { return cast<BufferType>(access.buffer().getType()).rank(); };
  plain = operands.front();
  operands.erase(operands.begin());
  if (operands.size() > 1)
    llvm::erase_if(operands,
                   [&](const Access &other) { return !moves(rank() - 1, other) && rankOf(other) < rankOf(plain); });
  if (operands.empty() || moves(rank() - 1, plain))
    return false;
  packed = operands.front();
  for (const Access &other : ArrayRef(operands).drop_front())
    if (!moves(rank() - 1, other) || rankOf(other) >= rankOf(packed))
      return false;
  for (unsigned dim = 0; dim + 1 < rank(); ++dim)
    if (moves(dim, plain) && !moves(dim, packed)) {
      height = rows;
      rows = dim;
    }
  return true;
}

/// A last dimension after the columns holds the elements of a word, over which the product sums, if an intrinsic
/// multiplies words of that size.
bool ContractionRule::hasWords(ArrayRef<const Intrinsic *> intrinsics) {
  KernelIndices indices;
  Shape read = indices.names.read(packed.indices(), packed.variables());
  std::set<std::string> used;
  read.back().symbols(used);
  bool isSummed = llvm::any_of(llvm::seq<unsigned>(product.iterators().size()), [&](unsigned iterator) {
    return product.kind(iterator) == IteratorKind::Reduced &&
           used.count(indices.names.nameOf(product.iterators()[iterator]));
  });
  std::optional<int64_t> last = cast<BufferType>(packed.buffer().getType()).extents().back().constant();
  return isSummed && !moves(rank() - 1, packed, read.size() - 1) &&
         llvm::any_of(intrinsics, [&](const Intrinsic *one) { return one->panels && one->panels->group == last; });
}

/// The columns of a panel must be a dimension of the packed operand.
bool ContractionRule::findPanel(std::string &why) {
  SmallVector<const Intrinsic *> intrinsics = intrinsicsFor(product, target);
  Shape extents = cast<BufferType>(packed.buffer().getType()).extents();
  if (intrinsics.empty() || extents.empty())
    return why = "no intrinsic computes with its types", false;
  if (hasWords(intrinsics))
    group = *extents.pop_back_val().constant();
  unsigned columns = rank() - 1;
  std::optional<int64_t> width = extents.empty() ? std::nullopt : extents.back().constant();
  if (!width || (extentOf(columns) != SymbolicInt(1) && !moves(columns, packed, extents.size() - 1)))
    return why = "no operand lies in panels", false;
  panel = *width;
  if (panel < 1 || panel > mostPanelColumns)
    return why = "no panel has " + std::to_string(panel) + " columns", false;
  chooseRows(intrinsics);
  return true;
}

/// With few rows, each element of a panel is used only a few times. The height of a narrow image offers more rows,
/// provided that the cache holds all of it, because it is then inside one unit.
void ContractionRule::chooseRows(ArrayRef<const Intrinsic *> intrinsics) {
  constexpr int64_t fewRows = 4;
  auto rowsAlong = [&](std::optional<unsigned> dim, std::optional<unsigned> other) {
    ProductExtents extents{dim ? extentOf(*dim) : SymbolicInt(1), extentOf(rank() - 1),
                           product.getDomain().values().back()};
    extents.lines = other ? estimate(extentOf(*other)) : 1;
    for (auto [number, extent] : llvm::enumerate(product.getDomain().values()))
      if (product.kind(number) == IteratorKind::Reduced)
        extents.sums.push_back(extent);
    Type sum = cast<BufferType>(sumBuffer.getType()).getElementType();
    return rowsOfBlock(intrinsics, extents, panel, group, sum, target);
  };
  RowsOfBlock block = rowsAlong(rows, height);
  together = block.together;
  shareWork = block.shareWork;
  bool isNarrow =
      height && block.rows < fewRows &&
      estimate(extentOf(*height)) * stepBytes(*height) <= static_cast<int64_t>(target.ownCacheBytes()) / cacheParts();
  RowsOfBlock others = isNarrow ? rowsAlong(height, rows) : RowsOfBlock{0};
  if (others.rows > block.rows) {
    std::swap(rows, height);
    block = others;
  }
  rowsAtOnce = block.rows;
  lines = block.lines;
  joinBlocks();
}

/// If the innermost cache does not hold a panel, or blocks share work, a call gets several blocks of rows, for which it
/// divides the depth. It then stores sums and reloads them, work that a single block does not have if the product has
/// no epilogue.
void ContractionRule::joinBlocks() {
  blockRows = rowsAtOnce;
  std::optional<double> bytes = panelBytes();
  double least = double(target.nearCacheBytes()) * (root == product ? 2 : 2. / 3);
  if (height || !rows || !bytes || (*bytes <= least && !shareWork))
    return;
  int64_t count = shareWork && !extentOf(*rows).isConstant() ? together * rowsAtOnce : estimate(extentOf(*rows));
  int64_t blocks = llvm::divideCeil(count, rowsAtOnce);
  int64_t calls = llvm::divideCeil(blocks, together);
  if (blocks <= 1)
    return;
  rowsAtOnce *= llvm::divideCeil(blocks, calls);
  if (calls == 1 && extentOf(*rows).isConstant())
    rowsAtOnce = count;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The stride of the plain operand along a dimension, in bytes.
int64_t ContractionRule::stepBytes(unsigned dim) {
  KernelIndices indices;
  SymbolicInt position;
  Shape strides = graph::rowMajorStrides(cast<BufferType>(plain.buffer().getType()).extents());
  for (auto [index, stride] : llvm::zip(indices.names.read(plain.indices(), plain.variables()), strides))
    position += index * stride;
  llvm::StringMap<SymbolicInt> first, second;
  std::string name = indices.names.nameOf(product.iterators()[dim]);
  first[name] = SymbolicInt(0);
  second[name] = SymbolicInt(1);
  unsigned bits = cast<BufferType>(plain.buffer().getType()).getElementType().getIntOrFloatBitWidth();
  return std::max<int64_t>(1, estimate(position.substitute(second) - position.substitute(first)) * bits / 8);
}

/// Bytes of one panel.
std::optional<double> ContractionRule::panelBytes() {
  std::optional<int64_t> columns = extentOf(rank() - 1).constant();
  auto type = cast<BufferType>(packed.buffer().getType());
  std::optional<int64_t> elements = graph::elementCount(type.extents()).constant();
  if (!columns || !elements || *columns < 1)
    return std::nullopt;
  return double(*elements) * type.getElementType().getIntOrFloatBitWidth() / 8 /
         double(llvm::divideCeil(*columns, panel));
}

/// Whether one panel stays in the cache for all rows, instead of some rows for all panels: the plain operand is then
/// read again for each panel, and the packed one, which comes from memory, only once.
bool ContractionRule::holdsPanel(unsigned dim, int64_t blocks) {
  constexpr double memoryOverCache = 1.5;
  std::optional<int64_t> count = extentOf(dim).constant();
  std::optional<double> bytes = panelBytes();
  if (rank() != 2 || dim != rows || !count || !bytes)
    return false;
  auto panels = double(llvm::divideCeil(*extentOf(rank() - 1).constant(), panel));
  return *bytes <= double(target.ownCacheBytes()) / 2 &&
         (panels - 1) * double(*count * stepBytes(dim)) <= memoryOverCache * double(blocks - 1) * panels * *bytes;
}

int64_t ContractionRule::resultBytes() {
  auto result = cast<BufferType>(buffersOf(root, /*isWritten=*/true).front().getType());
  return estimate(graph::elementCount(result.extents())) * elementBytes(result.getElementType());
}

/// Whether a thread's own caches hold all panels, but not the operands of the epilogue as well. Then few rows are
/// completed for all panels, so that rows of the result are written and read contiguously.
bool ContractionRule::keepsPanels() {
  std::optional<double> bytes = panelBytes();
  if (height || !rows || rank() != 2 || !bytes)
    return false;
  auto panels = double(llvm::divideCeil(*extentOf(rank() - 1).constant(), panel));
  return panels * *bytes <= double(target.ownCacheBytes()) / 8 &&
         resultBytes() > static_cast<int64_t>(target.ownCacheBytes()) / 2;
}

/// Where nobody knows how many rows there are, and a thread's own caches do not hold all panels: so many rows that
/// panels, which are read again for each such block, arrive in a small part of the time of multiplying. The rows then
/// come from the last cache; those of a block lie one after another in several places, which hardware prefetchers
/// predict. 0: panels do not come from farther away than rows.
int64_t ContractionRule::rowsOfPanelsFromMemory() {
  constexpr double multiplyingOverReading = 16;
  constexpr int64_t partsOfLastCache = 8;
  std::optional<double> bytes = panelBytes();
  if (!rows || height || extentOf(*rows).isConstant() || !bytes || !target.flopsPerSecond() ||
      target.lastCacheBytes() <= target.ownCacheBytes())
    return 0;
  auto panels = double(llvm::divideCeil(*extentOf(rank() - 1).constant(), panel));
  if (panels * *bytes <= double(target.ownCacheBytes()))
    return 0;
  double products = double(panel);
  for (auto [number, extent] : llvm::enumerate(product.getDomain().values()))
    if (product.kind(number) == IteratorKind::Reduced)
      products *= double(estimate(extent));
  double secondsOfRow = 2 * products / target.flopsPerSecond();
  double bytesOfRow =
      products / double(panel) * elementBytes(cast<BufferType>(plain.buffer().getType()).getElementType());
  double wanted = multiplyingOverReading * *bytes / target.global.bytesPerSecond / secondsOfRow;
  double own = double(target.ownCacheBytes()) / double(cacheParts()) / bytesOfRow;
  return int64_t(std::min(std::max(wanted, own), double(target.lastCacheBytes()) / partsOfLastCache / bytesOfRow));
}

/// Whether a dimension, such as that of heads, divides the rows of the plain operand in memory, where those come from
/// memory once: there is one panel, and nobody knows how many rows.
bool ContractionRule::isBetweenRows(unsigned dim) {
  bool isReadOnce = rows && !height && !extentOf(*rows).isConstant() && extentOf(rank() - 1).isConstant() &&
                    *extentOf(rank() - 1).constant() <= panel;
  return isReadOnce && dim + 1 < rank() && dim != rows && moves(dim, plain) && extentOf(dim).isConstant() &&
         stepBytes(dim) < stepBytes(*rows);
}

bool ContractionRule::hasPartsOfRows() {
  return llvm::any_of(llvm::seq<unsigned>(rank()), [&](unsigned dim) { return isBetweenRows(dim); });
}

/// Size of a unit along a dimension: what a thread's own caches hold of the plain operand, or less if there would be
/// too few units. Of rows that are read once, half of the nearest cache, so that the next ones can be prefetched.
int64_t ContractionRule::blockOf(unsigned dim, int64_t multiple) {
  int64_t count = estimate(extentOf(dim));
  if (hasPartsOfRows()) {
    int64_t near = std::min<int64_t>(count, static_cast<int64_t>(target.nearCacheBytes()) / 2 / stepBytes(dim));
    return std::max<int64_t>(1, near / multiple) * multiple;
  }
  auto held = static_cast<int64_t>(target.ownCacheBytes()) / cacheParts() / stepBytes(dim);
  if (keepsPanels())
    held = std::min<int64_t>(held, target.ownCacheBytes() / 32 * count / resultBytes());
  held = std::max<int64_t>(1, held / multiple) * multiple;
  if (!keepsPanels() && holdsPanel(dim, llvm::divideCeil(count, held)))
    held = llvm::alignTo(count, multiple);
  int64_t others = llvm::divideCeil(estimate(extentOf(rank() - 1)), panel);
  for (unsigned other = 0; other + 1 < rank(); ++other)
    if (other != rows && other != height)
      others *= estimate(extentOf(other));
  double worth = std::min<double>(wantedUnits, estimateSeconds(workOf(kernel), target) / leastSecondsOfPart);
  int64_t wanted = std::clamp<int64_t>(worth / others, 1, std::max<int64_t>(1, count / multiple));
  if (int64_t many = dim == rows && wanted == 1 && !keepsPanels() ? rowsOfPanelsFromMemory() : 0)
    return std::max<int64_t>(1, many / multiple) * multiple;
  int64_t blocks = std::max<int64_t>(llvm::divideCeil(count, held), wanted);
  return llvm::alignTo(llvm::divideCeil(count, blocks), multiple);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The loop of an iterator; none for an extent of 1.
std::optional<ContractionRule::Loop> ContractionRule::loopOf(ArrayRef<Loop> loops, BlockOp block, unsigned iterator) {
  KernelIndices indices;
  SymbolicInt binding = indices.bindingsOf(block)[iterator];
  for (Loop loop : loops)
    if (binding == indices.names.symbol(schedule->operation(loop).variable()))
      return loop;
  return std::nullopt;
}

LogicalResult ContractionRule::divide() {
  FailureOr<KernelSchedule::Block> handle = schedule->getBlock(root.getName());
  Loops loops = *schedule->getLoops(*handle), inner;
  SmallVector<std::optional<Loop>> dims;
  for (unsigned dim = 0; dim < rank(); ++dim)
    dims.push_back(loopOf(loops, root, dim));
  ArrayRef<Loop> reduced = ArrayRef(loops).drop_front(llvm::count_if(dims, [](const auto &loop) { return !!loop; }));
  for (auto [dim, loop] : llvm::enumerate(dims)) {
    if (!loop)
      continue;
    SmallVector<KernelSchedule::Factor> factors{std::nullopt};
    bool isOuter = dim == height || (dim == rows && !height);
    bool isColumns = dim + 1 == rank(), isInBlock = isColumns || dim == rows || (dim == height && lines > 1);
    int64_t size = dim == rows ? rowsAtOnce : dim == height ? lines : 1;
    int64_t blocks = isOuter ? blockOf(dim, size) / size : 1;
    if (isBetweenRows(dim)) {
      inUnit.push_back(*loop);
      continue;
    }
    if (blocks > 1)
      factors.push_back(blocks);
    if (isInBlock)
      factors.push_back(isColumns ? panel : size);
    FailureOr<Loops> parts = factors.size() > 1 ? schedule->split(*loop, factors) : Loops{*loop};
    if (failed(parts))
      return failure();
    if (isInBlock)
      inner.push_back(parts->pop_back_val());
    if (blocks > 1 || (dim == rows && height))
      inUnit.push_back(parts->pop_back_val());
    units.append(*parts);
  }
  Loops order(units);
  order.append(inUnit);
  order.append(inner);
  llvm::append_range(order, reduced);
  return schedule->reorder(order);
}

/// Prefetches the next panel while this one is multiplied with all rows of a unit. Also prefetches for the epilogue,
/// which accesses a part of each row; hardware prefetchers do not predict that.
LogicalResult ContractionRule::askAhead(Loop unit) {
  bool isReadAgain = !inUnit.empty() || (rows && together > 1 && rowsAtOnce > blockRows);
  if (!isReadAgain || !target.ownCacheBytes() || keepsPanels())
    return success();
  Attribute next = Builder(kernel.getContext()).getI64IntegerAttr(1);
  if (failed(schedule->annotate(unit, prefetchAnnotation, next)))
    return failure();
  bool isCached =
      inUnit.empty() || root == product || resultBytes() <= static_cast<int64_t>(target.ownCacheBytes()) / 2;
  return isCached ? success() : schedule->annotate(inUnit.back(), prefetchAnnotation, next);
}

LogicalResult ContractionRule::tensorize() {
  FailureOr<KernelSchedule::Block> handle = schedule->getBlock(product.getName());
  return failed(handle) ? failure() : chooseIntrinsic(*schedule, *handle, inUnit.size() + !units.empty(), target);
}

LogicalResult ContractionRule::run(KernelSchedule &kernelSchedule) {
  schedule = &kernelSchedule;
  // The last, partial panel is not written whole, and sums that continue must stay in the cache.
  SymbolicInt columns = extentOf(rank() - 1);
  bool isCut = support::mod(columns, SymbolicInt(panel)) != SymbolicInt(0);
  if (root == product && (isCut || rowsAtOnce > blockRows)) {
    FailureOr<KernelSchedule::Block> handle = schedule->getBlock(product.getName());
    FailureOr<KernelSchedule::Block> copy = schedule->cacheWrite(*handle, "local");
    if (failed(copy))
      return failure();
    root = schedule->operation(*copy);
  }
  if (failed(divide()))
    return failure();
  if (units.empty())
    return tensorize(); // a product with a single element
  FailureOr<Loop> unit = schedule->fuse(units);
  if (failed(unit) || failed(schedule->parallel(*unit)) || failed(askAhead(*unit)))
    return failure();
  if (root != product) {
    FailureOr<KernelSchedule::Block> handle = schedule->getBlock(product.getName());
    if (failed(schedule->computeAt(*handle, inUnit.empty() ? *unit : inUnit.back())))
      return failure();
    // The sums of a single partial panel get a buffer with room for the missing columns.
    if (columns.isConstant() && *columns.constant() < panel &&
        failed(schedule->storageAlign(*handle, 0, rank() - 2, panel, 0)))
      return failure();
  }
  return tensorize();
}

static bool isContraction(func::FuncOp kernel, const target::Machine &target, std::string &why) {
  return ContractionRule(kernel, target).analyse(why);
}

static LogicalResult scheduleContraction(KernelSchedule &schedule, func::FuncOp kernel, const target::Machine &target) {
  ContractionRule rule(kernel, target);
  std::string why;
  return rule.analyse(why) ? rule.run(schedule) : failure();
}

const Rule perpend::tile::contractionRule = {"contraction", isContraction, scheduleContraction};
