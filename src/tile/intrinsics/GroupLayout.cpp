//===- GroupLayout.cpp - layout of products with grouped numbers ----------===//

#include "tile/intrinsics/GroupLayout.h"

#include "tile/intrinsics/Intrinsic.h"
#include "tile/schedule/Nests.h"

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
  enum Buffer : unsigned { Rows, Words, Scales };
  /// Those after the scales: the shared ones, zero points.
  unsigned zeros() const { return layout.sharedScale ? Scales + 2 : Scales + 1; }

  bool readSum();
  bool readRow(Value value);
  bool readPositions(Value shift);
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
  if (!product || !block.init() || buffers < 4 || buffers > 7 || !isLoadOf(sum.getLhs(), buffers - 1))
    return false;
  layout.real = product.getType();
  layout.row = product.getLhs();
  layout.factor = product.getRhs();
  return readRow(layout.row) && readFactor(layout.factor);
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
    if (!small || !isLoadOf(shared, Scales + 1))
      return false;
    layout.sharedScale = shared.getType();
    value = small.getIn();
  }
  value = withoutExtension(value);
  layout.scale = value ? value.getType() : Type();
  return isLoadOf(value, Scales);
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

/// The value of an integer that is computed from the last iterator and constants; nullopt if it is not.
static std::optional<int64_t> valueAt(Value value, Value iterator, int64_t place) {
  if (value == iterator)
    return place;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp>(op))
    return valueAt(op->getOperand(0), iterator, place);
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> x = valueAt(op->getOperand(0), iterator, place),
                         y = valueAt(op->getOperand(1), iterator, place);
  if (!x || !y || *x < 0 || *y < 0 || (*y == 0 && isa<arith::DivUIOp, arith::RemUIOp>(op)))
    return std::nullopt;
  return isa<arith::AddIOp>(op)    ? *x + *y
         : isa<arith::MulIOp>(op)  ? *x * *y
         : isa<arith::DivUIOp>(op) ? *x / *y
                                   : *x % *y;
}

/// The numbers of a word must be its parts.
bool GroupReader::readPositions(Value shift) {
  int64_t bits = layout.number.getIntOrFloatBitWidth();
  for (int64_t place = 0; place < layout.perWord; ++place) {
    std::optional<int64_t> position = valueAt(shift, block.iterators().back(), place);
    if (!position || *position % bits || *position >= layout.perWord * bits ||
        llvm::is_contained(layout.positions, *position))
      return false;
    layout.positions.push_back(*position);
  }
  return true;
}

/// Accepts a bit field of a word, at a multiple of its width, or the whole word.
bool GroupReader::readNumber(Value value) {
  layout.isUnsigned = bool(as<arith::UIToFPOp>(value));
  if (!layout.isUnsigned && !as<arith::SIToFPOp>(value))
    return false;
  Value number = value.getDefiningOp()->getOperand(0);
  layout.number = layout.word = number.getType();
  layout.positions.clear();
  if (isLoadOf(number, Words))
    return layout.positions.push_back(0), !layout.isUnsigned;
  auto part = as<arith::TruncIOp>(number);
  auto shifted = part ? as<arith::ShRUIOp>(part.getIn()) : arith::ShRUIOp();
  if (!shifted || !isLoadOf(shifted.getLhs(), Words))
    return false;
  layout.word = shifted.getType();
  layout.perWord = layout.word.getIntOrFloatBitWidth() / layout.number.getIntOrFloatBitWidth();
  return block.getDomain().values().back() == SymbolicInt(layout.perWord) && readPositions(shifted.getRhs());
}

bool GroupLayout::isInOrder() const {
  int64_t bits = number.getIntOrFloatBitWidth();
  return llvm::all_of(llvm::enumerate(positions), [&](auto at) { return at.value() == int64_t(at.index()) * bits; });
}

bool GroupLayout::isByBytes() const {
  int64_t bits = number.getIntOrFloatBitWidth(), inByte = 8;
  return llvm::all_of(llvm::enumerate(positions), [&](auto at) {
    int64_t place = at.index(), bytes = word.getIntOrFloatBitWidth() / inByte;
    return at.value() == place % bytes * inByte + place / bytes * bits;
  });
}

std::optional<GroupLayout> GroupLayout::of(const Intrinsic &intrinsic) { return GroupReader(intrinsic).run(); }
