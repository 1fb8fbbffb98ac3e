//===- ByteGroupCode.cpp - numbers of words, and sums of groups -----------===//

#include "target/vector/ByteGroupCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

/// Approximate latency of memory under full load.
static constexpr double secondsAhead = 230e-9;

bool ByteGroupCode::takes(const Intrinsic &intrinsic) {
  if (!GroupCall::takes(intrinsic))
    return false;
  const GroupLayout &groups = *intrinsic.groups;
  bool fitsByte = groups.number.getIntOrFloatBitWidth() < 8 ? !(groups.isUnsigned && groups.zero) : !groups.zero;
  return groups.hasBytes() && groups.isByBytes() && groups.word.isInteger(32) && groups.real.isF32() && fitsByte &&
         (!groups.zero || groups.zero.isInteger(8));
}

ByteGroupCode::ByteGroupCode(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t lanes, int64_t vectors,
                             GroupArguments arguments, const target::Machine &target)
    : BlockCode(builder, target), groups(*intrinsic.groups), lanes(lanes), vectors(vectors), arguments(arguments),
      real(VectorType::get(lanes, groups.real)), sum(VectorType::get(lanes, builder.getI32Type())),
      bytes(VectorType::get(lanes * bytesOfWord, builder.getI8Type())),
      halves(VectorType::get(lanes * 2, builder.getI16Type())) {}

Value ByteGroupCode::splat(VectorType type, int64_t value) {
  auto element = builder.getIntegerAttr(type.getElementType(), value);
  return builder.create<arith::ConstantOp>(DenseElementsAttr::get(type, element));
}

Value ByteGroupCode::load(const Operand &operand, Value position, int64_t vector, Type element) {
  Value index = add(position, vector * lanes);
  return builder.create<vector::LoadOp>(VectorType::get(lanes, element), operand.buffer, index);
}

Value ByteGroupCode::sumIndex(Value row, int64_t vector) {
  return add(add(arguments.sums.base, multiply(arguments.sums.stride, row)), vector * lanes);
}

ByteGroupCode::Values ByteGroupCode::zerosOf(Value group) {
  int64_t half = int64_t(1) << (bits() - 1);
  if (!groups.zero)
    return Values(vectors, bits() == 8 || groups.isUnsigned ? Value() : splat(bytes, half));
  Value position = offset(arguments.zeros.base, group, arguments.zeros.outerStride);
  Values result;
  for (int64_t vector = 0; vector < vectors; ++vector) {
    Value zero = builder.create<arith::ExtSIOp>(sum, load(arguments.zeros, position, vector, groups.zero));
    Value byte = builder.create<arith::AndIOp>(builder.create<arith::AddIOp>(zero, splat(sum, half)), splat(sum, 0xff));
    Value everywhere = builder.create<arith::MulIOp>(byte, splat(sum, 0x01010101));
    result.push_back(builder.create<vector::BitCastOp>(bytes, everywhere));
  }
  return result;
}

Value ByteGroupCode::storedNumbersOf(Value words, int64_t plane) {
  if (bits() < 8) {
    if (plane > 0)
      words = builder.create<arith::ShRUIOp>(words, splat(sum, plane * bits()));
    words = builder.create<arith::AndIOp>(words, splat(sum, ((int64_t(1) << bits()) - 1) * 0x01010101));
  }
  return builder.create<vector::BitCastOp>(bytes, words);
}

/// Flipping the highest bit of a number adds half of its range. Once for all numbers of a word: of the same flip of
/// each byte, LLVM makes two shifts more.
Value ByteGroupCode::plusHalf(Value words) {
  int64_t highest = 0;
  for (int64_t bit = bits() - 1; bit < 32; bit += bits())
    highest |= int64_t(1) << bit;
  return builder.create<arith::XOrIOp>(words, splat(sum, highest));
}

Value ByteGroupCode::numbersOf(Value words, int64_t plane, Value zeros) {
  Value numbers = storedNumbersOf(words, plane);
  return zeros ? builder.create<arith::SubIOp>(numbers, zeros).getResult() : numbers;
}

ByteGroupCode::Values ByteGroupCode::offsetsOf(Value group) {
  Values result(vectors, splat(sum, int64_t(1) << (bits() - 1)));
  if (!groups.zero)
    return result;
  Value position = offset(arguments.zeros.base, group, arguments.zeros.outerStride);
  for (auto [vector, half] : llvm::enumerate(result)) {
    Value zero = builder.create<arith::ExtSIOp>(sum, load(arguments.zeros, position, vector, groups.zero));
    half = builder.create<arith::AddIOp>(half, zero);
  }
  return result;
}

Value ByteGroupCode::rowScale(Value group, Value row) {
  if (!groups.rowScale)
    return {};
  const Operand &scales = arguments.rowScales;
  Value index = add(offset(scales.base, group, scales.outerStride), multiply(scales.stride, row));
  return builder.create<vector::BroadcastOp>(real, builder.create<memref::LoadOp>(scales.buffer, index));
}

Value ByteGroupCode::columnScales(Value group, int64_t vector, Value first) {
  auto scales = [&](const Operand &operand, Value group, Type type) -> Value {
    Value position = offset(operand.base, group, operand.outerStride);
    if (first)
      position = add(position, first);
    Value stored = load(operand, position, vector, type);
    if (type == groups.real)
      return stored;
    return isa<FloatType>(type) ? builder.create<arith::ExtFOp>(real, stored).getResult()
                                : builder.create<arith::SIToFPOp>(real, stored).getResult();
  };
  Value own = scales(arguments.scales, group, groups.scale);
  if (!groups.sharedScale)
    return own;
  Value shared = builder.create<arith::DivUIOp>(group, arguments.sharing);
  return builder.create<arith::MulFOp>(own, scales(arguments.sharedScales, shared, groups.sharedScale));
}

void ByteGroupCode::prefetchStream(Value buffer, Value index, int64_t from, int64_t elements) {
  prefetch(buffer, index, from, elements, target.hasUnit(nearPrefetchUnit) ? 3 : 2);
}

void ByteGroupCode::prefetchScales(Value group) {
  if (!target.hasUnit(nearPrefetchUnit)) // on others it was not measured
    return;
  Value ofGroup = multiply(arguments.depth, constant(columns()));
  Value ahead = builder.create<arith::CeilDivUIOp>(constant(wordsAhead()), ofGroup);
  const Operand &scales = arguments.scales;
  prefetchStream(scales.buffer, offset(scales.base, add(group, ahead), scales.outerStride), 0, columns());
}

Value ByteGroupCode::scaled(Value sums, Value rowScale, Value scale, Value total) {
  Value numbers = builder.create<arith::SIToFPOp>(real, sums);
  if (rowScale)
    numbers = builder.create<arith::MulFOp>(numbers, rowScale);
  return builder.create<vector::FMAOp>(scale, numbers, total);
}

int64_t ByteGroupCode::wordsAhead() const {
  auto lines = int64_t(target.global.bytesPerSecond * secondsAhead / target.lineBytes());
  return lines * target.lineBytes() / bytesOfWord;
}
