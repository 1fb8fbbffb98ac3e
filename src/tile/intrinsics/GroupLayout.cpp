//===- GroupLayout.cpp - layout of products with grouped numbers ----------===//

#include "tile/intrinsics/GroupLayout.h"

#include "tile/intrinsics/Intrinsic.h"
#include "tile/schedule/Nests.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
class GroupReader {
public:
  explicit GroupReader(const Intrinsic &intrinsic) : intrinsic(intrinsic), block(intrinsic.block) {}
  std::optional<GroupLayout> run() { return readSum() ? std::optional(layout) : std::nullopt; }

private:
  enum Buffer : unsigned { Rows, Words, Upper };
  unsigned scales() const { return layout.scalesBuffer(); }
  /// Those after the scales: the shared ones, zero points.
  unsigned zeros() const { return layout.sharedScale ? scales() + 2 : scales() + 1; }

  bool readSum();
  bool readRow(Value value);
  bool findUpper();
  bool readPositions(Value shift, int64_t bits, int64_t words, SmallVector<int64_t> &positions);
  bool readParts(arith::TruncIOp number);
  bool readFactor(Value value);
  bool readScale(Value value);
  bool readNumber(Value value);
  bool isLoadOf(Value value, unsigned buffer) {
    auto load = as<LoadOp>(value);
    return load && load.getBuffer() == block->getParentOfType<func::FuncOp>().getArgument(buffer);
  }
  template <typename Op> static Op as(Value value) { return value ? value.getDefiningOp<Op>() : Op(); }

  const Intrinsic &intrinsic;
  BlockOp block;
  GroupLayout layout;
};
} // namespace

bool GroupReader::readSum() {
  size_t buffers = intrinsic.strides.size();
  auto store = *block.body()->getOps<StoreOp>().begin();
  auto sum = as<arith::AddFOp>(store.getValue());
  auto product = sum ? as<arith::MulFOp>(sum.getRhs()) : arith::MulFOp();
  if (!product || !block.init() || buffers < 4 || buffers > 8 || !isLoadOf(sum.getLhs(), buffers - 1))
    return false;
  layout.real = product.getType();
  layout.row = product.getLhs();
  layout.factor = product.getRhs();
  return findUpper() && readRow(layout.row) && readFactor(layout.factor);
}

/// A number of two parts is of two loads. Which buffers follow depends on that.
bool GroupReader::findUpper() {
  BackwardSliceOptions options;
  options.inclusive = true;
  SetVector<Operation *> slice;
  auto scaled = as<arith::MulFOp>(layout.factor);
  if (!scaled)
    return false;
  getBackwardSlice(scaled.getLhs(), &slice, options);
  for (Operation *op : slice)
    if (auto parts = dyn_cast<arith::OrIOp>(op))
      layout.upper = parts.getType();
  return true;
}

/// Accepts an element, or an unsigned byte minus 128, which may have a scale.
bool GroupReader::readRow(Value value) {
  if (auto scaled = as<arith::MulFOp>(value); scaled && isLoadOf(scaled.getRhs(), intrinsic.strides.size() - 2)) {
    layout.rowScale = scaled.getType();
    value = scaled.getLhs();
  }
  auto centred = as<arith::SubFOp>(value);
  auto widened = centred ? as<arith::UIToFPOp>(centred.getLhs()) : arith::UIToFPOp();
  APFloat offset(0.0f);
  if (widened && matchPattern(centred.getRhs(), m_ConstantFloat(&offset)) &&
      offset.convertToDouble() == double(GroupLayout::byteOffset))
    value = widened.getIn();
  auto row = as<LoadOp>(value);
  layout.left = row ? cast<BufferType>(row.getBuffer().getType()).getElementType() : Type();
  return isLoadOf(value, Rows) && (!widened || layout.left.isUnsignedInteger(8)) && (widened || !layout.rowScale);
}

/// Accepts a scale, or a signed integer times a shared one.
bool GroupReader::readScale(Value value) {
  auto withoutExtension = [&](Value value) {
    auto widened = as<arith::ExtFOp>(value);
    return widened ? widened.getIn() : value;
  };
  if (auto product = as<arith::MulFOp>(value)) {
    Value shared = withoutExtension(product.getRhs());
    auto small = as<arith::SIToFPOp>(product.getLhs());
    if (!small || !isLoadOf(shared, scales() + 1))
      return false;
    layout.sharedScale = shared.getType();
    value = small.getIn();
  }
  value = withoutExtension(value);
  layout.scale = value ? value.getType() : Type();
  return isLoadOf(value, scales());
}

bool GroupReader::readFactor(Value value) {
  auto scaled = as<arith::MulFOp>(value);
  if (!scaled || !readScale(scaled.getRhs()))
    return false;
  auto centred = as<arith::SubFOp>(scaled.getLhs());
  if (!centred)
    return readNumber(scaled.getLhs());
  auto widened = as<arith::SIToFPOp>(centred.getRhs());
  Value zero = widened ? widened.getIn() : centred.getRhs();
  if (intrinsic.strides.size() != zeros() + 2 + (layout.rowScale ? 1 : 0) || !isLoadOf(zero, zeros()))
    return false;
  layout.zero = zero.getType();
  return readNumber(centred.getLhs());
}

