//===- DoubleFunctions.cpp - elementary functions of f64 ------------------===//
//
// As in MathFunctions.cpp: reduce the argument, evaluate a polynomial, undo the reduction. There is no wider type to
// compute in, so the rounding error of a reduced argument or of a sum is carried as a low-order term (double-double
// arithmetic).
//
// docs/derive_math_coefficients.py computes the coefficients of the polynomials.
//
//===----------------------------------------------------------------------===//

#include "tile/passes/DoubleFunctions.h"

#include "tile/passes/ArgumentReduction.h"

using namespace perpend::tile;

namespace {

/// erf(x) / x - 1 in x^2, |x| <= 1, for f64; error 2^-55.8.
constexpr double erfDoubleTerms[] = {0.12837916709551259,    -0.37612638903183748,   0.11283791670954879,
                                     -0.026866170645076792,  0.0052239776248180145,  -0.000854832698083379,
                                     0.0001205533111164271,  -1.4925595266831182e-5, 1.6461000484121361e-6,
                                     -1.6350312701054618e-7, 1.4659775274046955e-8,  -1.1372848856789924e-9,
                                     5.9571761477461144e-11};
/// log2(erfc(x)), 1 <= x <= 6, for f64; error of erfc(x) 2^-57.0.
constexpr double log2ErfcDoubleTerms[] = {-7.4112738960884265e-7, -1.6278995557541824,    -0.91848324883687626,
                                          -0.14816800954025533,   0.027393815340175664,   0.00059679615018097163,
                                          -0.0027686486826208425, 0.0011154218933650071,  -0.00019710437832704675,
                                          -2.8118160133477087e-5, 3.2489557857685834e-5,  -1.2370888822642382e-5,
                                          3.0496615625813779e-6,  -5.3292668149713436e-7, 6.6235417157481253e-8,
                                          -5.609163526418635e-9,  2.9130849184981118e-10, -7.0145401853452707e-12};
/// (exp(r) - 1 - r) / r^2, |r| <= ln(2) / 2, for f64; relative error 2^-57.6.
constexpr double expDoubleTerms[] = {0.5,
                                     0.16666666666666671,
                                     0.041666666666666671,
                                     0.0083333333333260838,
                                     0.0013888888888883711,
                                     0.00019841269875002279,
                                     2.4801587325677461e-5,
                                     2.7557255170000888e-6,
                                     2.7557273478718582e-7,
                                     2.5105312729622103e-8,
                                     2.0914755325893202e-9};
/// (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2, for f64, (1 + s) / (1 - s) in [sqrt(1/2), sqrt(2)]; relative error
/// 2^-50.9.
constexpr double logDoubleTerms[] = {0.66666666666666696, 0.39999999999898889, 0.28571428626253836, 0.22222211089379493,
                                     0.18182892432537032, 0.15331611722050653, 0.14617807153462828};
/// (log2((1 + s) / (1 - s)) - (2 s + 2/3 s^3) / ln(2)) / s^5 in s^2, for f64, (1 + s) / (1 - s) in [sqrt(1/2),
/// sqrt(2)]; relative error 2^-53.3.
constexpr double log2DoubleTerms[] = {0.57707801635558531, 0.41219858311114393, 0.32059889796710966,
                                      0.26230819147835271, 0.22195278749570954, 0.19238062525249378,
                                      0.16888370598437852, 0.16914628508505572};
/// (sin(r) - r) / r^3 in r^2, |r| <= pi / 4, for f64; relative error 2^-52.2.
constexpr double sinDoubleTerms[] = {-0.16666666666666666,  0.0083333333333309358,  -0.00019841269836740532,
                                     2.7557316093198404e-6, -2.5051129896450181e-8, 1.5917988979397204e-10};
/// (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi / 4, for f64; relative error 2^-54.0.
constexpr double cosDoubleTerms[] = {0.041666666666666664,   -0.0013888888888887389, 2.48015872987544e-5,
                                     -2.7557317265878082e-7, 2.0876145049413178e-9,  -1.1382544645349108e-11};
/// (asin(x) - x) / x^3 in x^2, |x| <= 0.5, for f64; relative error 2^-52.9.
constexpr double asinDoubleTerms[] = {
    0.16666666666666669,  0.074999999999984329,  0.044642857146355429, 0.030381944138531247, 0.022372172942149889,
    0.017352392720869945, 0.013971212973553311,  0.011479177415181617, 0.0103228143502052,   0.0054575067185637822,
    0.017400879442887152, -0.014851887071528912, 0.028757851367602328};
/// (atan(t) - t) / t^3 in t^2, |t| <= tan(pi / 8), for f64; relative error 2^-52.7.
constexpr double atanDoubleTerms[] = {-0.33333333333333331,  0.19999999999995516,   -0.14285714284665682,
                                      0.11111111015187018,   -0.090909045753064882, 0.076921831253768849,
                                      -0.066645105255088433, 0.058581409048656254,  -0.050854078345862384,
                                      0.039230447784709195,  -0.019175404711011961};
/// ln(2) as a sum; the first part times an exponent is exact.
constexpr double ln2DoubleParts[] = {0.69314718060195446, -4.2009150726810846e-11};
/// pi / 2 as a sum; each of the first three parts times integers below 2^20 is exact.
constexpr double halfPiDoubleParts[] = {1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21,
                                        8.4784276603688996e-32};
/// pi / 2 as the sum of its double and what that lacks.
constexpr double halfPiSum[] = {std::numbers::pi / 2, 6.123233995736766e-17};
/// 1 / ln(2) and 1 / ln(10), each as a sum of its double and what that lacks.
constexpr double log2eParts[] = {1.4426950408889634, 2.0355273740931033e-17};
constexpr double log10eParts[] = {0.43429448190325182, 1.098319650216765e-17};
constexpr double ln2Double = std::numbers::ln2;
/// ln(2), 2 / ln(2) and 2 / (3 ln(2)), each as a sum of its double and what that lacks.
constexpr double ln2Sum[] = {0.69314718055994529, 2.3190468138462996e-17};
constexpr double twiceLog2e[] = {2.8853900817779268, 4.0710547481862066e-17};
constexpr double twoThirdsLog2e[] = {0.96179669392597555, 5.0577616648125907e-17};

constexpr double smallestNormal = 0x1p-1022;

/// A number as a sum; the second part is small.
struct Pair {
  Real high, low;
};

/// The product with what rounding takes from it, of a target that fuses multiply-adds.
Pair productOf(Pair a, Pair b) {
  Real high = a.high * b.high;
  return {high, multiplyAdd(a.high, b.low, multiplyAdd(a.low, b.high, multiplyAdd(a.high, b.high, -high)))};
}

/// The sum, if |a| >= |b| or a = 0.
Pair sumOf(Real a, Real b) {
  Real high = a + b;
  return {high, b - (high - a)};
}

/// exp(r) - 1 = r + r^2 polynomial(r)
Real expMinusOne(Pair r) { return multiplyAdd(r.high * r.high, polynomial(expDoubleTerms, r.high), r.low) + r.high; }

struct ReducedExp {
  Pair rest;
  Rounded power;
};

/// x = power * ln(2) + rest
ReducedExp reduceExp(Real x) {
  Rounded n = roundToInteger(x, std::numbers::log2e);
  Real high = multiplyAdd(n.value, x.constant(-ln2DoubleParts[0]), x), low = n.value * -ln2DoubleParts[1];
  Real r = high + low;
  return {{r, low - (r - high)}, n};
}

/// log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f / (2 + f); the two terms without f.
Pair logarithmTail(Real f) {
  Real s = f / (f + 2);
  Real z = s * s, half = f * f * 0.5;
  return {half, s * multiplyAdd(z, polynomial(logDoubleTerms, z), half)};
}

struct Split {
  Real exponent, minusOne;
};

/// x = 2^exponent (1 + minusOne), for x > 0.
Split split(Real x) {
  Condition isTiny = x < smallestNormal;
  Decomposed parts = decompose(select(isTiny, x * 0x1p54, x));
  return {select(isTiny, parts.exponent - 54, parts.exponent), parts.mantissa - 1};
}

/// exponent * ln(2) + log(1 + f) + correction
Real logarithmOf(Split x, Real correction) {
  Pair tail = logarithmTail(x.minusOne);
  Real low = multiplyAdd(x.exponent, correction.constant(ln2DoubleParts[1]), tail.low + correction);
  return multiplyAdd(x.exponent, correction.constant(ln2DoubleParts[0]), x.minusOne - (tail.high - low));
}

/// exponent * scale(2) + log(1 + f) * factor, with what rounding takes from the products.
Real scaledLogarithm(Real x, llvm::ArrayRef<double> factor, llvm::ArrayRef<double> ofTwo) {
  Split parts = split(x);
  Pair tail = logarithmTail(parts.minusOne);
  Real low = tail.low - tail.high;
  Real sum = parts.minusOne + low;
  Real rest = low - (sum - parts.minusOne);
  Real small = multiplyAdd(sum, x.constant(factor[1]), rest * factor[0]);
  Real result = multiplyAdd(sum, x.constant(factor[0]), small);
  if (ofTwo.size() > 1)
    result = multiplyAdd(parts.exponent, x.constant(ofTwo[1]), result);
  return withLogarithmSpecials(x, 0, multiplyAdd(parts.exponent, x.constant(ofTwo[0]), result));
}

/// log2(x) of x > 0 with some 65 bits: exponent + (2 s + 2/3 s^3) / ln(2) + s^5 polynomial(s^2), where s = f / (2 + f).
Pair logarithmOfPower(Real x) {
  Split parts = split(x);
  auto number = [&](llvm::ArrayRef<double> sum) { return Pair{x.constant(sum[0]), x.constant(sum[1])}; };
  Pair divisor = sumOf(x.constant(1), parts.minusOne + 1);
  Real inverse = x.constant(1) / divisor.high, quotient = parts.minusOne * inverse;
  Real rest = multiplyAdd(-quotient, divisor.low, multiplyAdd(-quotient, divisor.high, parts.minusOne));
  Pair s{quotient, rest * inverse};
  Pair square = productOf(s, s), cube = productOf(s, square);
  Pair first = productOf(s, number(twiceLog2e)), second = productOf(cube, number(twoThirdsLog2e));
  Real small = cube.high * square.high * polynomial(log2DoubleTerms, square.high);
  Pair withFirst = sumOf(parts.exponent, first.high), withSecond = sumOf(withFirst.high, second.high);
  Real low = small + (second.low + first.low) + (withFirst.low + withSecond.low);
  return sumOf(withSecond.high, low);
}

/// Sine and cosine of what x has beyond a number of quarter turns.
struct Turned {
  Real sine, cosine;
  Integer quarterTurns;
};

/// Each step keeps what it rounds off.
Turned turn(Real x) {
  Rounded n = roundToInteger(x, 2 * std::numbers::inv_pi);
  Real high = x - n.value * halfPiDoubleParts[0], low = x.constant(0);
  for (double part : llvm::ArrayRef(halfPiDoubleParts).slice(1, 2)) {
    Real product = n.value * part, next = high - product;
    low = low + ((high - next) - product);
    high = next;
  }
  low = multiplyAdd(n.value, x.constant(-halfPiDoubleParts[3]), low);
  Real r = high + low, rest = low - (r - high);
  Real z = r * r;
  // sin(r + rest) = sin(r) + rest cos(r), cos(r + rest) = cos(r) - rest sin(r)
  Real sine = multiplyAdd(r * z, polynomial(sinDoubleTerms, z), multiplyAdd(z * -0.5, rest, rest)) + r;
  sine = select(x == 0.0, x, sine);
  Real half = z * 0.5, one = x.constant(1), head = one - half;
  Real tail = multiplyAdd(z * z, polynomial(cosDoubleTerms, z), (one - head) - half - r * rest);
  return {sine, head + tail, n.number};
}

/// sin of x + quarterTurns * pi / 2.
Real sineOfSum(Real x, int64_t quarterTurns) {
  Turned turned = turn(x);
  Integer quadrant = turned.quarterTurns + quarterTurns;
  Real magnitude = select((quadrant & 1) == 0, turned.sine, turned.cosine);
  return x.fromBits(magnitude.bits() ^ ((quadrant & 2) << 62));
}

/// asin(s) - s, where z = s^2 <= 1/4.
Real asinTail(Real s, Real z) { return s * z * polynomial(asinDoubleTerms, z); }

/// asin(|x|) near 0 is s + tail; beyond 1/2 s + tail is half of the angle that is left to pi / 2. NaN beyond 1.
struct Arc {
  Condition isNear;
  Real s, tail;
};

Arc arcOf(Real x) {
  Real a = x.absolute();
  Condition isNear = a < 0.5;
  Real z = select(isNear, a * a, (a.constant(1) - a) * 0.5);
  Real s = select(isNear, a, z.squareRoot());
  return {isNear, s, asinTail(s, z)};
}

/// The angle whose tangent is a / b, a >= 0 and b >= 0, from 0 to pi / 2. Of the smaller over the larger one, or, where
/// that is beyond tan(pi / 8), of their difference over their sum, which is the tangent of what is left to pi / 4.
Real angleOf(Real a, Real b) {
  Real zero = a.constant(0), one = a.constant(1);
  Condition isSteep = b < a, isEqual = a == b;
  Real low = select(isEqual, select(a == 0.0, zero, one), select(isSteep, b, a));
  Real high = select(isEqual, one, select(isSteep, a, b));
  Condition isMiddle = high * (std::numbers::sqrt2 - 1) < low;
  Real scale = select(high > 1, a.constant(0.25), one); // the sum must not overflow
  Real divisor = select(isMiddle, multiplyAdd(low, scale, high * scale), high);
  Real dividend = select(isMiddle, multiplyAdd(low, scale, -(high * scale)), low);
  Real t = select(isSteep, -dividend, dividend) / divisor;
  Real z = t * t;
  auto offset = [&](double whole) {
    return select(isMiddle, a.constant(whole / 2), select(isSteep, a.constant(whole), zero));
  };
  return offset(halfPiSum[0]) + (t + multiplyAdd(t * z, polynomial(atanDoubleTerms, z), offset(halfPiSum[1])));
}

} // namespace

