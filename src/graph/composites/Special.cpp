//===- Special.cpp - error, gamma and related functions -------------------===//
//
// All are computed in f64: by polynomials, by asymptotic series after a recurrence, or by iterations of Newton's or
// Halley's method. So the error of f32 results is hardly more than their last rounding, and that of f64 results is
// some units of 1e-15.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace perpend::graph {

static constexpr double infinity = INFINITY;

static Scalar sinPi(Scalar x) {
  Scalar rest = x - roundEven(x); // its sign does not matter to the callers
  return (rest * std::numbers::pi).call<math::SinOp>((rest * std::numbers::pi).value);
}

/// As a sine, which has all digits near its zeros.
static Scalar cosPi(Scalar x) {
  Scalar angle = (0.5 - abs(x - roundEven(x))) * std::numbers::pi;
  return angle.call<math::SinOp>(angle.value);
}

/// Of a tensor of floats, computed in f64.
static Value inDouble(Builder &b, StringRef name, Value x, llvm::function_ref<Scalar(Scalar)> formula) {
  if (!isFloat(x))
    return b.fail(name + ": expected floating-point numbers");
  Type type = elementTypeOf(x), wide = Float64Type::get(b.context());
  Value result = pointwise(b, b.cast(x, wide), [&](ArrayRef<Scalar> v) { return formula(v[0]); });
  return result ? b.cast(result, type) : result;
}

//===----------------------------------------------------------------------===//
// Error function
//===----------------------------------------------------------------------===//

/// erfcx(x) (x + 1/2), x >= 0, in powers of (x - 3) / (x + 3) (docs/derive_math_coefficients.py); relative error
/// 2^-54.5.
static constexpr double scaledComplementTerms[] = {
    0.6265040291348648,     -0.067810553062290599,   -0.023781147176724561,  0.064822579351381582,
    -0.05963683170769489,   0.034154013671946565,    -0.011885257458553993,  0.0012646959086853248,
    0.00094434517219472709, -0.00038991614156301936, -5.2579858060880743e-5, 6.2549704666533119e-5,
    2.4745920911380331e-6,  -1.005037951890443e-5,   -3.6539929703478618e-7, 1.7364215072975777e-6,
    1.7785706671697957e-7,  -3.0864858198546697e-7,  -7.0213863638359739e-8, 5.1260799273669116e-8,
    2.0515837361438217e-8,  -6.8723186358073055e-9,  -4.102643608774431e-9,  5.717691359971212e-10,
    4.1866199009567823e-10, -1.2604423279566171e-11};

/// erfcx(x) = e^(x^2) erfc(x), for x >= 0.
static Scalar scaledComplementRight(Scalar x) {
  Scalar t = 1.0 - 6.0 / (x + 3.0), sum = x.constant(0);
  for (double term : llvm::reverse(scaledComplementTerms))
    sum = sum * t + term;
  return sum / (x + 0.5);
}

/// e^(sign x^2). Rounding of x^2 would be an error of as many units as x^2 is large, so it is computed as the exact
/// square of a number with few digits and a rest.
static Scalar expOfSquare(Scalar x, double sign) {
  constexpr double mostAbs = 28, scale = 1 << 20; // e^(28^2) is infinite
  Scalar bounded = min(abs(x), mostAbs), head = roundEven(bounded * scale) / scale;
  return exp(sign * (head * head)) * exp(sign * ((bounded - head) * (bounded + head)));
}

static Scalar erfcOf(Scalar x) {
  Scalar far = expOfSquare(x, -1) * scaledComplementRight(max(x, 0.5));
  return select(x < 0.5, 1.0 - erf(x), far);
}

/// For x < 0: 2 e^(x^2) - erfcx(-x).
static Scalar scaledComplementOf(Scalar x) {
  Scalar right = scaledComplementRight(abs(x));
  return select(x < 0, 2.0 * expOfSquare(x, 1) - right, right);
}

