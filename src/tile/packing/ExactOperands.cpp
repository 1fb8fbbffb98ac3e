//===- ExactOperands.cpp - exact conversions of operands ------------------===//

#include "tile/packing/ExactOperands.h"

#include "graph/composites/Formulas.h"
#include "tile/ir/Tile.h"
#include "tile/kernel/Buffers.h"

#include "mlir/IR/Matchers.h"

#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::elementTypeOf;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

static bool isBytes(Value tensor) { return elementTypeOf(tensor).isInteger(8); }

static Value integer(graph::Builder &builder, int64_t value) {
  return builder.scalar(static_cast<double>(value), builder.operations.getI32Type());
}

/// zero + value; null stands for a zero point of 0.
static Value addToZero(graph::Builder &builder, Value zero, int64_t value) {
  std::optional<double> known = zero ? graph::constantNumber(zero) : 0.0;
  if (!known)
    return graph::add(builder, zero, integer(builder, value));
  value += static_cast<int64_t>(*known);
  return value == 0 ? Value() : integer(builder, value);
}

//===----------------------------------------------------------------------===//
// Operators that only move elements
//===----------------------------------------------------------------------===//

bool perpend::tile::onlyMoves(Operation *op) { return isa_and_nonnull<graph::ReshapeOp, graph::TransposeOp>(op); }

/// Finds the narrower numbers that a value is computed from, if any.
using Narrow = llvm::function_ref<std::optional<CentredNumbers>(Value)>;

static std::optional<CentredNumbers> behindMoves(graph::Builder &builder, Value operand, Narrow narrow);

/// Padding with 0 after the subtraction equals padding with the zero point before it.
static std::optional<CentredNumbers> behindPad(graph::Builder &builder, graph::PadOp pad, Narrow narrow) {
  bool isOfZeros = matchPattern(pad.getValue(), m_Zero()) || matchPattern(pad.getValue(), m_PosZeroFloat());
  std::optional<CentredNumbers> inner = isOfZeros ? behindMoves(builder, pad.getInput(), narrow) : std::nullopt;
  std::optional<double> zero = inner && inner->zero ? graph::constantNumber(inner->zero) : 0.0;
  if (!inner || !zero)
    return std::nullopt;
  Shape low(pad.getLow().values()), high = shapeOf(pad.getResult());
  for (auto [total, before, extent] : llvm::zip(high, low, shapeOf(pad.getInput())))
    total = total - before - extent;
  Type type = graph::scalarTypeOf(inner->numbers);
  TypedAttr fill = builder.operations.getZeroAttr(type);
  if (inner->zero)
    fill = builder.operations.getIntegerAttr(type, static_cast<int8_t>(static_cast<int64_t>(*zero)));
  return CentredNumbers{builder.pad(inner->numbers, low, high, fill), inner->zero};
}

static std::optional<CentredNumbers> behindMoves(graph::Builder &builder, Value operand, Narrow narrow) {
  if (std::optional<CentredNumbers> numbers = narrow(operand))
    return numbers;
  Operation *producer = operand.getDefiningOp();
  if (auto pad = dyn_cast_or_null<graph::PadOp>(producer))
    return behindPad(builder, pad, narrow);
  std::optional<CentredNumbers> inner =
      onlyMoves(producer) ? behindMoves(builder, producer->getOperand(0), narrow) : std::nullopt;
  if (!inner)
    return std::nullopt;
  Operation *moved = builder.operations.clone(*producer);
  moved->setLoc(builder.location);
  moved->setOperand(0, inner->numbers);
  moved->getResult(0).setType(graph::tensorType(shapeOf(operand), elementTypeOf(inner->numbers)));
  inner->numbers = moved->getResult(0);
  return inner;
}

