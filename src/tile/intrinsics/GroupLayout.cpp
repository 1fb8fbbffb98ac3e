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
  enum Buffer : unsigned { Rows, Words, Scales, Zeros };

  bool readSum();
  bool readFactor(Value value);
  bool readNumber(Value value);
  bool isLoadOf(Value value, unsigned buffer) {
    auto load = value.getDefiningOp<LoadOp>();
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
  if (!product || !block.init() || buffers < 4 || buffers > 5 || !isLoadOf(sum.getLhs(), buffers - 1) ||
      !isLoadOf(product.getLhs(), Rows))
    return false;
  layout.real = product.getType();
  layout.factor = product.getRhs();
  return readFactor(layout.factor);
}

bool GroupReader::readFactor(Value value) {
  auto scaled = as<arith::MulFOp>(value);
  if (!scaled || !isLoadOf(scaled.getRhs(), Scales))
    return false;
  auto centred = as<arith::SubFOp>(scaled.getLhs());
  if (!centred)
    return readNumber(scaled.getLhs());
  auto widened = as<arith::SIToFPOp>(centred.getRhs());
  Value zero = widened ? widened.getIn() : centred.getRhs();
  if (intrinsic.strides.size() != Zeros + 2 || !isLoadOf(zero, Zeros))
    return false;
  layout.zero = zero.getType();
  return readNumber(centred.getLhs());
}

/// Accepts a bit field of a word, at a multiple of its width, or the whole word.
bool GroupReader::readNumber(Value value) {
  auto number = as<arith::SIToFPOp>(value);
  if (!number)
    return false;
  layout.number = layout.word = number.getIn().getType();
  if (isLoadOf(number.getIn(), Words))
    return true;
  auto part = as<arith::TruncIOp>(number.getIn());
  auto shifted = part ? as<arith::ShRUIOp>(part.getIn()) : arith::ShRUIOp();
  auto shift = shifted ? as<arith::MulIOp>(shifted.getRhs()) : arith::MulIOp();
  auto place = shift ? as<arith::IndexCastOp>(shift.getLhs()) : arith::IndexCastOp();
  APInt bits;
  if (!place || !isLoadOf(shifted.getLhs(), Words) || !matchPattern(shift.getRhs(), m_ConstantInt(&bits)) ||
      bits != layout.number.getIntOrFloatBitWidth() || place.getIn() != block.iterators().back())
    return false;
  layout.word = shifted.getType();
  layout.perWord = layout.word.getIntOrFloatBitWidth() / layout.number.getIntOrFloatBitWidth();
  return block.getDomain().values().back() == SymbolicInt(layout.perWord);
}

std::optional<GroupLayout> GroupLayout::of(const Intrinsic &intrinsic) { return GroupReader(intrinsic).run(); }