/// Halley's method from a first guess; the tail uses erfc.
static Scalar inverseErf(Scalar y) {
  Scalar magnitude = abs(y), rest = (1.0 - magnitude) * (1.0 + magnitude);
  Scalar logarithm = log(max(rest, 1e-300)), half = 2 / (std::numbers::pi * 0.147) + 0.5 * logarithm;
  Scalar x = sqrt(max(sqrt(half * half - logarithm / 0.147) - half, 0));
  for (int step = 0; step < 3; ++step) {
    Scalar difference = select(x < 1, erf(x) - magnitude, (1.0 - magnitude) - erfcOf(x));
    Scalar newton = difference * exp(x * x) * (std::sqrt(std::numbers::pi) / 2);
    x = x - newton / (1.0 + x * newton);
  }
  x = select(magnitude < 1, x, select(equal(magnitude, 1), y.constant(infinity), y.constant(NAN)));
  return select(equal(y, 0), y, select(y < 0, -x, x));
}

/// erfinv(y) / y in w - 3.125, w = -log(1 - y^2) <= 6.25; relative error 2^-30.5.
static constexpr double inverseErfTerms[] = {1.653654562683103,       0.24015817844735221,    -0.0060336710322871339,
                                             -0.00074069103254431287, 0.00018673466051903018, -1.3892141245090783e-5,
                                             -1.3658217517610144e-6,  4.2698513873450296e-7,  -2.8958960166110204e-8,
                                             -4.752745594852228e-9,   1.0363882133168163e-9,  5.6882154930953748e-12,
                                             -1.257081365561559e-11};
/// erfinv(y) / y in sqrt(w) - 3.25, 6.25 <= w <= 16.7; relative error 2^-32.1.
static constexpr double inverseErfFarTerms[] = {3.0838856100681999,     1.0052589746353742,      0.0053709574782271558,
                                                -0.0037514219098664847, 0.0024907489657728151,   -0.001686357661996513,
                                                0.00095729674523207142, -0.00036250817191762612, 1.3920642843626704e-5,
                                                8.2388265172734002e-5,  -3.6467364225815349e-5};

static Scalar polynomial(ArrayRef<double> terms, Scalar x) {
  Scalar sum = x.constant(terms.back());
  for (double term : llvm::reverse(terms.drop_back()))
    sum = sum * x + term;
  return sum;
}

/// For results of f32 and less, of which none is nearer to 1 than 2^-24: by polynomials in log(1 - y^2).
static Scalar inverseErfSingle(Scalar y) {
  Scalar magnitude = abs(y), w = -log(max((1.0 - magnitude) * (1.0 + magnitude), 0x1p-24));
  Scalar x = y * select(w < 6.25, polynomial(inverseErfTerms, w - 3.125),
                        polynomial(inverseErfFarTerms, sqrt(max(w, 6.25)) - 3.25));
  return select(magnitude < 1, x, select(equal(magnitude, 1), y * y.constant(infinity), y.constant(NAN)));
}

/// t with erfc(t) = x, for 0 < x < 1/500, by Newton's method on log erfc, whose derivative is -2 F(t),
/// F(t) = 1 / (sqrt(pi) erfcx(t)).
static Scalar inverseErfcFar(Scalar x) {
  Scalar wanted = -log(x) - 0.5 * std::log(std::numbers::pi);
  Scalar t = sqrt(max(wanted - 0.5 * log(max(wanted, 1)), 4));
  for (int step = 0; step < 4; ++step) {
    Scalar fraction = 1.0 / (scaledComplementRight(t) * std::sqrt(std::numbers::pi));
    t = max(t + (wanted - t * t - log(fraction)) / (2.0 * fraction), 2);
  }
  return t;
}

/// Near 0 and 2, where 1 - x has lost its digits, computed from the tail.
static Scalar inverseErfc(Scalar x) {
  Scalar isRight = x < 1, rest = select(isRight, x, 2.0 - x);
  Scalar far = inverseErfcFar(max(rest, 5e-324)), isFar = (rest > 0) & (rest < 2e-3);
  Scalar y = select(isFar, select(isRight, far, -far), inverseErf(1.0 - x));
  return select((x < 0) | (x > 2), x.constant(NAN), y);
}

