//===- PanelLayout.cpp - operand layouts of products ----------------------===//

#include "tile/intrinsics/PanelLayout.h"

#include "tile/intrinsics/Emitters.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/schedule/Nests.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Reading a description
//===----------------------------------------------------------------------===//

namespace perpend::tile {
class PanelLayoutReader {
public:
  explicit PanelLayoutReader(const Intrinsic &intrinsic) : intrinsic(intrinsic), block(intrinsic.block) {}
  std::optional<PanelLayout> run() {
    bool isRead = readMemories() && readProduct() && readColumns() && readSum() && readRows();
    return isRead ? std::optional(layout) : std::nullopt;
  }

private:
  /// A buffer, and the iterator that indexes each of its dimensions.
  struct Operand {
    unsigned buffer = 0;
    SmallVector<unsigned> iterators;
  };
  std::optional<Operand> read(Operation *access);
  std::optional<Operand> factor(Value value);
  bool readMemories();
  bool readProduct();
  bool readColumns();
  bool readSum();
  bool readRows();
  int64_t multipleOf(const SymbolicInt &extent);

  static bool isMoved(const Operand &operand, unsigned iterator) {
    return llvm::is_contained(operand.iterators, iterator);
  }
  /// Whether the stride of this iterator is "_" or the given one.
  bool takes(const Operand &operand, unsigned iterator, const SymbolicInt &stride) {
    const auto &wanted = strideOf(operand, iterator);
    return !wanted || *wanted == stride;
  }
  bool isFree(const Operand &operand, unsigned iterator) { return !strideOf(operand, iterator); }
  bool isOne(const Operand &operand, unsigned iterator) {
    return isMoved(operand, iterator) && strideOf(operand, iterator) == SymbolicInt(1);
  }
  const std::optional<SymbolicInt> &strideOf(const Operand &operand, unsigned iterator) {
    return intrinsic.strides[operand.buffer][llvm::find(operand.iterators, iterator) - operand.iterators.begin()];
  }
  Type typeOf(const Operand &operand) { return intrinsic.bufferType(operand.buffer).getElementType(); }
  SymbolicInt extentOf(unsigned iterator) { return block.getDomain().values()[iterator]; }

  const Intrinsic &intrinsic;
  BlockOp block;
  PanelLayout layout;
  /// `right` is the operand in panels.
  Operand left, right, sum;
};
} // namespace perpend::tile

std::optional<PanelLayoutReader::Operand> PanelLayoutReader::read(Operation *access) {
  std::optional<SmallVector<unsigned>> iterators = asIterators(block, {access});
  auto buffer = dyn_cast<BlockArgument>(Access{access}.buffer());
  return iterators && buffer ? std::optional(Operand{buffer.getArgNumber(), *iterators}) : std::nullopt;
}

/// A load, possibly extended to another type without changing its value.
std::optional<PanelLayoutReader::Operand> PanelLayoutReader::factor(Value value) {
  Operation *extension = value.getDefiningOp();
  bool isExtended = isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(extension);
  auto load = (isExtended ? extension->getOperand(0) : value).getDefiningOp<LoadOp>();
  std::optional<Operand> operand = load ? read(load) : std::nullopt;
  if (operand && isExtended && isa<arith::ExtUIOp>(extension) != typeOf(*operand).isUnsignedInteger())
    return std::nullopt;
  return operand;
}

/// Operands in a target's own memories are filled by another rule.
bool PanelLayoutReader::readMemories() {
  return llvm::all_of(llvm::seq<unsigned>(0, intrinsic.strides.size()),
                      [&](unsigned buffer) { return intrinsic.memoryOf(buffer).empty(); });
}

/// Accepts sum = sum + one * other, starting at 0 or at the existing value.
bool PanelLayoutReader::readProduct() {
  auto store = *block.body()->getOps<StoreOp>().begin();
  Operation *add = store.getValue().getDefiningOp();
  if (InitOp init = block.init()) {
    Value first = (*init.getRegion().front().getOps<StoreOp>().begin()).getValue();
    if (!matchPattern(first, m_AnyZeroFloat()) && !matchPattern(first, m_Zero()))
      return false;
  }
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add))
    return false;
  for (unsigned i : {0, 1}) {
    auto carried = add->getOperand(i).getDefiningOp<LoadOp>();
    Operation *product = add->getOperand(1 - i).getDefiningOp();
    if (!carried || carried.getBuffer() != store.getBuffer() || !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product))
      continue;
    std::optional<Operand> one = factor(product->getOperand(0)), other = factor(product->getOperand(1));
    if (!one || !other)
      return false;
    left = *one;
    right = *other;
    sum = *read(store);
    return left.buffer != right.buffer && left.buffer != sum.buffer && right.buffer != sum.buffer;
  }
  return false;
}

/// The iterator that is contiguous in the sums is the column; it moves one of the operands.
bool PanelLayoutReader::readColumns() {
  auto next = llvm::find_if(sum.iterators, [&](unsigned iterator) { return isOne(sum, iterator); });
  if (next == sum.iterators.end())
    return false;
  layout.columnIterator = *next;
  if (isMoved(left, *next))
    std::swap(left, right);
  if (isMoved(left, *next) || !isMoved(right, *next) || !strideOf(right, *next))
    return false;
  layout.columns = extentOf(*next);
  layout.group = strideOf(right, *next)->constant().value_or(0);
  layout.left = typeOf(left);
  layout.right = typeOf(right);
  layout.sum = typeOf(sum);
  return layout.group >= 1;
}