Real doubles::emitExp(Real x) {
  return aboveZero(x, -746, [](Real x) {
    ReducedExp reduced = reduceExp(atMost(x, 710));
    return scaleInSteps(expMinusOne(reduced.rest) + 1, reduced.power.number);
  });
}

Real doubles::emitExp2(Real x) {
  return aboveZero(x, -1076, [](Real x) {
    x = atMost(x, 1025);
    Rounded n = roundToInteger(x);
    Real r = x - n.value;
    Real high = r * ln2Double;
    Real low = x.emitter->fma ? multiplyAdd(r, x.constant(ln2Double), -high) : x.constant(0);
    return scaleInSteps(expMinusOne({high, low}) + 1, n.number);
  });
}

/// Scales half of the result first, since 2^number may just overflow.
Real doubles::emitExpM1(Real x) {
  ReducedExp reduced = reduceExp(clamp(x, -60, 710));
  Real half = powerOfTwo(reduced.power.number - 1, x);
  Real result = multiplyAdd(half, expMinusOne(reduced.rest), half - 0.5) * 2;
  return select(x.absolute() < 0x1p-54, x, result);
}

/// |x|^y = 2^(y log2|x|), whose exponent is a sum of two numbers: the whole part of a large one must not cost digits.
Real doubles::emitPow(Real x, Real y) {
  Real base = x.absolute();
  Pair logarithm = logarithmOfPower(base);
  Real high = select(base == 0.0, x.constant(-infinity), select(base < infinity, logarithm.high, base));
  Real exponent = y * high;
  Real lost = multiplyAdd(y, logarithm.low, multiplyAdd(y, high, -exponent));
  lost = select(exponent.absolute() < 1100, lost, x.constant(0)); // infinity - infinity is NaN
  Real magnitude = aboveZero(exponent, -1076, [&](Real near) {
    near = atMost(near, 1025);
    Rounded n = roundToInteger(near);
    Pair rest = productOf(sumOf(near - n.value, lost), {x.constant(ln2Sum[0]), x.constant(ln2Sum[1])});
    return scaleInSteps(expMinusOne(rest) + 1, n.number);
  });
  return withPowerSpecials(x, y, magnitude);
}