//===----------------------------------------------------------------------===//
// Gamma function
//===----------------------------------------------------------------------===//

/// B[2k] / (2k (2k - 1)), of Stirling's series for log gamma.
static constexpr double stirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                      1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
/// The series are exact from here on.
static constexpr int steps = 10;

/// Shifts x > 0 by recurrences to where the series hold.
struct Shifted {
  Scalar x, sum; ///< x + shift, and the sum of the inverses of x .. x + shift - 1
};

static Shifted shifted(Scalar x) {
  Scalar isSmall = x < steps, total = x.constant(0);
  for (int step = 0; step < steps; ++step)
    total = total + 1.0 / (x + step);
  return {select(isSmall, x + steps, x), select(isSmall, total, x.constant(0))};
}

/// Of log gamma(2 + z) / z: 1 - Euler's constant and (-1)^k (zeta(k) - 1) / k, k from 2 on.
static constexpr double logGammaTerms[] = {
    0.42278433509846713,     0.3224670334241132,     -0.0673523010531981,     0.020580808427784546,
    -0.007385551028673986,   0.0028905103307415234,  -0.001192753911703261,   0.0005096695247430425,
    -0.00022315475845357939, 9.945751278180853e-05,  -4.492623673813314e-05,  2.050721277567069e-05,
    -9.439488275268397e-06,  4.374866789907488e-06,  -2.039215753801366e-06,  9.55141213040742e-07,
    -4.492469198764566e-07,  2.1207184805554665e-07, -1.0043224823968099e-07, 4.7698101693639804e-08,
    -2.2711094608943164e-08, 1.0838659214896955e-08, -5.183475041970047e-09,  2.4836745438024785e-09,
    -1.1921401405860912e-09, 5.731367241678862e-10,  -2.7595228851242334e-10};

/// log gamma(x) for 1/2 < x < 5/2, about its zeros 1 and 2: gamma(2 + z) = (1 + z) gamma(1 + z).
static Scalar logGammaNear(Scalar x) {
  Scalar isLow = x < 1.5, z = select(isLow, x - 1.0, x - 2.0), series = x.constant(0);
  for (double coefficient : llvm::reverse(logGammaTerms))
    series = (series + coefficient) * z;
  return select(isLow, series - log1p(z), series);
}

/// log gamma(x) for 1/2 < x < 10: gamma(x) = (x - 1) ... (x - k) gamma(x - k), where no large numbers cancel.
static Scalar logGammaMiddle(Scalar x) {
  Scalar product = x.constant(1);
  for (int step = steps; step > 2; --step) {
    Scalar isLarge = x >= 2.5;
    x = select(isLarge, x - 1.0, x);
    product = select(isLarge, product * x, product);
  }
  return logGammaNear(x) + log(product);
}

/// log gamma(x) for x >= 1/2
static Scalar logGammaRight(Scalar x) {
  Scalar inverse = 1.0 / x, square = inverse * inverse, series = x.constant(0);
  for (double coefficient : llvm::reverse(stirling))
    series = series * square + coefficient;
  Scalar far = (x - 0.5) * log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + series * inverse;
  far = select(equal(x, infinity), x, far);
  return select(x < steps, logGammaMiddle(min(x, steps)), far);
}

/// digamma(x) for x > 0: the derivative of the series.
static Scalar digammaRight(Scalar x) {
  Shifted s = shifted(x);
  Scalar square = 1.0 / (s.x * s.x), series = x.constant(0);
  for (int k = std::size(stirling); k > 0; --k)
    series = (series + stirling[k - 1] * (2 * k - 1)) * square;
  return log(s.x) - 0.5 / s.x - series - s.sum;
}

static Scalar isPole(Scalar x) { return (x <= 0) & equal(x, roundEven(x)); }