/// The number of which an extent is a multiple: itself if constant, or n if there is a condition mod(extent, n) <= 0.
int64_t PanelLayoutReader::multipleOf(const SymbolicInt &extent) {
  constexpr int64_t most = 256;
  if (extent.isConstant())
    return *extent.constant();
  for (size_t i = 0; i < intrinsic.where.size(); i += 2)
    for (int64_t n = 2; n <= most && intrinsic.where[i + 1] == SymbolicInt(0); ++n)
      if (intrinsic.where[i] == support::mod(extent, SymbolicInt(n)))
        return n;
  return 1;
}

/// From the inside: the elements of a word, the words, then the window.
bool PanelLayoutReader::readSum() {
  SymbolicInt group(layout.group), row = layout.columns * group;
  bool hasWords = layout.group == 1;
  for (unsigned iterator = block.getKinds().size(); iterator-- > 0;) {
    if (block.kind(iterator) != IteratorKind::Reduced)
      continue;
    if (!isMoved(left, iterator) || !isMoved(right, iterator))
      return false;
    if (!hasWords) {
      hasWords = extentOf(iterator) == group && isOne(left, iterator) && isOne(right, iterator);
      if (!hasWords)
        return false;
    } else if (!layout.depthIterator) {
      layout.depthIterator = iterator;
      layout.depth = layout.group * multipleOf(extentOf(iterator));
      if (!takes(left, iterator, group) || !takes(right, iterator, row))
        return false;
    } else if (extentOf(iterator).isConstant() || !isFree(left, iterator) || !isFree(right, iterator)) {
      return false;
    } else {
      ++layout.windows;
    }
  }
  if (!layout.depthIterator)
    layout.depth = layout.group;
  if (!block.init()) // the sum may continue an outer one
    layout.windows = std::numeric_limits<unsigned>::max();
  return hasWords;
}

/// Rows move the left operand by any stride. There may be a single row, and an outer iterator of lines.
bool PanelLayoutReader::readRows() {
  for (unsigned iterator = block.getKinds().size(); iterator-- > 0;) {
    if (block.kind(iterator) == IteratorKind::Reduced || iterator == layout.columnIterator)
      continue;
    std::optional<unsigned> &role = layout.rowIterator ? layout.lineIterator : layout.rowIterator;
    if (role || !isMoved(left, iterator) || isMoved(right, iterator) || !isFree(left, iterator))
      return false;
    role = iterator;
  }
  return !layout.lineIterator || !extentOf(*layout.lineIterator).isConstant();
}

std::optional<PanelLayout> PanelLayout::of(const Intrinsic &intrinsic) { return PanelLayoutReader(intrinsic).run(); }

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// The factor by which padding an extent to a multiple increases the work.
static double padded(const SymbolicInt &extent, int64_t multiple) {
  int64_t count = extent.constant().value_or(0);
  return count > 0 ? double(llvm::alignTo(count, multiple)) / double(count) : 1;
}

/// As many lines as the conditions allow; several only if the depth needs no padding.
int64_t PanelLayout::linesAtOnce(const Intrinsic &intrinsic, const ProductExtents &extents, Shape ofLine) const {
  int64_t lines = mod(extents.depth, SymbolicInt(depth)) == SymbolicInt(0) ? extents.lines : 1;
  for (; lines > 1; --lines) {
    ofLine[*lineIterator] = SymbolicInt(lines);
    if (intrinsic.allows(ofLine))
      return lines;
  }
  return 1;
}

Shape PanelLayout::withFullRows(const Intrinsic &intrinsic, Shape extents, const target::Machine &target) const {
  std::optional<int64_t> panel = extents[columnIterator].constant();
  if (rowIterator && panel && !intrinsic.block.getDomain().values()[*rowIterator].isConstant())
    extents[*rowIterator] = SymbolicInt(rowsAtOnce(intrinsic, *panel, std::nullopt, target));
  return extents;
}

std::optional<PanelLayout::Fit> PanelLayout::fit(const Intrinsic &intrinsic, const ProductExtents &extents,
                                                 int64_t panel, int64_t mostRows, const target::Machine &target) const {
  constexpr double cyclesInLoops = 1; // for rows that do not fill a block
  Shape described(intrinsic.block.getDomain().values()), domain;
  for (const SymbolicInt &extent : described)
    domain.push_back(extent.isConstant() ? extent : SymbolicInt(1));
  domain[columnIterator] = SymbolicInt(panel);
  if (depthIterator && !described[*depthIterator].isConstant())
    domain[*depthIterator] = ceilDiv(extents.depth, SymbolicInt(depth)) * SymbolicInt(depth / group);
  Fit fit{mostRows, 0};
  double inLoops = 0;
  if (std::optional<int64_t> only = rowIterator ? described[*rowIterator].constant() : std::nullopt) {
    fit.rows = *only;
    if (std::optional<int64_t> count = extents.rows.constant(); count && *count > 0)
      inLoops = double(*count % fit.rows) / double(*count);
  } else if (rowIterator) {
    do
      domain[*rowIterator] = SymbolicInt(fit.rows);
    while (!intrinsic.allows(domain) && --fit.rows > 0);
  }
  std::optional<double> cycles = intrinsic.allows(domain) ? intrinsic.cyclesPerPoint(domain, target) : std::nullopt;
  if (extents.windows > windows || inLoops == 1 || !cycles)
    return std::nullopt;
  if (lineIterator && extents.rows == SymbolicInt(fit.rows))
    fit.lines = linesAtOnce(intrinsic, extents, domain);
  fit.cyclesPerPoint =
      (1 - inLoops) * *cycles * padded(extents.columns, panel) * padded(extents.depth, depth) + inLoops * cyclesInLoops;
  return fit;
}
