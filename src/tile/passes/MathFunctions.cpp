//===- MathFunctions.cpp - elementary functions as arithmetic -------------===//
//
// Elementary functions of f32 (of f64: DoubleFunctions.cpp). The common pattern: reduce the argument to a short
// interval, evaluate a polynomial there, undo the reduction. Where digits cancel only near 0 (tanh, sinh, erf),
// another polynomial is used there. Functions that need more precision than f32 has (pow, log1p, log2,
// log10, inverse hyperbolic functions, the argument of sin, cos and tan) compute it in f64 ("wide") and round once.
//
// docs/derive_math_coefficients.py computes the coefficients of the polynomials.
//
//===----------------------------------------------------------------------===//

#include "tile/passes/MathFunctions.h"

#include "tile/passes/ArgumentReduction.h"
#include "tile/passes/FarFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace perpend::tile;

func::FuncOp perpend::tile::numberFunction(ModuleOp module, StringRef name, TypeRange operands, Type result,
                                           llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> emit) {
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  ImplicitLocOpBuilder builder(module.getLoc(), OpBuilder::atBlockEnd(module.getBody()));
  auto function = builder.create<func::FuncOp>(name, builder.getFunctionType(operands, result));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  builder.create<func::ReturnOp>(emit(builder, function.getArguments()));
  return function;
}