/// By reflection for x < 1/2: log |gamma(x)| = log(pi / |sin(pi x)|) - log gamma(1 - x).
static Scalar logGammaOf(Scalar x) {
  Scalar isLeft = x < 0.5;
  Scalar right = logGammaRight(select(isLeft, 1.0 - x, x));
  Scalar result = select(isLeft, std::log(std::numbers::pi) - log(abs(sinPi(x))) - right, right);
  result = select(abs(x) < 1e-20, -log(abs(x)), result); // pi x may be too small for all its digits
  return select(isPole(x), x.constant(infinity), select(equal(abs(x), infinity), abs(x), result));
}

/// By reflection for x < 1/2: digamma(x) = digamma(1 - x) - pi / tan(pi x). -x^-1 infinite at 0, NaN at other poles.
static Scalar digammaOf(Scalar x) {
  Scalar isLeft = x < 0.5;
  Scalar right = digammaRight(select(isLeft, 1.0 - x, x));
  Scalar result = select(isLeft, right - std::numbers::pi * (cosPi(x) / sinPi(x)), right);
  return select(equal(x, 0), -1.0 / x, select(isPole(x), x.constant(NAN), result));
}

namespace composites {
Results erfc(Builder &b, Values in, const Attributes &) { return {inDouble(b, "erfc", in[0], erfcOf)}; }
Results erfcx(Builder &b, Values in, const Attributes &) { return {inDouble(b, "erfcx", in[0], scaledComplementOf)}; }
Results erfinv(Builder &b, Values in, const Attributes &) {
  const bool isDouble = in[0] && elementTypeOf(in[0]).isF64();
  return {inDouble(b, "erfinv", in[0], isDouble ? inverseErf : inverseErfSingle)};
}
Results erfcinv(Builder &b, Values in, const Attributes &) { return {inDouble(b, "erfcinv", in[0], inverseErfc)}; }
Results lgamma(Builder &b, Values in, const Attributes &) { return {inDouble(b, "lgamma", in[0], logGammaOf)}; }
Results digamma(Builder &b, Values in, const Attributes &) { return {inDouble(b, "digamma", in[0], digammaOf)}; }

/// Euclid's algorithm on all elements at once, until every remainder is 0. The result is not negative.
Results gcd(Builder &b, Values in, const Attributes &) {
  Value x = applyComposite(b, "abs", in[0])[0], y = applyComposite(b, "abs", in[1])[0];
  if (!x || !y)
    return {};
  if (isFloat(x) || elementTypeOf(x) != elementTypeOf(y))
    return {b.fail("gcd: expected integers of one type")};
  Value zero = b.scalar(0, elementTypeOf(x));
  x = add(b, x, mul(b, y, zero)); // of the broadcast shape
  y = b.broadcastTo(y, shapeOf(x));
  auto goesOn = [&](Value rest) {
    Value isLeft = b.cast(applyComposite(b, "not_equal", {rest, zero})[0], b.i64());
    Value count = sum(b, isLeft, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(rest))), /*keepDims=*/false);
    return applyComposite(b, "greater", {count, b.scalar(0, b.i64())})[0];
  };
  SmallVector<Value> results = b.loop({{}, goesOn(y)}, {x, y}, [&](Value, ValueRange pair) {
    Value divisor = where(b, applyComposite(b, "equal", {pair[1], zero})[0], pair[0], pair[1]);
    Value rest = pointwise(b, {pair[0], pair[1]}, [](ArrayRef<Scalar> v) {
      return select(equal(v[1], 0), v[1], v[0] % select(equal(v[1], 0), v[1].integer(1), v[1]));
    });
    return Iteration{goesOn(rest), {divisor, rest}, {}};
  });
  return {results.empty() ? Value() : results[0]};
}

/// The input, a tensor of booleans.
Results require_all(Builder &b, Values in, const Attributes &a) {
  requireAll(b, in[0], a.getString("message"));
  return {b.hasFailed() ? Value() : in[0]};
}
} // namespace composites
} // namespace perpend::graph