Real doubles::emitLog(Real x) { return withLogarithmSpecials(x, 0, logarithmOf(split(x), x.constant(0))); }
Real doubles::emitLog2(Real x) { return scaledLogarithm(x, log2eParts, {1.0}); }
Real doubles::emitLog10(Real x) {
  /// log10(2); the first part times an exponent is exact.
  constexpr double log10Of2[] = {0.30102999566588551, -1.9043128467164274e-12};
  return scaledLogarithm(x, log10eParts, log10Of2);
}

/// Of 1 + x, and of what rounding took from it.
Real doubles::emitLog1p(Real x) {
  Real sum = x + 1;
  Split parts = split(sum);
  Condition isNear = parts.exponent == 0.0; // 1 + x is its own mantissa
  Real lost = select(x > 1, x.constant(1) - (sum - x), x - (sum - 1)) / sum;
  parts.minusOne = select(isNear, x, parts.minusOne);
  Real result = logarithmOf(parts, select(isNear, x.constant(0), lost));
  return select(x == 0.0, x, withLogarithmSpecials(x, -1, result));
}

/// With t = exp(2 |x|) - 1: t / (t + 2) near 0, and 1 - 2 / (t + 2) where t is large.
Real doubles::emitTanh(Real x) {
  Real a = x.absolute();
  Real t = emitExpM1(atMost(a, 22) * 2);
  Condition isNear = a < 1.0;
  Real quotient = select(isNear, t, t.constant(2)) / (t + 2);
  return select(isNear, quotient, quotient.constant(1) - quotient).withSignOf(x);
}