namespace {

/// (exp(r) - 1 - r) / r^2, |r| <= ln(2) / 2; relative error 2^-22.9.
constexpr double expTerms[] = {0.5, 0.166665763, 0.0416665524, 0.00836323295, 0.00139262504};
/// (2^r - 1) / r, |r| <= 1/2; relative error 2^-25.5.
constexpr double exp2Terms[] = {0.693147182, 0.240226507, 0.0555035695, 0.00961808302, 0.00133908633, 0.000154531634};
/// (2^r - 1) / r, |r| <= 1/2, for f64; relative error 2^-37.5.
constexpr double exp2WideTerms[] = {0.69314718055683244,   0.24022650695888503,   0.055504109063258665,
                                    0.0096181291352361396, 0.0013333478473685416, 0.00015403475186530786,
                                    1.5303700711365693e-5, 1.325080551750225e-6};
/// (log(1 + f) - f + f^2/2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2); relative error 2^-23.7.
constexpr double logTerms[] = {0.333333313,  -0.24999997, 0.200007156,  -0.166678026, 0.142490581,
                               -0.124256872, 0.116854198, -0.114797339, 0.0697161183};
/// log2((1 + s) / (1 - s)) / s in s^2, for f64, (1 + s) / (1 - s) as 1 + f above; relative error 2^-45.1.
constexpr double log2WideTerms[] = {2.8853900817778508,  0.96179669411226487, 0.57707794266030443,
                                    0.41220922406110605, 0.3199068038069548,  0.28288502340820643};
/// (tanh(x) - x) / x^3 in x^2, |x| <= 0.625; relative error 2^-24.6.
constexpr double tanhTerms[] = {-0.333333343, 0.133333042, -0.0539592579, 0.0217689183, -0.00834394526, 0.00229274482};
/// erf(x) / x - 1 in x^2, |x| <= 0.5; relative error 2^-23.2.
constexpr double erfTerms[] = {0.128379166, -0.376126081, 0.112828314, -0.026757732, 0.00471908273};
/// log2(erfc(x)) / x, 0 <= x <= 4; error of erfc(x) 2^-25.7.
constexpr double log2ErfcTerms[] = {-1.62790859,     -0.9184165,   -0.148481235,  0.0282528754,
                                    -0.000773730571, -0.001489977, 0.00044566681, -4.53769862e-5};
/// (sin(r) - r) / r^3 in r^2, |r| <= pi / 4; relative error 2^-25.0.
constexpr double sinTerms[] = {-0.166666672, 0.00833333191, -0.000198400841, 2.72496209e-6};
/// (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi / 4; relative error 2^-25.0.
constexpr double cosTerms[] = {0.0416666679, -0.00138888881, 2.48005981e-5, -2.73007032e-7};
/// (asin(x) - x) / x^3 in x^2, |x| <= 0.5; relative error 2^-24.0.
constexpr double asinTerms[] = {0.166666657, 0.0750009418, 0.0445994027, 0.0311006624, 0.0171492379, 0.0336908475};
/// (sinh(x) - x) / x^3 in x^2, |x| <= 1; relative error 2^-24.9.
constexpr double sinhTerms[] = {0.166666672, 0.00833333936, 0.000198381022, 2.80628024e-6};
/// (atan(t) - t) / t^3 in t^2, |t| <= 1; relative error 2^-24.1.
constexpr double atanTerms[] = {-0.333333343, 0.199999496,   -0.142840043, 0.110882618,    -0.089318268,
                                0.0703191459, -0.0489605144, 0.0263050012, -0.00914462935, 0.00148869189};
/// ln(2) as a sum; the first part times an exponent is exact.
constexpr double ln2Parts[] = {0.693115234375, 3.1946184945309415e-5};
/// pi / 2 as a sum; the first two parts times integers below 2^28 are exact.
constexpr double halfPiParts[] = {1.5707963109016418, 1.5893254712295857e-8, 6.123233995736766e-17};

/// pi / 2 as a sum of numbers of f32.
constexpr double halfPiSingleParts[] = {1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15};
/// 1 / ln(2) and 1 / ln(10), each as a sum of its f32 and what that lacks.
constexpr double log2eParts[] = {1.4426950216293335, 1.925963033500011e-8};
constexpr double log10eParts[] = {0.4342944920063019, -1.0103049952192578e-8};
/// log10(2); the first part times an exponent is exact.
constexpr double log10Of2Parts[] = {0.301025390625, 4.605039066518657e-6};

constexpr double smallestNormal = 0x1p-126;
/// Squares of numbers up to this one are finite, and 1 is nothing beside them.
constexpr double mostSquared = 0x1p40;

/// The same with the bias once: the low bits are a biased exponent.
double exponentOffset(Real x) { return integerOffset(x) - exponentBias(x); }

/// In one step, if there is an instruction.
Real scale(Real x, Rounded n) {
  mlir::func::FuncOp function = x.width() == 32 && x.emitter->scaling ? x.emitter->scaling(x.type()) : nullptr;
  if (!function)
    return scaleInSteps(x, n.number);
  auto call = x.emitter->builder.create<mlir::func::CallOp>(function, mlir::ValueRange{x.value, n.value.value});
  return {x.emitter, call.getResult(0)};
}

llvm::SmallVector<double> scaled(llvm::ArrayRef<double> terms, double factor) {
  return llvm::map_to_vector(terms, [&](double term) { return term * factor; });
}

/// exp(x) = 2^power * exp(rest), |x| < 104
struct ReducedExp {
  Real rest;
  Rounded power;