/// The argument of a map that `value` extends with the signedness of its tensor.
static std::optional<unsigned> widenedArgument(graph::MapOp map, Value value) {
  Operation *extension = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtFOp, arith::ExtUIOp, arith::ExtSIOp>(extension))
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(extension->getOperand(0));
  if (!argument || argument.getOwner() != &map.getBody().front())
    return std::nullopt;
  bool isUnsigned = elementTypeOf(map.getInputs()[argument.getArgNumber()]).isUnsignedInteger();
  return isUnsigned == isa<arith::ExtUIOp>(extension) ? std::optional(argument.getArgNumber()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bytes minus a zero point
//===----------------------------------------------------------------------===//

/// The argument of bytes that `value` extends.
static std::optional<unsigned> widenedBytes(graph::MapOp map, Value value) {
  std::optional<unsigned> argument = widenedArgument(map, value);
  return argument && isBytes(map.getInputs()[*argument]) ? argument : std::nullopt;
}

static auto repeatedBy(Value value) { return value ? value.getDefiningOp<graph::BroadcastOp>() : nullptr; }

/// The scalar of i32 that is subtracted, or null.
static Value scalarZero(graph::Builder &builder, graph::MapOp map, Value value, bool isUnsigned) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) // larger ones might wrap in 16 bits
    return (isUnsigned ? constant.isIntN(8) : constant.isSignedIntN(8)) ? integer(builder, constant.getSExtValue())
                                                                        : Value();
  std::optional<unsigned> number = widenedBytes(map, value);
  auto repeated = number ? repeatedBy(map.getInputs()[*number]) : repeatedBy({});
  if (!repeated || graph::elementCount(shapeOf(repeated.getInput())) != SymbolicInt(1))
    return {};
  return builder.cast(builder.reshape(repeated.getInput(), {}), builder.operations.getI32Type());
}

/// Matches map(x, zero) { widen(x) - widen(zero) }.
static std::optional<CentredNumbers> ofDifference(graph::Builder &builder, graph::MapOp map) {
  auto difference = map.getBody().front().getTerminator()->getOperand(0).getDefiningOp<arith::SubIOp>();
  if (!difference || !elementTypeOf(map.getResult()).isSignlessInteger(16))
    return std::nullopt;
  std::optional<unsigned> numbers = widenedBytes(map, difference.getLhs());
  Value zero = numbers ? scalarZero(builder, map, difference.getRhs(),
                                    elementTypeOf(map.getInputs()[*numbers]).isUnsignedInteger())
                       : Value();
  if (!zero)
    return std::nullopt;
  return CentredNumbers{map.getInputs()[*numbers], zero};
}

static std::optional<CentredNumbers> centredBytes(graph::Builder &builder, Value operand) {
  return behindMoves(builder, operand, [&](Value value) -> std::optional<CentredNumbers> {
    if (isBytes(value))
      return CentredNumbers{value, {}};
    auto map = value.getDefiningOp<graph::MapOp>();
    return map ? ofDifference(builder, map) : std::nullopt;
  });
}

Type perpend::tile::bytesBehind(Value operand) {
  auto element = operand.getDefiningOp<graph::ElementInterface>();
  while (!isBytes(operand) && element && element.elementKind() == graph::ElementKind::View &&
         element->getNumOperands() > 0) {
    operand = element->getOperand(0);
    element = operand.getDefiningOp<graph::ElementInterface>();
  }
  if (isBytes(operand))
    return elementTypeOf(operand);
  if (!element || element.elementKind() != graph::ElementKind::Pointwise || element->getNumRegions() != 1)
    return {};
  Block &body = element->getRegion(0).front();
  auto difference = body.getTerminator()->getOperand(0).getDefiningOp<arith::SubIOp>();
  Operation *extension = difference ? difference.getLhs().getDefiningOp() : nullptr;
  auto number = isa_and_nonnull<arith::ExtUIOp, arith::ExtSIOp>(extension)
                    ? dyn_cast<BlockArgument>(extension->getOperand(0))
                    : BlockArgument();
  bool isOperand = number && number.getOwner() == &body && number.getArgNumber() < element->getNumOperands();
  Value bytes = isOperand ? element->getOperand(number.getArgNumber()) : Value();
  return bytes && isBytes(bytes) ? elementTypeOf(bytes) : Type();
}

/// x + 128 as ui8, or x - 128 as i8: flips the highest bit.
static Value shifted(graph::Builder &builder, Value numbers, Type type) {
  return builder.map({numbers}, type, [](OpBuilder &b, Location loc, ValueRange v) -> Value {
    Value highest = b.create<arith::ConstantIntOp>(loc, -128, 8);
    return b.create<arith::XOrIOp>(loc, v[0], highest);
  });
}