/// From a quarter of e^|x| - 1, which does not overflow before the result does.
Real doubles::emitSinh(Real x) {
  Real a = x.absolute();
  ReducedExp reduced = reduceExp(atMost(a, 710.5));
  Real quarter = powerOfTwo(reduced.power.number - 2, x);
  Real t = multiplyAdd(quarter, expMinusOne(reduced.rest), quarter - 0.25);
  Real result = (t + t / multiplyAdd(t, x.constant(4), x.constant(1))) * 2;
  return select(a < 0x1p-26, a, result).withSignOf(x);
}

Real doubles::emitCosh(Real x) {
  ReducedExp reduced = reduceExp(atMost(x.absolute(), 711));
  Real half = scaleInSteps(expMinusOne(reduced.rest) + 1, reduced.power.number - 1);
  return half + x.constant(0.25) / half;
}

Real doubles::emitSin(Real x) { return sineOfSum(x, 0); }
Real doubles::emitCos(Real x) { return sineOfSum(x, 1); }

/// The quarter turns exchange sine and cosine.
Real doubles::emitTan(Real x) {
  Turned turned = turn(x);
  Condition isEven = (turned.quarterTurns & 1) == 0;
  Real quotient = select(isEven, turned.sine, turned.cosine) / select(isEven, turned.cosine, turned.sine);
  return select(isEven, quotient, -quotient);
}