  Real minusOne() const { return multiplyAdd(rest * rest, polynomial(expTerms, rest), rest); }
  /// exp(rest) * factor, by its coefficients.
  Real exp(double factor = 1) const {
    Real slope = multiplyAdd(polynomial(scaled(expTerms, factor), rest), rest, rest.constant(factor));
    return multiplyAdd(slope, rest, rest.constant(factor));
  }
};

ReducedExp reduceExp(Real x) {
  Rounded n = roundToInteger(x, std::numbers::log2e);
  Real r = multiplyAdd(n.value, x.constant(-ln2Parts[0]), x);
  r = multiplyAdd(n.value, x.constant(-ln2Parts[1]), r);
  return {r, n};
}

/// exp(x) where neither x nor the result is extreme, |x| < 87.
Real expModerate(Real x) {
  ReducedExp reduced = reduceExp(x);
  return reduced.exp() * powerOfTwo(reduced.power.number, x);
}

/// 1 + exp(x), -87 < x <= 89. Uses half of the power of two, which alone may just overflow.
Real onePlusExp(Real x) {
  ReducedExp reduced = reduceExp(x);
  return multiplyAdd(reduced.exp(2), powerOfTwo(reduced.power.number - 1, x), x.constant(1));
}

/// 1 - erfc(x * factor), 0 <= x * factor <= 4, with an absolute error. erfc is computed as a power of two with a
/// polynomial exponent.
Real oneMinusErfc(Real x, double factor) {
  llvm::SmallVector<double> terms;
  double power = 1;
  for (double term : log2ErfcTerms)
    terms.push_back(term * (power *= factor));
  Real slope = polynomial(terms, x);
  Real shifted = multiplyAdd(slope, x, x.constant(exponentOffset(x)));
  Real rest = multiplyAdd(slope, x, -(shifted - exponentOffset(x)));
  Real fraction = multiplyAdd(rest, polynomial(exp2Terms, rest), x.constant(1));
  return multiplyAdd(-fraction, x.fromBits(shifted.bits() << mantissaBits(x)), x.constant(1));
}

/// log2(x) of a positive f64 x; `minusOne` is x - 1, possibly more accurate than x.
Real log2Wide(Real x, Real minusOne) {
  Decomposed parts = decompose(x);
  Real f = select(parts.exponent == 0.0, minusOne, parts.mantissa - 1);
  Real s = f / (f + 2);
  return multiplyAdd(s, polynomial(log2WideTerms, s * s), parts.exponent);
}

/// 2^x of an f64 x, for results in the range of f32.
Real exp2Wide(Real x) {
  x = clamp(x, -200, 200);
  Rounded n = roundToInteger(x);
  Real r = x - n.value;
  return multiplyAdd(r, polynomial(exp2WideTerms, r), x.constant(1)) * powerOfTwo(n.number, x);
}

/// x = 2^exponent (1 + minusOne)
struct Split {
  Real exponent, minusOne;
};

Split splitNormal(Real x) {
  Decomposed parts = decompose(x);
  return {parts.exponent, parts.mantissa - 1};
}
Split split(Real x) {
  Condition isTiny = x < smallestNormal;
  Split parts = splitNormal(select(isTiny, x * 0x1p23, x));
  return {select(isTiny, parts.exponent - 23, parts.exponent), parts.minusOne};
}

/// A logarithm by that of the parts of a positive finite number; in vectors, what zeros, numbers below the normal ones,
/// negative numbers and such without value need is skipped.
Real logarithmBy(Real x, llvm::function_ref<Real(Split)> logarithm) {
  const int64_t normal = bitsOf(x, smallestNormal);
  Condition isUnusual = (x.bits() - normal).isAtLeast(bitsOf(x, infinity) - normal);
  return unlessUnusual(
      isUnusual, x, [&](Real x) { return logarithm(splitNormal(x)); },
      [&](Real x) { return withLogarithmSpecials(x, 0, logarithm(split(x))); });
}

/// log(1 + f) - f = f^3 * polynomial(f) - f^2/2, with another term that is small.
Real logarithmTail(Real f, Real other) {
  Real square = f * f;
  Real low = multiplyAdd(square * f, polynomial(logTerms, f), other);
  return multiplyAdd(square, f.constant(-0.5), low);
}

/// exponent * scale(2) + log(1 + f) * factor, with what rounding takes from the sums.
Real scaledLogarithm(Split x, llvm::ArrayRef<double> factor, llvm::ArrayRef<double> ofTwo) {
  Real f = x.minusOne, low = logarithmTail(f, f.constant(0));
  Real sum = f + low, rest = low - (sum - f);
  Real small = multiplyAdd(sum, f.constant(factor[1]), rest * factor[0]);
  Real result = multiplyAdd(sum, f.constant(factor[0]), small);
  if (ofTwo.size() > 1)
    result = multiplyAdd(x.exponent, f.constant(ofTwo[1]), result);
  return multiplyAdd(x.exponent, f.constant(ofTwo[0]), result);
}

/// Sine and cosine of what x has beyond a number of quarter turns, |rest| <= pi / 4; of an x that is not far.
struct Turned {
  Real sine, cosine;
  Integer quarterTurns;
};

/// Of r, the rest.
Turned turned(Real r, Integer quarterTurns) {
  Real z = r * r;
  Real sine = select(r == 0.0, r, multiplyAdd(r * z, polynomial(sinTerms, z), r));
  Real half = z * 0.5, one = z.constant(1), head = one - half; // the tail has what it rounds off
  Real cosine = head + multiplyAdd(z * z, polynomial(cosTerms, z), (one - head) - half);
  return {sine, cosine, quarterTurns};
}

Turned turn(Real x) {
  Real wide = x.widen();
  Rounded n = roundToInteger(wide * (2 * std::numbers::inv_pi));
  for (double part : halfPiParts)
    wide = multiplyAdd(n.value, wide.constant(-part), wide);
  return turned(wide.narrow(), n.number.narrow());
}

/// Of close numbers: the first fused product leaves an exact difference, since both have whole multiples of 2^-23.
Turned turnClose(Real x) {
  Rounded n = roundToInteger(x, 2 * std::numbers::inv_pi);
  for (double part : halfPiSingleParts)
    x = multiplyAdd(n.value, x.constant(-part), x);
  return turned(x, n.number);
}

/// sin of the turned number + quarterTurns * pi/2.
Real sineOfSum(const Turned &turned, int64_t quarterTurns) {
  Integer quadrant = turned.quarterTurns + quarterTurns;
  Real magnitude = select((quadrant & 1) == 0, turned.sine, turned.cosine);
  return magnitude.fromBits(magnitude.bits() ^ ((quadrant & 2) << 30));
}

/// exp(x) / 2 of x >= 0, which does not overflow before the hyperbolic functions do.
Real halfExp(Real x) {
  ReducedExp reduced = reduceExp(atMost(x, 90));
  return scale(reduced.exp(0.5), reduced.power);
}

/// asin(x) of 0 <= x <= 0.5.
Real asinNearZero(Real x) {
  Real z = x * x;
  return multiplyAdd(x * z, polynomial(asinTerms, z), x);
}

/// Of |x|, which is a, beyond 0.5: asin(sqrt((1 - a) / 2)), half of the angle that is left to pi / 2. NaN beyond 1.
Real halfRest(Real a) { return asinNearZero(((a.constant(1) - a) * 0.5).squareRoot()); }

/// log(1 + x) in the type of x: the logarithm of the rounded sum, and what rounding took from that.
Real log1pInType(Real x) {
  Real sum = x + 1, lost = (x - (sum - 1)) / sum;
  Real logarithm = x.emitter->keepsLogarithm ? Real{x.emitter, x.create<mlir::math::LogOp>(sum.value)} : emitLog(sum);
  return select(x == 0.0, x, withLogarithmSpecials(x, -1, logarithm + lost));
}

/// log(1 + y), and log(2 y) of large y, which squares of f32 do not hold.
Real log1pOrDoubled(Real y, Condition isLarge) {
  return log1pInType(y) + select(isLarge, y.constant(std::numbers::ln2), y.constant(0));
}

/// log(1 + y) of an f64 y >= 0.
Real log1pWide(Real y) { return log2Wide(y + 1, y) * std::numbers::ln2; }

/// atan(t), or what pi / 2 has beyond it; 0 <= t <= 1.
Real angleOf(Real t, Condition isSteep) {
  Real z = t * t;
  Real angle = multiplyAdd(t * z, polynomial(atanTerms, z), t);
  return select(isSteep, t.constant(std::numbers::pi / 2) - angle, angle);
}

} // namespace

