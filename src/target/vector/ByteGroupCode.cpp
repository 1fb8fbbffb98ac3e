//===- ByteGroupCode.cpp - numbers of words, and sums of groups -----------===//

#include "target/vector/ByteGroupCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

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

ByteGroupCode::Place ByteGroupCode::placeOfGroup(Value group) {
  auto start = [&](const Operand &operand) { return offset(operand.base, group, operand.outerStride); };
  return {start(arguments.words), groups.upper ? start(arguments.upper) : Value()};
}

ByteGroupCode::Place ByteGroupCode::unitAt(Place first, Value units) {
  return {add(first.words, multiply(units, constant(columnsOfUnit()))),
          groups.upper ? add(first.upper, multiply(units, constant(columns()))) : Value()};
}

ByteGroupCode::Place ByteGroupCode::unitAt(Place first, int64_t number) {
  return {add(first.words, number * columnsOfUnit()), groups.upper ? add(first.upper, number * columns()) : Value()};
}

ByteGroupCode::Unit ByteGroupCode::loadUnit(Place place, int64_t vector) {
  Unit unit;
  for (int64_t word = 0; word < groups.wordsOfUnit; ++word)
    unit.words.push_back(
        load(arguments.words, word ? add(place.words, word * columns()) : place.words, vector, groups.word));
  if (groups.upper)
    unit.upper = load(arguments.upper, place.upper, vector, groups.upper);
  return unit;
}

/// Both streams are read at the same time, so memory delivers a part of each.
void ByteGroupCode::prefetchUnit(Place place) {
  constexpr double latency = 230e-9; // approximate, of memory under full load
  const bool isNear = target.hasUnit(nearPrefetchUnit), hasBytes = bits() == 8;
  const unsigned cache = isNear && !hasBytes ? 3 : 2;
  const double seconds = isNear && hasBytes ? latency / 3 : latency;
  const auto lines = int64_t(target.global.bytesPerSecond * seconds / target.lineBytes());
  auto ahead = [&](int64_t part) {
    return lines * part / (groups.wordsOfUnit + (groups.upper ? 1 : 0)) * target.lineBytes() / bytesOfWord;
  };
  prefetch(arguments.words.buffer, place.words, ahead(groups.wordsOfUnit), columnsOfUnit(), cache);
  if (groups.upper)
    prefetch(arguments.upper.buffer, place.upper, ahead(1), columns(), cache);
}

/// The bits of a plane, of each byte, from their lowest bit on.
static int64_t planeMask(int64_t bits) { return ((int64_t(1) << bits) - 1) * 0x01010101; }

Value ByteGroupCode::storedNumbersOf(const Unit &unit, int64_t plane) {
  const int64_t bitsOfPart = groups.lowerBits, planesOfWord = planes() / groups.wordsOfUnit;
  Value words = unit.words[plane / planesOfWord];
  if (bitsOfPart < 8) {
    if (int64_t shift = plane % planesOfWord * bitsOfPart)
      words = builder.create<arith::ShRUIOp>(words, splat(sum, shift));
    words = builder.create<arith::AndIOp>(words, splat(sum, planeMask(bitsOfPart)));
  }
  if (unit.upper) {
    Value upper = unit.upper;
    if (int64_t down = plane * groups.upperBits() - bitsOfPart; down > 0)
      upper = builder.create<arith::ShRUIOp>(upper, splat(sum, down));
    else if (down < 0)
      upper = builder.create<arith::ShLIOp>(upper, splat(sum, -down));
    upper = builder.create<arith::AndIOp>(upper, splat(sum, planeMask(groups.upperBits()) << bitsOfPart));
    words = builder.create<arith::OrIOp>(words, upper);
  }
  return builder.create<vector::BitCastOp>(bytes, words);
}

Value ByteGroupCode::numbersInBytes(const Unit &unit, int64_t plane) {
  Value mask = splat(sum, planeMask(bits()) << plane * bits());
  return builder.create<vector::BitCastOp>(bytes, builder.create<arith::AndIOp>(unit.words.front(), mask));
}

/// Flipping the highest bit of a number adds half of its range. Once for all numbers of a word: of the same flip of
/// each byte, LLVM makes two shifts more.
ByteGroupCode::Unit ByteGroupCode::plusHalf(Unit unit) {
  const int64_t width = groups.upper ? groups.upperBits() : bits();
  int64_t highest = 0;
  for (int64_t bit = width - 1; bit < 32; bit += width)
    highest |= int64_t(1) << bit;
  Value &words = groups.upper ? unit.upper : unit.words.front();
  words = builder.create<arith::XOrIOp>(words, splat(sum, highest));
  return unit;
}

Value ByteGroupCode::numbersOf(const Unit &unit, int64_t plane, Value zeros) {
  Value numbers = storedNumbersOf(unit, plane);
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

Value ByteGroupCode::scaled(Value sums, Value rowScale, Value scale, Value total) {
  Value numbers = builder.create<arith::SIToFPOp>(real, sums);
  if (rowScale)
    numbers = builder.create<arith::MulFOp>(numbers, rowScale);
  return builder.create<vector::FMAOp>(scale, numbers, total);
}
