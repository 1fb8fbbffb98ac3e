//===- Minifloats.cpp - floats of at most 8 bits --------------------------===//

#include "graph/Minifloats.h"

#include "graph/ScalarMath.h"

#include <cmath>

using namespace mlir;

namespace perpend::graph {

static constexpr int64_t singleInfinity = 0x7f800000, singleNan = 0x7fc00000, singleMagnitude = 0x7fffffff;
static constexpr unsigned singleMantissaBits = 23;
static constexpr int singleBias = 127;

MinifloatLayout layoutOf(MinifloatType type) {
  switch (type.getFormat()) {
  case MinifloatFormat::F8E4M3FN:
    return {4, 3, 7, 0x7e, 0x7f};
  case MinifloatFormat::F8E4M3FNUZ:
    return {4, 3, 8, 0x7f, 0x80, 0, true};
  case MinifloatFormat::F8E5M2:
    return {5, 2, 15, 0x7b, 0x7e, 0x7c};
  case MinifloatFormat::F8E5M2FNUZ:
    return {5, 2, 16, 0x7f, 0x80, 0, true};
  case MinifloatFormat::F8E8M0FNU:
    return {8, 0, 127, 0xfe, 0xff};
  case MinifloatFormat::F6E2M3FN:
    return {2, 3, 1, 0x1f};
  case MinifloatFormat::F6E3M2FN:
    return {3, 2, 3, 0x1f};
  case MinifloatFormat::F4E2M1FN:
    return {2, 1, 1, 0x07};
  }
  llvm_unreachable("a format without a layout");
}

static Scalar shiftLeft(Scalar x, unsigned amount) { return x.call<arith::ShLIOp>(x.value, x.integer(amount).value); }
static Scalar shiftRight(Scalar x, unsigned amount) { return x.call<arith::ShRUIOp>(x.value, x.integer(amount).value); }
static Scalar bitsOf(Scalar x) { return x.call<arith::BitcastOp>(x.emitter().getI32Type(), x.value); }
static Scalar numberOf(Scalar bits) { return bits.call<arith::BitcastOp>(bits.emitter().getF32Type(), bits.value); }

/// 2^(code - 127), where 2^-127 is a subnormal f32.
static Scalar decodeScale(Scalar code, const MinifloatLayout &layout) {
  Scalar single = select(equal(code, 0), code.integer(0x00400000), shiftLeft(code, singleMantissaBits));
  return numberOf(select(equal(code, layout.nan), code.integer(singleNan), single));
}

Value decodeMinifloat(OpBuilder &builder, Location loc, Value element, MinifloatType type) {
  MinifloatLayout layout = layoutOf(type);
  Scalar bits(builder, loc, builder.create<arith::ExtUIOp>(loc, builder.getI32Type(), element));
  if (layout.isScale())
    return decodeScale(bits, layout).value;
  unsigned width = layout.exponentBits + layout.mantissaBits, shift = singleMantissaBits - layout.mantissaBits;
  Scalar code = bits & bits.integer((1 << width) - 1);
  Scalar normal = shiftLeft(code, shift) + bits.integer(int64_t(singleBias - layout.bias) << singleMantissaBits);
  Scalar subnormal = code.to(builder.getF32Type()) * std::ldexp(1.0, 1 - layout.bias - int(layout.mantissaBits));
  Scalar single = select(code < double(1 << layout.mantissaBits), bitsOf(subnormal), normal);
  if (layout.infinity)
    single = select(code >= double(layout.infinity), shiftLeft(code, shift) | bits.integer(singleInfinity), single);
  if (layout.nan && !layout.infinity)
    single = select(equal(layout.hasUnsignedZero ? bits : code, layout.nan), bits.integer(singleNan), single);
  Scalar sign = shiftLeft(bits & bits.integer(1 << width), 31 - width);
  return numberOf(single | sign).value;
}

/// The exponent, rounded (MinifloatRounding). The sign is ignored.
static Scalar encodeScale(Scalar number, const MinifloatLayout &layout, MinifloatRounding rounding) {
  Scalar magnitude = bitsOf(number) & bitsOf(number).integer(singleMagnitude);
  Scalar exponent = shiftRight(magnitude, singleMantissaBits);
  Scalar fraction = magnitude & magnitude.integer((1 << singleMantissaBits) - 1);
  // Rounds halves up. The subnormal 2^-127 (fraction 0x400000) is the number with code 0, so it must not be rounded up.
  Scalar half = select(equal(exponent, 0), fraction.integer(0x400001), fraction.integer(0x400000));
  if (rounding.direction == MinifloatRounding::Up)
    half = fraction.integer(1);
  Scalar code = exponent;
  if (rounding.direction != MinifloatRounding::Down)
    code = select(fraction >= half, exponent + exponent.integer(1), exponent);
  if (rounding.saturates)
    code = min(code, double(layout.largest));
  return select(magnitude >= double(singleInfinity), code.integer(layout.nan), code);
}

/// number| rounded to nearest, ties to even, ignoring the largest number.
static Scalar roundMagnitude(Scalar magnitude, const MinifloatLayout &layout) {
  unsigned shift = singleMantissaBits - layout.mantissaBits;
  Scalar isOdd = shiftRight(magnitude, shift) & magnitude.integer(1);
  Scalar normal = shiftRight(magnitude + magnitude.integer((1 << (shift - 1)) - 1) + isOdd, shift) -
                  magnitude.integer(int64_t(singleBias - layout.bias) << layout.mantissaBits);
  // For subnormal results the last bit of the sum has the weight of the format's smallest number, so the addition
  // rounds.
  double unit = std::ldexp(1.0, int(singleMantissaBits) + 1 - layout.bias - int(layout.mantissaBits));
  Scalar sum = numberOf(magnitude) + unit;
  Scalar subnormal = bitsOf(sum) - bitsOf(sum.constant(unit));
  return select(magnitude < double(int64_t(singleBias - layout.bias + 1) << singleMantissaBits), subnormal, normal);
}

static Scalar encode(Scalar number, const MinifloatLayout &layout, MinifloatRounding rounding) {
  Scalar bits = bitsOf(number), magnitude = bits & bits.integer(singleMagnitude);
  Scalar code = roundMagnitude(magnitude, layout);
  bool saturates = rounding.saturates || !layout.nan;
  unsigned beyond = saturates ? layout.largest : layout.infinity ? layout.infinity : layout.nan;
  code = select(code > double(layout.largest), code.integer(beyond), code);
  unsigned width = layout.exponentBits + layout.mantissaBits;
  Scalar sign = shiftRight(bits & ~bits.integer(singleMagnitude), 31 - width);
  Scalar isNan = magnitude > double(singleInfinity);
  if (!layout.hasUnsignedZero)
    return select(isNan, code.integer(layout.nan), code) | sign;
  Scalar isUnsigned = equal(code, 0) | equal(code, layout.nan);
  return select(isNan, code.integer(layout.nan), select(isUnsigned, code, code | sign));
}

Value encodeMinifloat(OpBuilder &builder, Location loc, Value number, MinifloatType type, MinifloatRounding rounding) {
  MinifloatLayout layout = layoutOf(type);
  Scalar single(builder, loc, number);
  Scalar bits = layout.isScale() ? encodeScale(single, layout, rounding) : encode(single, layout, rounding);
  return bits.to(builder.getI8Type()).value;
}
} // namespace perpend::graph