Real perpend::tile::unlessUnusual(Condition isUnusual, Real x, llvm::function_ref<Real(Real)> usual,
                                  llvm::function_ref<Real(Real)> general) {
  if (!isa<VectorType>(x.type()))
    return general(x);
  ImplicitLocOpBuilder &builder = x.emitter->builder;
  Value isAny = builder.create<vector::ReductionOp>(vector::CombiningKind::OR, isUnusual.value);
  auto choice = builder.create<scf::IfOp>(x.type(), isAny, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(choice.thenBlock());
  builder.create<scf::YieldOp>(general(x).value);
  builder.setInsertionPointToStart(choice.elseBlock());
  builder.create<scf::YieldOp>(usual(x).value);
  builder.setInsertionPointAfter(choice);
  return {x.emitter, choice.getResult(0)};
}

Real perpend::tile::emitScale(Real x, Real n) { // in f64, where the product with any of these powers is exact
  Real wide = x.widen();
  return (wide * powerOfTwo(roundToInteger(n.widen()).number, wide)).narrow();
}

Real perpend::tile::emitExp(Real x) {
  return aboveZero(x, -104, [](Real x) {
    ReducedExp reduced = reduceExp(atMost(x, 89));
    return scale(reduced.exp(), reduced.power);
  });
}

Real perpend::tile::emitExp2(Real x) {
  return aboveZero(x, -151, [](Real x) {
    x = atMost(x, 129);
    Rounded n = roundToInteger(x);
    Real r = x - n.value;
    return scale(multiplyAdd(r, polynomial(exp2Terms, r), x.constant(1)), n);
  });
}

/// Scales half of the result first, since 2^number may just overflow.
Real perpend::tile::emitExpM1(Real x) {
  ReducedExp reduced = reduceExp(clamp(x, -30, 89));
  Real half = powerOfTwo(reduced.power.number - 1, x);
  Real result = multiplyAdd(half, reduced.minusOne(), half - 0.5) * 2;
  return select(x.absolute() < 0x1p-25, x, result);
}

Real perpend::tile::emitLog(Real x) {
  return logarithmBy(x, [&](Split parts) {
    Real low = logarithmTail(parts.minusOne, parts.exponent * ln2Parts[1]);
    return multiplyAdd(parts.exponent, x.constant(ln2Parts[0]), parts.minusOne + low);
  });
}

Real perpend::tile::emitLog2(Real x) {
  return logarithmBy(x, [](Split parts) { return scaledLogarithm(parts, log2eParts, {1.0}); });
}
Real perpend::tile::emitLog10(Real x) {
  return logarithmBy(x, [](Split parts) { return scaledLogarithm(parts, log10eParts, log10Of2Parts); });
}

Real perpend::tile::emitLog1p(Real x) {
  if (!x.emitter->hasF64)
    return log1pInType(x);
  Real wide = x.widen();
  Real result = (log2Wide(wide + 1, wide) * std::numbers::ln2).narrow();
  return select(x == 0.0, x, withLogarithmSpecials(x, -1, result));
}

/// tanh(x) = 1 - 2 / (exp(2x) + 1), and a polynomial near 0 where that cancels.
Real perpend::tile::emitTanh(Real x) {
  Real a = clamp(x.absolute(), 0, 9.1);
  Real z = a * a;
  Real nearZero = multiplyAdd(a * z, polynomial(tanhTerms, z), a);
  Real elsewhere = x.constant(1) - x.constant(2) / (expModerate(a * 2) + 1);
  return select(a < 0.625, nearZero, elsewhere).withSignOf(x);
}

/// Near 0 a polynomial of erf itself, because 1 - erfc would cancel.
Real perpend::tile::emitErf(Real x) {
  Real a = clamp(x.absolute(), 0, 4);
  Real nearZero = multiplyAdd(a, polynomial(erfTerms, a * a), a);
  return select(a < 0.5, nearZero, oneMinusErfc(a, 1)).withSignOf(x);
}

Real perpend::tile::emitOnePlusErf(Real x, double factor) {
  Real a = clamp(x.absolute(), 0, 4 / factor);
  return oneMinusErfc(a, factor).withSignOf(x) + 1;
}

/// 1 + tanh(x) = 2 - 2 / (1 + exp(2x))
Real perpend::tile::emitOnePlusTanh(Real x, double factor) {
  Real doubled = clamp(x, -10 / factor, 10 / factor) * (2 * factor);
  return x.constant(2) - x.constant(2) / onePlusExp(doubled);
}

Real perpend::tile::emitOnePlusExp(Real x) { return onePlusExp(clamp(x, -20, 89)); }

/// With the sign of zero.
Real perpend::tile::emitSin(Real x) { return select(x == 0.0, x, sineOfSum(turn(x), 0)); }
Real perpend::tile::emitCos(Real x) { return sineOfSum(turn(x), 1); }
Real perpend::tile::emitSinClose(Real x) { return select(x == 0.0, x, sineOfSum(turnClose(x), 0)); }
Real perpend::tile::emitCosClose(Real x) { return sineOfSum(turnClose(x), 1); }

/// The quarter turns exchange sine and cosine.
Real perpend::tile::emitTan(Real x) {
  Turned turned = turn(x);
  Condition isEven = (turned.quarterTurns & 1) == 0;
  Real quotient = select(isEven, turned.sine, turned.cosine) / select(isEven, turned.cosine, turned.sine);
  return select(isEven, quotient, -quotient);
}

/// Near 0 a polynomial, because the exponentials would cancel.
Real perpend::tile::emitSinh(Real x) {
  Real a = x.absolute(), z = a * a, half = halfExp(a);
  Real nearZero = multiplyAdd(a * z, polynomial(sinhTerms, z), a);
  return select(a < 1.0, nearZero, half - x.constant(0.25) / half).withSignOf(x);
}

Real perpend::tile::emitCosh(Real x) {
  Real half = halfExp(x.absolute());
  return half + x.constant(0.25) / half;
}

Real perpend::tile::emitAsin(Real x) {
  Real a = x.absolute();
  Real beyond = multiplyAdd(halfRest(a), a.constant(-2), a.constant(std::numbers::pi / 2));
  return select(a < 0.5, asinNearZero(a), beyond).withSignOf(x);
}

/// pi / 2 - asin(x) near 0; elsewhere twice the half of the angle, or what pi has beyond that.
Real perpend::tile::emitAcos(Real x) {
  Real a = x.absolute(), rest = halfRest(a) * 2;
  Real nearZero = x.constant(std::numbers::pi / 2) - asinNearZero(a).withSignOf(x);
  Real beyond = select(x < 0.0, x.constant(std::numbers::pi) - rest, rest);
  return select(a < 0.5, nearZero, beyond);
}

/// asinh(x) = log(1 + x + x^2 / (1 + sqrt(1 + x^2)))
Real perpend::tile::emitAsinh(Real x) {
  if (!x.emitter->hasF64) {
    Real a = x.absolute(), z = a * a;
    Condition isLarge = a > mostSquared;
    return log1pOrDoubled(select(isLarge, a, a + z / ((z + 1).squareRoot() + 1)), isLarge).withSignOf(x);
  }
  Real a = x.absolute().widen(), z = a * a;
  Real result = log1pWide(a + z / ((z + 1).squareRoot() + 1)).narrow();
  return select((x.absolute() < infinity) & !(x == 0.0), result, x).withSignOf(x);
}

/// acosh(x) = log(1 + (x - 1) + sqrt((x - 1) (x + 1)))
Real perpend::tile::emitAcosh(Real x) {
  if (!x.emitter->hasF64) {
    Real y = x - 1;
    Condition isLarge = x > mostSquared;
    Real result = log1pOrDoubled(select(isLarge, x, y + (y * (x + 1)).squareRoot()), isLarge);
    return select(x < 1.0, x.constant(notANumber), result);
  }
  Real wide = x.widen(), y = wide - 1;
  Real result = log1pWide(y + (y * (wide + 1)).squareRoot()).narrow();
  return select(x < 1.0, x.constant(notANumber), select(x < infinity, result, x));
}

/// atanh(x) = log(1 + 2 x / (1 - x)) / 2
Real perpend::tile::emitAtanh(Real x) {
  if (!x.emitter->hasF64) {
    Real a = x.absolute();
    return (log1pInType(a * 2 / (a.constant(1) - a)) * 0.5).withSignOf(x);
  }
  Real single = x.absolute(), a = single.widen();
  Real result = (log1pWide(a * 2 / (a.constant(1) - a)) * 0.5).narrow();
  result = select(single < 1.0, result, select(single == 1.0, x.constant(infinity), x.constant(notANumber)));
  return select(x == 0.0, x, result).withSignOf(x);
}

Condition perpend::tile::isNotClose(Real x) {
  return x.absolute().compare(mlir::arith::CmpFPredicate::UGE, x.constant(0x1p17));
}

Condition perpend::tile::isFar(Real x) {
  Real limit = x.constant(x.width() == 64 ? leastFarDouble : leastFar);
  return x.absolute().compare(mlir::arith::CmpFPredicate::OGE, limit);
}

Condition perpend::tile::isLargeQuotient(Real x, Real y) {
  Real limit = y.absolute() * (x.width() == 64 ? leastQuotientDouble : leastQuotient);
  return x.absolute().compare(mlir::arith::CmpFPredicate::UGE, limit);
}

/// |x| - q |y|, where q is the integer part of |x / y|. Numbers of f32 are computed in f64: there q y is exact, and the
/// quotient is at least 2^-24 from an integer that it does not reach, which rounding keeps. In f64 the subtraction is
/// fused, and a quotient that was rounded up to an integer gives the remainder minus |y|.
Real perpend::tile::emitRemainder(Real x, Real y) {
  const bool isWide = x.width() == 64;
  Real a = x.absolute(), b = y.absolute();
  Real dividend = isWide ? a : a.widen(), divisor = isWide ? b : b.widen();
  Real quotient = (dividend / divisor).integerPart();
  Real rest = multiplyAdd(-quotient, divisor, dividend);
  if (isWide)
    rest = select(rest < 0.0, rest + divisor, rest);
  return select(a < b, a, isWide ? rest : rest.narrow()).withSignOf(x);
}

Real perpend::tile::emitAtan(Real x) {
  Real a = x.absolute();
  Condition isSteep = a > 1;
  return angleOf(select(isSteep, a.constant(1) / a, a), isSteep).withSignOf(x);
}

/// Of the smaller of |x| and |y| over the larger one, which is 1 of infinities, too, and 0 of zeros.
Real perpend::tile::emitAtan2(Real y, Real x) {
  Real a = y.absolute(), b = x.absolute();
  Condition isSteep = b < a;
  Real quotient = select(isSteep, b, a) / select(isSteep, a, b);
  quotient = select(a == b, select(a == 0.0, a, a.constant(1)), quotient);
  Real angle = angleOf(quotient, isSteep);
  Condition isRight = x.bits().shiftRightUnsigned(31) == 0;
  return select(isRight, angle, x.constant(std::numbers::pi) - angle).withSignOf(y);
}

Real perpend::tile::emitRsqrt(Real x) { return x.constant(1) / x.squareRoot(); }

/// |x|^y = 2^(y * log2|x|).
Real perpend::tile::emitPow(Real x, Real y) {
  Real base = x.absolute().widen();
  Real logarithm = log2Wide(base, base - 1);
  logarithm = select(base == 0.0, base.constant(-infinity), select(base < infinity, logarithm, base));
  return withPowerSpecials(x, y, exp2Wide(y.widen() * logarithm).narrow());
}