Real doubles::emitAsin(Real x) {
  Arc arc = arcOf(x);
  Real rest = multiplyAdd(arc.tail, x.constant(2), x.constant(-halfPiSum[1]));
  Real beyond = (x.constant(halfPiSum[0]) - arc.s * 2) - rest;
  return select(arc.isNear, arc.s + arc.tail, beyond).withSignOf(x);
}

/// pi / 2 - asin(x) near 0; elsewhere twice the half of the angle, or what pi has beyond that.
Real doubles::emitAcos(Real x) {
  Arc arc = arcOf(x);
  Real high = x.constant(halfPiSum[0]), low = x.constant(halfPiSum[1]);
  Real nearZero = high - (arc.s.withSignOf(x) + (arc.tail.withSignOf(x) - low));
  Real right = (arc.s + arc.tail) * 2, left = (high - (arc.s + (arc.tail - low))) * 2;
  return select(arc.isNear, nearZero, select(x < 0.0, left, right));
}

Real doubles::emitAtan(Real x) { return angleOf(x.absolute(), x.constant(1)).withSignOf(x); }

/// Infinities are as far as one another, and zeros have the angle 0.
Real doubles::emitAtan2(Real y, Real x) {
  Real angle = angleOf(y.absolute(), x.absolute());
  Condition isRight = x.bits().shiftRightUnsigned(63) == 0;
  Real left = x.constant(2 * halfPiSum[0]) - (angle - 2 * halfPiSum[1]);
  return select(isRight, angle, left).withSignOf(y);
}

/// asinh(x) = log(1 + x + x^2 / (1 + sqrt(1 + x^2))), log(2 x) of large numbers.
Real doubles::emitAsinh(Real x) {
  Real a = x.absolute(), z = a * a;
  Condition isLarge = a > 0x1p500;
  Real y = select(isLarge, a, a + z / ((z + 1).squareRoot() + 1));
  return (emitLog1p(y) + select(isLarge, x.constant(ln2Double), x.constant(0))).withSignOf(x);
}

/// acosh(x) = log(1 + (x - 1) + sqrt((x - 1) (x + 1))), log(2 x) of large numbers.
Real doubles::emitAcosh(Real x) {
  Real y = x - 1;
  Condition isLarge = x > 0x1p500;
  Real argument = select(isLarge, x, y + (y * (x + 1)).squareRoot());
  Real result = emitLog1p(argument) + select(isLarge, x.constant(ln2Double), x.constant(0));
  return select(x < 1.0, x.constant(notANumber), result);
}

/// atanh(x) = log(1 + 2 x / (1 - x)) / 2
Real doubles::emitAtanh(Real x) {
  Real a = x.absolute();
  return (emitLog1p(a * 2 / (a.constant(1) - a)) * 0.5).withSignOf(x);
}

/// Near 0 a polynomial of erf(x) / x - 1; elsewhere 1 - erfc(x), where erfc(x) is a power of two with a polynomial
/// exponent, and small.
Real doubles::emitErf(Real x) {
  Real a = atMost(x.absolute(), 6);
  Real nearZero = multiplyAdd(a, polynomial(erfDoubleTerms, a * a), a);
  Real power = polynomial(log2ErfcDoubleTerms, a);
  Rounded n = roundToInteger(power);
  Real fraction = expMinusOne({(power - n.value) * ln2Double, a.constant(0)}) + 1;
  Real elsewhere = a.constant(1) - fraction * powerOfTwo(n.number, a);
  return select(a < 1.0, nearZero, elsewhere).withSignOf(x);
}
