//===- ArgumentReduction.h - steps of elementary functions ------*- C++ -*-===//
//
// For f32 and f64: exponents and mantissas, rounding to integers, scaling by powers of two, special values. The files
// of all elementary functions share them.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_ARGUMENTREDUCTION_H
#define PERPEND_TILE_PASSES_ARGUMENTREDUCTION_H

#include "tile/passes/MathExpressions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace perpend::tile {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

inline int64_t mantissaBits(Real x) { return x.width() == 32 ? 23 : 52; }
inline int64_t exponentBias(Real x) { return x.width() == 32 ? 127 : 1023; }
inline int64_t bitsOf(Real x, double number) {
  return x.width() == 32 ? llvm::bit_cast<uint32_t>(static_cast<float>(number)) : llvm::bit_cast<uint64_t>(number);
}

/// A number whose unit in the last place is 1, with room for both signs: adding it rounds to an integer in the low
/// bits. It includes twice the bias of exponents, so that half of these bits are a biased exponent.
inline double integerOffset(Real x) { return (x.width() == 32 ? 0x1.8p23 : 0x1.8p52) + 2 * exponentBias(x); }

struct Rounded {
  Real value;
  Integer number;
};

/// x * factor to the nearest integer, for products well below the largest integer that the type holds exactly.
inline Rounded roundToInteger(Real x, double factor = 1) {
  Real offset = x.constant(integerOffset(x));
  Real shifted = factor == 1 ? x + offset : multiplyAdd(x, x.constant(factor), offset);
  return {shifted - integerOffset(x), shifted.bits() - bitsOf(x, integerOffset(x))};
}

inline Real toReal(Integer number, Real like) {
  if (like.width() == 32)
    return {like.emitter, number.create<mlir::arith::SIToFPOp>(like.type(), number.value)};
  return like.fromBits(number + bitsOf(like, integerOffset(like))) - integerOffset(like);
}

/// 2^number, for numbers in the range of normal exponents.
inline Real powerOfTwo(Integer number, Real like) {
  return like.fromBits((number + exponentBias(like)) << mantissaBits(like));
}

/// min(x, high), but NaN stays NaN.
inline Real atMost(Real x, double high) { return select(x > high, x.constant(high), x); }

inline Real clamp(Real x, double low, double high) { return atMost(select(x < low, x.constant(low), x), high); }

/// x * 2^number in two steps, so that 2^number itself may overflow or underflow. For x near 1 the first step is exact,
/// so the result is rounded once.
inline Real scaleInSteps(Real x, Integer number) {
  Integer sum = number + bitsOf(x, integerOffset(x)), half = sum.shiftRightSigned(1);
  auto power = [&](Integer exponent) { return x.fromBits(exponent << mantissaBits(x)); };
  return x * power(half) * power(sum - half);
}

struct Decomposed {
  Real exponent; // an integer
  Real mantissa; // in [sqrt(1/2), sqrt(2))
};

/// x = mantissa * 2^exponent, for positive normal x.
inline Decomposed decompose(Real x) {
  int64_t one = bitsOf(x, 1), root = bitsOf(x, std::numbers::sqrt2 / 2);
  Integer biased = (x.bits() + (one - root)).shiftRightUnsigned(mantissaBits(x));
  Integer exponent = biased - exponentBias(x);
  return {toReal(exponent, x), x.fromBits(x.bits() - (exponent << mantissaBits(x)))};
}

/// Handles special values of logarithms: -infinity at `pole`, NaN below it, otherwise `result`.
inline Real withLogarithmSpecials(Real x, double pole, Real result) {
  result = select(x < infinity, result, x);
  result = select(x == pole, x.constant(-infinity), result);
  return select(x < pole, x.constant(notANumber), result);
}

/// The power of x and y, from |x|^y: the sign of odd powers, and the cases in which C99 requires or forbids NaN unlike
/// 2^(y log2|x|).
inline Real withPowerSpecials(Real x, Real y, Real magnitude) {
  Real half = y * 0.5;
  Condition isInteger = y.integerPart() == y, isEven = half.integerPart() == half;
  Real result = select(x.absolute() == 1.0, x.constant(1), magnitude);
  result = select(isInteger & !isEven, result.withSignOf(x), result);
  result = select((x < 0.0) & (x > -infinity) & !isInteger, x.constant(notANumber), result);
  return select((x == 1.0) | (y == 0.0), x.constant(1), result);
}

/// A function that is 0 below `least`. It is not computed there, what a mask hides, say: processors may take a hundred
/// times as long for a result that is too small for the type.
inline Real aboveZero(Real x, double least, llvm::function_ref<Real(Real)> function) {
  auto isBelow = x < least;
  return select(isBelow, x.constant(0), function(select(isBelow, x.constant(0), x)));
}

} // namespace perpend::tile

#endif