/// The value of an integer that is computed from iterators, which have values, and constants; nullopt if it is not.
static std::optional<int64_t> valueAt(Value value, ArrayRef<std::pair<Value, int64_t>> iterators) {
  for (auto [iterator, place] : iterators)
    if (value == iterator)
      return place;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp>(op))
    return valueAt(op->getOperand(0), iterators);
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> x = valueAt(op->getOperand(0), iterators), y = valueAt(op->getOperand(1), iterators);
  if (!x || !y || *x < 0 || *y < 0 || (*y == 0 && isa<arith::DivUIOp, arith::RemUIOp>(op)))
    return std::nullopt;
  return isa<arith::AddIOp>(op)    ? *x + *y
         : isa<arith::MulIOp>(op)  ? *x * *y
         : isa<arith::DivUIOp>(op) ? *x / *y
                                   : *x % *y;
}

/// The parts of so many words' numbers must be those of a word.
bool GroupReader::readPositions(Value shift, int64_t bits, int64_t words, SmallVector<int64_t> &positions) {
  positions.clear();
  const size_t last = block.iterators().size() - 1;
  for (int64_t place = 0; place < layout.perWord * words; ++place) {
    SmallVector<std::pair<Value, int64_t>, 2> inUnit{{block.iterators()[last], place % layout.perWord}};
    if (words > 1)
      inUnit.emplace_back(block.iterators()[last - 1], place / layout.perWord);
    std::optional<int64_t> position = valueAt(shift, inUnit);
    if (!position || *position % bits || *position >= layout.perWord * words * bits ||
        llvm::is_contained(positions, *position))
      return false;
    positions.push_back(*position);
  }
  return true;
}

/// Accepts a bit field of a word, and behind it one of the word that a unit's words share, which has twice or four
/// times as many numbers.
bool GroupReader::readParts(arith::TruncIOp number) {
  auto parts = as<arith::OrIOp>(number.getIn());
  auto lower = parts ? as<arith::AndIOp>(parts.getLhs()) : arith::AndIOp();
  auto upper = parts ? as<arith::ShLIOp>(parts.getRhs()) : arith::ShLIOp();
  auto word = lower ? as<arith::ShRUIOp>(lower.getLhs()) : arith::ShRUIOp(),
       shared = upper ? as<arith::ShRUIOp>(upper.getLhs()) : arith::ShRUIOp();
  APInt mask, above;
  if (!word || !shared || !isLoadOf(word.getLhs(), Words) || !isLoadOf(shared.getLhs(), Upper) ||
      !matchPattern(lower.getRhs(), m_ConstantInt(&mask)) || !matchPattern(upper.getRhs(), m_ConstantInt(&above)))
    return false;
  layout.word = word.getType();
  layout.lowerBits = above.getSExtValue();
  const int64_t bits = layout.word.getIntOrFloatBitWidth(), upperBits = layout.upperBits();
  if (layout.upper != layout.word || !mask.isMask() || mask.popcount() != layout.lowerBits || upperBits < 1 ||
      layout.lowerBits % upperBits != 0 || bits % layout.lowerBits != 0 || layout.lowerBits == upperBits)
    return false;
  layout.perWord = bits / layout.lowerBits;
  layout.wordsOfUnit = layout.lowerBits / upperBits;
  Shape domain(block.getDomain().values());
  return domain.size() > 1 && domain.back() == SymbolicInt(layout.perWord) &&
         domain[domain.size() - 2] == SymbolicInt(layout.wordsOfUnit) &&
         readPositions(word.getRhs(), layout.lowerBits, 1, layout.positions) &&
         readPositions(shared.getRhs(), upperBits, layout.wordsOfUnit, layout.upperPositions);
}

/// Accepts a bit field of a word, at a multiple of its width, or the whole word, or two bit fields.
bool GroupReader::readNumber(Value value) {
  layout.isUnsigned = bool(as<arith::UIToFPOp>(value));
  if (!layout.isUnsigned && !as<arith::SIToFPOp>(value))
    return false;
  Value number = value.getDefiningOp()->getOperand(0);
  layout.number = layout.word = number.getType();
  layout.positions.clear();
  layout.lowerBits = layout.number.getIntOrFloatBitWidth();
  if (isLoadOf(number, Words))
    return layout.positions.push_back(0), !layout.isUnsigned;
  auto part = as<arith::TruncIOp>(number);
  if (layout.upper)
    return part && readParts(part);
  auto shifted = part ? as<arith::ShRUIOp>(part.getIn()) : arith::ShRUIOp();
  if (!shifted || !isLoadOf(shifted.getLhs(), Words))
    return false;
  layout.word = shifted.getType();
  layout.perWord = layout.word.getIntOrFloatBitWidth() / layout.number.getIntOrFloatBitWidth();
  return block.getDomain().values().back() == SymbolicInt(layout.perWord) &&
         readPositions(shifted.getRhs(), layout.lowerBits, 1, layout.positions);
}

bool GroupLayout::isInOrder() const {
  int64_t bits = number.getIntOrFloatBitWidth();
  return !upper &&
         llvm::all_of(llvm::enumerate(positions), [&](auto at) { return at.value() == int64_t(at.index()) * bits; });
}

bool GroupLayout::isByBytes() const {
  constexpr int64_t inByte = 8;
  auto areByBytes = [&](ArrayRef<int64_t> positions, int64_t bits) {
    return llvm::all_of(llvm::enumerate(positions), [&](auto at) {
      int64_t place = at.index(), bytes = word.getIntOrFloatBitWidth() / inByte;
      return at.value() == place % bytes * inByte + place / bytes * bits;
    });
  };
  return areByBytes(positions, lowerBits) && areByBytes(upperPositions, upperBits());
}

std::optional<GroupLayout> GroupLayout::of(const Intrinsic &intrinsic) { return GroupReader(intrinsic).run(); }
