//===- Scalars.cpp - the meaning of arith and math on scalars -------------===//

#include "interp/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

using namespace mlir;

namespace perpend::interp {

int64_t truncateToInteger(double value, unsigned width) {
  int64_t lowest = width > 32 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  double beyond = -static_cast<double>(lowest);
  if (!(value > -beyond - 1 && value < beyond)) // of 64 bits, that is from the lowest number on
    return lowest;
  return signExtend(static_cast<int64_t>(value), width);
}

namespace {
//===----------------------------------------------------------------------===//
// Loops over blocks
//===----------------------------------------------------------------------===//

template <typename T> const T *operandOf(const ScalarArguments &call, unsigned i) {
  return static_cast<const T *>(call.operands[i]);
}
template <typename T> T *resultOf(const ScalarArguments &call) { return static_cast<T *>(call.result); }

using Int = int64_t;
using UInt = uint64_t;

template <auto function> void unaryInteger(const ScalarArguments &call) {
  const Int *a = operandOf<Int>(call, 0);
  for (Int i = 0; i < call.count; ++i)
    resultOf<Int>(call)[i] = signExtend(function(a[i], call.format.width), call.format.width);
}

template <auto function> void binaryInteger(const ScalarArguments &call) {
  const Int *a = operandOf<Int>(call, 0), *b = operandOf<Int>(call, 1);
  Int *result = resultOf<Int>(call);
  unsigned width = call.format.width;
  for (Int i = 0; i < call.count; ++i)
    result[i] = signExtend(static_cast<Int>(function(a[i], b[i], width)), width);
}

template <typename T, auto function> void unaryFloat(const ScalarArguments &call) {
  const T *a = operandOf<T>(call, 0);
  T *result = resultOf<T>(call);
  for (Int i = 0; i < call.count; ++i)
    result[i] = static_cast<T>(function(a[i]));
}

template <typename T, auto function> void binaryFloat(const ScalarArguments &call) {
  const T *a = operandOf<T>(call, 0), *b = operandOf<T>(call, 1);
  T *result = resultOf<T>(call);
  for (Int i = 0; i < call.count; ++i)
    result[i] = static_cast<T>(function(a[i], b[i]));
}

template <typename T> void fusedMultiplyAdd(const ScalarArguments &call) {
  const T *a = operandOf<T>(call, 0), *b = operandOf<T>(call, 1), *c = operandOf<T>(call, 2);
  T *result = resultOf<T>(call);
  bool isHalf = call.format.width == 16; // a double holds the exact product of 16-bit floats
  for (Int i = 0; i < call.count; ++i)
    result[i] = isHalf ? static_cast<T>(roundToOdd(static_cast<double>(a[i]) * static_cast<double>(b[i]) +
                                                   static_cast<double>(c[i])))
                       : std::fma(a[i], b[i], c[i]);
}

template <typename T> void select(const ScalarArguments &call) {
  const Int *condition = operandOf<Int>(call, 0);
  const T *a = operandOf<T>(call, 1), *b = operandOf<T>(call, 2);
  for (Int i = 0; i < call.count; ++i)
    resultOf<T>(call)[i] = condition[i] ? a[i] : b[i];
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

template <typename T, typename Predicate> void compareBlock(const ScalarArguments &call, Predicate predicate) {
  const T *a = operandOf<T>(call, 0), *b = operandOf<T>(call, 1);
  for (Int i = 0; i < call.count; ++i)
    resultOf<Int>(call)[i] = predicate(a[i], b[i]) ? -1 : 0;
}

void compareIntegers(const ScalarArguments &call) {
  using enum arith::CmpIPredicate;
  switch (static_cast<arith::CmpIPredicate>(call.predicate)) {
  // Sign extension keeps the order of unsigned numbers too, so the width does not matter.
  case eq:
    return compareBlock<Int>(call, [](Int a, Int b) { return a == b; });
  case ne:
    return compareBlock<Int>(call, [](Int a, Int b) { return a != b; });
  case slt:
    return compareBlock<Int>(call, [](Int a, Int b) { return a < b; });
  case sle:
    return compareBlock<Int>(call, [](Int a, Int b) { return a <= b; });
  case sgt:
    return compareBlock<Int>(call, [](Int a, Int b) { return a > b; });
  case sge:
    return compareBlock<Int>(call, [](Int a, Int b) { return a >= b; });
  case ult:
    return compareBlock<UInt>(call, [](UInt a, UInt b) { return a < b; });
  case ule:
    return compareBlock<UInt>(call, [](UInt a, UInt b) { return a <= b; });
  case ugt:
    return compareBlock<UInt>(call, [](UInt a, UInt b) { return a > b; });
  case uge:
    return compareBlock<UInt>(call, [](UInt a, UInt b) { return a >= b; });
  }
}

template <typename T> void compareFloats(const ScalarArguments &call) {
  using enum arith::CmpFPredicate;
  switch (static_cast<arith::CmpFPredicate>(call.predicate)) {
  case AlwaysFalse:
    return compareBlock<T>(call, [](T, T) { return false; });
  case OEQ:
    return compareBlock<T>(call, [](T a, T b) { return a == b; });
  case OGT:
    return compareBlock<T>(call, [](T a, T b) { return a > b; });
  case OGE:
    return compareBlock<T>(call, [](T a, T b) { return a >= b; });
  case OLT:
    return compareBlock<T>(call, [](T a, T b) { return a < b; });
  case OLE:
    return compareBlock<T>(call, [](T a, T b) { return a <= b; });
  case ONE:
    return compareBlock<T>(call, [](T a, T b) { return a < b || a > b; });
  case ORD:
    return compareBlock<T>(call, [](T a, T b) { return !std::isunordered(a, b); });
  case UEQ:
    return compareBlock<T>(call, [](T a, T b) { return !(a < b || a > b); });
  case UGT:
    return compareBlock<T>(call, [](T a, T b) { return !(a <= b); });
  case UGE:
    return compareBlock<T>(call, [](T a, T b) { return !(a < b); });
  case ULT:
    return compareBlock<T>(call, [](T a, T b) { return !(a >= b); });
  case ULE:
    return compareBlock<T>(call, [](T a, T b) { return !(a > b); });
  case UNE:
    return compareBlock<T>(call, [](T a, T b) { return a != b; });
  case UNO:
    return compareBlock<T>(call, [](T a, T b) { return std::isunordered(a, b); });
  case AlwaysTrue:
    return compareBlock<T>(call, [](T, T) { return true; });
  }
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

void extendSigned(const ScalarArguments &call) { // and truncate: the register is sign-extended already
  for (Int i = 0; i < call.count; ++i)
    resultOf<Int>(call)[i] = signExtend(operandOf<Int>(call, 0)[i], call.format.width);
}

void extendUnsigned(const ScalarArguments &call) {
  for (Int i = 0; i < call.count; ++i) {
    Int value = static_cast<Int>(zeroExtend(operandOf<Int>(call, 0)[i], call.operandFormat.width));
    resultOf<Int>(call)[i] = signExtend(value, call.format.width);
  }
}

/// Each operand's value, rounded once to the floating-point format of the result.
template <typename Operand, typename From> void toFloat(const ScalarArguments &call, From from) {
  for (Int i = 0; i < call.count; ++i) {
    auto value = from(operandOf<Operand>(call, 0)[i]);
    if (call.format.kind == RegisterKind::Double)
      resultOf<double>(call)[i] = static_cast<double>(value);
    else if (call.format.width == 16)
      resultOf<float>(call)[i] = roundToOdd(static_cast<double>(value));
    else
      resultOf<float>(call)[i] = static_cast<float>(value);
  }
}

void signedToFloat(const ScalarArguments &call) {
  toFloat<Int>(call, [](Int value) { return value; });
}

void unsignedToFloat(const ScalarArguments &call) {
  toFloat<Int>(call, [width = call.operandFormat.width](Int value) { return zeroExtend(value, width); });
}

template <typename T> void floatToSigned(const ScalarArguments &call) {
  for (Int i = 0; i < call.count; ++i) {
    double value = static_cast<double>(operandOf<T>(call, 0)[i]);
    resultOf<Int>(call)[i] = truncateToInteger(value, call.format.width);
  }
}

template <typename T> void floatToUnsigned(const ScalarArguments &call) {
  for (Int i = 0; i < call.count; ++i) {
    double value = static_cast<double>(operandOf<T>(call, 0)[i]);
    bool isUpperHalf = value >= 0x1p63 && value < 0x1p64;
    Int integer = isUpperHalf ? static_cast<Int>(static_cast<UInt>(value)) : truncateToInteger(value);
    resultOf<Int>(call)[i] = signExtend(integer, call.format.width);
  }
}

template <typename T> void floatToFloat(const ScalarArguments &call) {
  toFloat<T>(call, [](T value) { return value; });
}

void reinterpretBits(const ScalarArguments &call) {
  for (Int i = 0; i < call.count; ++i) {
    std::byte memory[8];
    auto *from = static_cast<const std::byte *>(call.operands[0]) + i * call.operandFormat.registerBytes();
    writeElements(call.operandFormat, from, 1, memory);
    readElements(call.format, memory, 1, static_cast<std::byte *>(call.result) + i * call.format.registerBytes());
  }
}

//===----------------------------------------------------------------------===//
// Integer arithmetic: a, b are sign-extended from w bits; the caller normalises the result
//===----------------------------------------------------------------------===//

constexpr auto add = [](Int a, Int b, unsigned) { return static_cast<UInt>(a) + static_cast<UInt>(b); };
constexpr auto subtract = [](Int a, Int b, unsigned) { return static_cast<UInt>(a) - static_cast<UInt>(b); };
constexpr auto multiply = [](Int a, Int b, unsigned) { return static_cast<UInt>(a) * static_cast<UInt>(b); };
constexpr auto divideSigned = [](Int a, Int b, unsigned) -> Int {
  return b == 0 ? 0 : b == -1 ? static_cast<Int>(-static_cast<UInt>(a)) : a / b;
};
constexpr auto remainderSigned = [](Int a, Int b, unsigned) -> Int { return b == 0 || b == -1 ? 0 : a % b; };
constexpr auto divideUnsigned = [](Int a, Int b, unsigned w) -> UInt {
  return b == 0 ? 0 : zeroExtend(a, w) / zeroExtend(b, w);
};
constexpr auto remainderUnsigned = [](Int a, Int b, unsigned w) -> UInt {
  return b == 0 ? 0 : zeroExtend(a, w) % zeroExtend(b, w);
};
constexpr auto floorDivide = [](Int a, Int b, unsigned w) -> Int {
  return divideSigned(a, b, w) - (b != 0 && remainderSigned(a, b, w) != 0 && (a < 0) != (b < 0));
};
constexpr auto ceilDivide = [](Int a, Int b, unsigned w) -> Int {
  return divideSigned(a, b, w) + (b != 0 && remainderSigned(a, b, w) != 0 && (a < 0) == (b < 0));
};
constexpr auto ceilDivideUnsigned = [](Int a, Int b, unsigned w) -> UInt {
  return divideUnsigned(a, b, w) + (remainderUnsigned(a, b, w) != 0);
};
constexpr auto shiftLeft = [](Int a, Int b, unsigned w) -> UInt {
  return zeroExtend(b, w) >= w ? 0 : static_cast<UInt>(a) << b;
};
constexpr auto shiftRightSigned = [](Int a, Int b, unsigned w) -> Int { return zeroExtend(b, w) >= w ? 0 : a >> b; };
constexpr auto shiftRightUnsigned = [](Int a, Int b, unsigned w) -> UInt {
  return zeroExtend(b, w) >= w ? 0 : zeroExtend(a, w) >> b;
};
/// Powers by squaring; a negative exponent gives 1/a rounded towards zero (0 for a = 0).
constexpr auto integerPower = [](Int a, Int b, unsigned) -> UInt {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (b & 1 ? ~UInt{0} : 1) : 0;
  UInt result = 1, base = static_cast<UInt>(a);
  for (; b; b >>= 1, base *= base)
    if (b & 1)
      result *= base;
  return result;
};
constexpr auto leadingZeros = [](Int a, unsigned w) -> Int { return std::countl_zero(zeroExtend(a, w)) - 64 + Int{w}; };
constexpr auto trailingZeros = [](Int a, unsigned w) -> Int {
  return a == 0 ? Int{w} : std::countr_zero(static_cast<UInt>(a));
};

//===----------------------------------------------------------------------===//
// Float arithmetic
//===----------------------------------------------------------------------===//

constexpr auto maximum = [](auto a, auto b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  return a == b ? (std::signbit(a) ? b : a) : (a > b ? a : b);
};
constexpr auto minimum = [](auto a, auto b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
};
constexpr auto maximumNumber = [](auto a, auto b) { return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b); };
constexpr auto minimumNumber = [](auto a, auto b) { return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b); };

template <typename T> void floatToIntegerPower(const ScalarArguments &call) {
  for (Int i = 0; i < call.count; ++i) {
    double power =
        std::pow(static_cast<double>(operandOf<T>(call, 0)[i]), static_cast<double>(operandOf<Int>(call, 1)[i]));
    resultOf<T>(call)[i] = static_cast<T>(power);
  }
}

void floatToIntegerPowerOfResult(const ScalarArguments &call) {
  return call.format.kind == RegisterKind::Double ? floatToIntegerPower<double>(call)
                                                  : floatToIntegerPower<float>(call);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// By the kind of the last operand.
struct Entry {
  const char *name;
  ScalarFunction integer = nullptr, single = nullptr, wide = nullptr;
};

#define INTEGER_UNARY(NAME, ...) {NAME, unaryInteger<__VA_ARGS__>}
#define INTEGER(NAME, ...) {NAME, binaryInteger<__VA_ARGS__>}
#define FLOAT_UNARY(NAME, ...) {NAME, nullptr, unaryFloat<float, __VA_ARGS__>, unaryFloat<double, __VA_ARGS__>}
#define FLOAT(NAME, ...) {NAME, nullptr, binaryFloat<float, __VA_ARGS__>, binaryFloat<double, __VA_ARGS__>}
/// Computed in double.
#define MATH(NAME, FUNCTION) FLOAT_UNARY(NAME, [](double a) { return FUNCTION(a); })

constexpr Entry table[] = {
    INTEGER("arith.addi", add),
    INTEGER("arith.subi", subtract),
    INTEGER("arith.muli", multiply),
    INTEGER("arith.divsi", divideSigned),
    INTEGER("arith.divui", divideUnsigned),
    INTEGER("arith.remsi", remainderSigned),
    INTEGER("arith.remui", remainderUnsigned),
    INTEGER("arith.floordivsi", floorDivide),
    INTEGER("arith.ceildivsi", ceilDivide),
    INTEGER("arith.ceildivui", ceilDivideUnsigned),
    INTEGER("arith.andi", [](Int a, Int b, unsigned) { return a & b; }),
    INTEGER("arith.ori", [](Int a, Int b, unsigned) { return a | b; }),
    INTEGER("arith.xori", [](Int a, Int b, unsigned) { return a ^ b; }),
    INTEGER("arith.shli", shiftLeft),
    INTEGER("arith.shrsi", shiftRightSigned),
    INTEGER("arith.shrui", shiftRightUnsigned),
    INTEGER("arith.maxsi", [](Int a, Int b, unsigned) { return a > b ? a : b; }),
    INTEGER("arith.minsi", [](Int a, Int b, unsigned) { return a < b ? a : b; }),
    INTEGER("arith.maxui", [](Int a, Int b, unsigned) { return static_cast<UInt>(a) > static_cast<UInt>(b) ? a : b; }),
    INTEGER("arith.minui", [](Int a, Int b, unsigned) { return static_cast<UInt>(a) < static_cast<UInt>(b) ? a : b; }),
    INTEGER("math.ipowi", integerPower),
    INTEGER_UNARY("math.absi", [](Int a, unsigned) { return a < 0 ? static_cast<Int>(-static_cast<UInt>(a)) : a; }),
    INTEGER_UNARY("math.ctlz", leadingZeros),
    INTEGER_UNARY("math.cttz", trailingZeros),
    INTEGER_UNARY("math.ctpop", [](Int a, unsigned w) { return Int{std::popcount(zeroExtend(a, w))}; }),
    FLOAT("arith.addf", [](auto a, auto b) { return a + b; }),
    FLOAT("arith.subf", [](auto a, auto b) { return a - b; }),
    FLOAT("arith.mulf", [](auto a, auto b) { return a * b; }),
    FLOAT("arith.divf", [](auto a, auto b) { return a / b; }),
    FLOAT("arith.remf", [](auto a, auto b) { return std::fmod(a, b); }),
    FLOAT("arith.maximumf", maximum),
    FLOAT("arith.minimumf", minimum),
    FLOAT("arith.maxnumf", maximumNumber),
    FLOAT("arith.minnumf", minimumNumber),
    FLOAT("math.powf", [](double a, double b) { return std::pow(a, b); }),
    FLOAT("math.atan2", [](double a, double b) { return std::atan2(a, b); }),
    FLOAT("math.copysign", [](auto a, auto b) { return std::copysign(a, b); }),
    FLOAT_UNARY("arith.negf", [](auto a) { return -a; }),
    FLOAT_UNARY("math.absf", [](auto a) { return std::abs(a); }),
    FLOAT_UNARY("math.ceil", [](auto a) { return std::ceil(a); }),
    FLOAT_UNARY("math.floor", [](auto a) { return std::floor(a); }),
    FLOAT_UNARY("math.trunc", [](auto a) { return std::trunc(a); }),
    FLOAT_UNARY("math.round", [](auto a) { return std::round(a); }),
    FLOAT_UNARY("math.roundeven", [](auto a) { return std::nearbyint(a); }),
    FLOAT_UNARY("math.sqrt", [](auto a) { return std::sqrt(a); }),
    FLOAT_UNARY("math.rsqrt", [](double a) { return 1.0 / std::sqrt(a); }),
    MATH("math.cbrt", std::cbrt),
    MATH("math.sin", std::sin),
    MATH("math.cos", std::cos),
    MATH("math.tan", std::tan),
    MATH("math.asin", std::asin),
    MATH("math.acos", std::acos),
    MATH("math.atan", std::atan),
    MATH("math.sinh", std::sinh),
    MATH("math.cosh", std::cosh),
    MATH("math.tanh", std::tanh),
    MATH("math.asinh", std::asinh),
    MATH("math.acosh", std::acosh),
    MATH("math.atanh", std::atanh),
    MATH("math.erf", std::erf),
    MATH("math.exp", std::exp),
    MATH("math.exp2", std::exp2),
    MATH("math.expm1", std::expm1),
    MATH("math.log", std::log),
    MATH("math.log2", std::log2),
    MATH("math.log10", std::log10),
    MATH("math.log1p", std::log1p),
    {"math.fma", nullptr, fusedMultiplyAdd<float>, fusedMultiplyAdd<double>},
    {"vector.fma", nullptr, fusedMultiplyAdd<float>, fusedMultiplyAdd<double>},
    {"math.fpowi", floatToIntegerPowerOfResult},
    {"arith.select", select<Int>, select<float>, select<double>},
    {"arith.cmpi", compareIntegers},
    {"arith.cmpf", nullptr, compareFloats<float>, compareFloats<double>},
    {"arith.extsi", extendSigned},
    {"arith.extui", extendUnsigned},
    {"arith.trunci", extendSigned},
    {"arith.index_cast", extendSigned},
    {"arith.index_castui", extendUnsigned},
    {"arith.sitofp", signedToFloat},
    {"arith.uitofp", unsignedToFloat},
    {"arith.fptosi", nullptr, floatToSigned<float>, floatToSigned<double>},
    {"arith.fptoui", nullptr, floatToUnsigned<float>, floatToUnsigned<double>},
    {"arith.extf", nullptr, floatToFloat<float>, floatToFloat<double>},
    {"arith.truncf", nullptr, floatToFloat<float>, floatToFloat<double>},
    {"arith.bitcast", reinterpretBits, reinterpretBits, reinterpretBits},
};
} // namespace

void ScalarOperation::apply(void *result, const std::array<const void *, 3> &operands, int64_t count) const {
  function({result, operands, count, format, operandFormat, predicate});
  roundElements(format, result, count);
}

ScalarOperation findScalarOperation(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 || op->getNumOperands() > 3)
    return {};
  std::optional<ElementFormat> format = formatOf(op->getResult(0).getType());
  std::optional<ElementFormat> operandFormat = formatOf(op->getOperands().back().getType());
  const Entry *entry = llvm::find_if(table, [&](const Entry &e) { return op->getName().getStringRef() == e.name; });
  if (!format || !operandFormat || entry == std::end(table))
    return {};
  ScalarOperation found{operandFormat->kind == RegisterKind::Integer  ? entry->integer
                        : operandFormat->kind == RegisterKind::Single ? entry->single
                                                                      : entry->wide,
                        *format, *operandFormat};
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    found.predicate = static_cast<unsigned>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    found.predicate = static_cast<unsigned>(compare.getPredicate());
  return found;
}
} // namespace perpend::interp