Value perpend::tile::unsignedBytes(graph::Builder &builder, Value bytes) {
  return shifted(builder, bytes, builder.operations.getIntegerType(8, /*isSigned=*/false));
}

Value perpend::tile::bytesBehindFloats(graph::Builder &builder, Value operand) {
  auto bytes = behindMoves(builder, operand, [&](Value value) -> std::optional<CentredNumbers> {
    auto element = value.getDefiningOp<graph::ElementInterface>();
    if (!element || element.elementKind() != graph::ElementKind::Pointwise || element->getNumOperands() != 1 ||
        !elementTypeOf(element->getOperand(0)).isSignlessInteger(8) || element->getNumRegions() != 1)
      return std::nullopt;
    Block &body = element->getRegion(0).front();
    auto conversion = body.getTerminator()->getOperand(0).getDefiningOp<arith::SIToFPOp>();
    if (!conversion || conversion.getIn() != body.getArgument(0))
      return std::nullopt;
    return CentredNumbers{element->getOperand(0), {}};
  });
  return bytes ? bytes->numbers : Value();
}

ScaledBytes perpend::tile::bytesBehindScales(Value operand, int64_t groupSize) {
  Operation *joined = operand.getDefiningOp();
  auto scaled =
      onlyMoves(joined) ? joined->getOperand(0).getDefiningOp<graph::ElementInterface>() : graph::ElementInterface();
  if (!scaled || scaled.elementKind() != graph::ElementKind::Pointwise || scaled->getNumOperands() != 2 ||
      scaled->getNumRegions() != 1 || !elementTypeOf(scaled->getOperand(0)).isSignlessInteger(8))
    return {};
  Shape rows = shapeOf(operand), groups = shapeOf(scaled->getResult(0));
  Block &body = scaled->getRegion(0).front();
  auto product = body.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  auto conversion = product ? product.getLhs().getDefiningOp<arith::SIToFPOp>() : arith::SIToFPOp();
  auto repeated = repeatedBy(scaled->getOperand(1));
  if (rows.size() != 2 || groups.size() != 3 || groups.front() != rows.front() ||
      groups.back() != SymbolicInt(groupSize) || !repeated || repeated.getDims() != ArrayRef<int64_t>{0, 1} ||
      !conversion || conversion.getIn() != body.getArgument(0) || product.getRhs() != body.getArgument(1))
    return {};
  return {scaled->getOperand(0), repeated.getInput()};
}

Value perpend::tile::scaleBytes(graph::Builder &builder, Value numbers, Value scales) {
  Shape shape = shapeOf(numbers);
  Value floats = builder.map({numbers, builder.broadcast(scales, {0, 1}, shape)}, elementTypeOf(scales),
                             [](OpBuilder &b, Location loc, ValueRange v) -> Value {
                               Value number = b.create<arith::SIToFPOp>(loc, v[1].getType(), v[0]);
                               return b.create<arith::MulFOp>(loc, number, v[1]);
                             });
  return builder.reshape(floats, {shape[0], shape[1] * shape[2]});
}

static std::optional<CentredNumbers> asUnsignedBytes(graph::Builder &builder, Value operand) {
  std::optional<CentredNumbers> bytes = centredBytes(builder, operand);
  if (!bytes || elementTypeOf(bytes->numbers).isUnsignedInteger())
    return bytes;
  Type type = builder.operations.getIntegerType(8, /*isSigned=*/false);
  return CentredNumbers{shifted(builder, bytes->numbers, type), addToZero(builder, bytes->zero, 128)};
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

template <typename Number> static std::pair<int64_t, int64_t> rangeOfNumbers(ArrayRef<char> bytes) {
  Number least = std::numeric_limits<Number>::max(), most = std::numeric_limits<Number>::min();
  for (size_t i = 0; i + sizeof(Number) <= bytes.size(); i += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + i, sizeof number);
    least = std::min(least, number);
    most = std::max(most, number);
  }
  return {least, most};
}

std::optional<std::pair<int64_t, int64_t>> tile::rangeOfConstant(Value tensor, bool isUnsigned) {
  ElementsAttr numbers;
  const unsigned bits = graph::bitWidth(elementTypeOf(tensor));
  if (!isa<IntegerType>(elementTypeOf(tensor)) || (bits != 8 && bits != 16) ||
      !matchPattern(tensor, m_Constant(&numbers)))
    return std::nullopt;
  std::vector<char> storage;
  ArrayRef<char> bytes = constantBytes(numbers, storage);
  return bits == 8    ? isUnsigned ? rangeOfNumbers<uint8_t>(bytes) : rangeOfNumbers<int8_t>(bytes)
            : isUnsigned ? rangeOfNumbers<uint16_t>(bytes)
                      : rangeOfNumbers<int16_t>(bytes);
}

static std::optional<CentredNumbers> asSignedBytes(graph::Builder &builder, Value operand) {
  Type type = builder.operations.getI8Type();
  const bool isOf16Bits = elementTypeOf(operand).isSignlessInteger(16);
  if (auto range = isOf16Bits ? rangeOfConstant(operand, /*isUnsigned=*/false) : std::nullopt) {
    const int64_t low = std::min<int64_t>(range->first, 0), high = std::max<int64_t>(range->second, 0);
    bool fits = low >= -128 && high <= 127;
    if (!fits && high - low > 255)
      return std::nullopt;
    int64_t shift = fits ? 0 : low + 128;
    Value numbers = fits ? operand : graph::sub(builder, operand, builder.scalar(shift, elementTypeOf(operand)));
    return CentredNumbers{builder.cast(numbers, type), addToZero(builder, {}, -shift)};
  }
  std::optional<CentredNumbers> bytes = centredBytes(builder, operand);
  if (!bytes || !elementTypeOf(bytes->numbers).isUnsignedInteger())
    return bytes;
  return CentredNumbers{shifted(builder, bytes->numbers, type), addToZero(builder, bytes->zero, -128)};
}

//===----------------------------------------------------------------------===//
// Widened values
//===----------------------------------------------------------------------===//

namespace {
/// Which numbers of f32 are numbers of a format of fewer bits, by their bits.
class Format {
public:
  explicit Format(const llvm::fltSemantics &format)
      : bits(llvm::APFloat::semanticsPrecision(format)), least(llvm::APFloat::semanticsMinExponent(format)),
        greatest(llvm::APFloat::semanticsMaxExponent(format)) {}

  bool hasAll(ArrayRef<char> numbers) const {
    constexpr size_t together = 4096;
    for (; !numbers.empty(); numbers = numbers.drop_front(std::min(numbers.size(), together)))
      if (!hasBlock(numbers.take_front(together)))
        return false;
    return true;
  }

private:
  /// All numbers of the format end with zeros, so that most others are found at once.
  bool hasBlock(ArrayRef<char> numbers) const {
    const char *end = numbers.data() + numbers.size() / sizeof(uint32_t) * sizeof(uint32_t);
    uint32_t any = 0;
    for (const char *at = numbers.data(); at != end; at += sizeof(uint32_t))
      any |= llvm::support::endian::read32le(at);
    if (any & ((uint32_t(1) << (24 - bits)) - 1))
      return false;
    for (const char *at = numbers.data(); at != end; at += sizeof(uint32_t))
      if (!has(llvm::support::endian::read32le(at)))
        return false;
    return true;
  }

  /// A number, no NaN.
  bool has(uint32_t number) const {
    int exponent = int(number >> 23 & 255) - 127, lowest = int(number & 0x7fffff);
    if (exponent == 128 || (number << 1) == 0)
      return lowest == 0;
    if (exponent == -127)
      exponent = llvm::Log2_32(lowest) - 149;
    else
      lowest |= 1 << 23;
    // Of the highest and of the lowest bit that is set.
    int last = llvm::countr_zero(uint32_t(lowest)) + std::max(int(number >> 23 & 255), 1) - 150;
    return exponent <= greatest && last >= std::max(exponent, least) - int(bits - 1);
  }

  unsigned bits;
  int least, greatest;
};
} // namespace

/// Whether all elements of an f32 constant are exactly representable in a narrower type.
static bool isConstantOf(Value tensor, Type type) {
  ElementsAttr constant;
  auto narrow = dyn_cast<FloatType>(type);
  if (!matchPattern(tensor, m_Constant(&constant)) || !narrow || !elementTypeOf(tensor).isF32() ||
      !holdsAll(elementTypeOf(tensor), type))
    return false;
  Format format(narrow.getFloatSemantics());
  if (auto dense = dyn_cast<DenseElementsAttr>(constant); dense && dense.isSplat())
    return format.hasAll(dense.getRawData());
  std::vector<char> storage;
  return format.hasAll(constantBytes(constant, storage));
}

/// The elements of `type` from which an operand was extended, before it was moved.
static std::optional<CentredNumbers> asNarrow(graph::Builder &builder, Value operand, Type type) {
  return behindMoves(builder, operand, [&](Value value) -> std::optional<CentredNumbers> {
    if (isConstantOf(value, type))
      return CentredNumbers{builder.cast(value, type), {}};
    auto map = value.getDefiningOp<graph::MapOp>();
    std::optional<unsigned> argument =
        map ? widenedArgument(map, map.getBody().front().getTerminator()->getOperand(0)) : std::nullopt;
    if (!argument || !holdsAll(type, elementTypeOf(map.getInputs()[*argument])))
      return std::nullopt;
    return CentredNumbers{builder.cast(map.getInputs()[*argument], type), {}};
  });
}

Value perpend::tile::extendedBy(Operation *op) {
  auto map = dyn_cast_or_null<graph::MapOp>(op);
  std::optional<unsigned> argument =
      map ? widenedArgument(map, map.getBody().front().getTerminator()->getOperand(0)) : std::nullopt;
  Value narrow = argument ? map.getInputs()[*argument] : Value();
  return narrow && isa<FloatType>(elementTypeOf(narrow)) ? narrow : Value();
}

Type perpend::tile::extendedFloats(Value operand) {
  Operation *op = operand.getDefiningOp();
  while (onlyMoves(op))
    op = op->getOperand(0).getDefiningOp();
  Value narrow = extendedBy(op);
  return narrow ? elementTypeOf(narrow) : Type();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

std::optional<CentredNumbers> perpend::tile::asNumbersOf(graph::Builder &builder, Value operand, Type type) {
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? asUnsignedBytes(builder, operand) : asSignedBytes(builder, operand);
  if (holdsAll(type, elementTypeOf(operand)))
    return CentredNumbers{builder.cast(operand, type), {}};
  return asNarrow(builder, operand, type);
}

//===----------------------------------------------------------------------===//
// Contributions of zero points to a sum
//===----------------------------------------------------------------------===//

/// Sums bytes along `dims` as i32, by a product with ones, which folds for constants.
static Value sumOf(graph::Builder &builder, Value bytes, ArrayRef<int64_t> dims) {
  Shape shape = shapeOf(bytes), extents;
  for (int64_t dim : dims)
    extents.push_back(shape[dim]);
  Value ones = builder.splat(extents, 1, builder.operations.getI8Type());
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  return builder.contract(bytes, ones, {}, {}, dims, all, builder.operations.getI32Type());
}

Value perpend::tile::subtractZeros(graph::Builder &builder, Value product, const CentredNumbers &lhs,
                                   const CentredNumbers &rhs) {
  int64_t rank = graph::rankOf(lhs.numbers);
  if (lhs.zero) {
    Value sums = graph::mul(builder, sumOf(builder, rhs.numbers, {rank - 2}), lhs.zero);
    product = graph::sub(builder, product, builder.unsqueeze(sums, {rank - 2}));
  }
  if (!rhs.zero)
    return product;
  Value sums = sumOf(builder, lhs.numbers, {rank - 1});
  if (lhs.zero) {
    Value depth = graph::number(builder, shapeOf(lhs.numbers).back(), builder.operations.getI32Type());
    sums = graph::sub(builder, sums, graph::mul(builder, lhs.zero, depth));
  }
  sums = graph::mul(builder, sums, rhs.zero);
  return graph::sub(builder, product, builder.unsqueeze(sums, {rank - 1}));
}

Value perpend::tile::subtractInputZero(graph::Builder &builder, Value product, Value zero, Value filter) {
  if (!zero)
    return product;
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, graph::rankOf(filter) - 1));
  return graph::sub(builder, product, graph::mul(builder, sumOf(builder, filter, dims), zero));
}
