//===- Special.cpp - error, gamma and related functions -------------------===//
//
// By polynomials, by asymptotic series after a recurrence, or by iterations of Newton's method. Error functions of f32
// and less are computed in f32, and err by some units in the last place; all others in f64, so that the error of f32
// results is hardly more than their last rounding, and that of f64 results is some units of 1e-15.
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

/// Of a tensor of floats, computed in this type.
static Value computedIn(Builder &b, StringRef name, Value x, Type compute, llvm::function_ref<Scalar(Scalar)> formula) {
  if (!isFloat(x))
    return b.fail(name + ": expected floating-point numbers");
  Value result = pointwise(b, b.cast(x, compute), [&](ArrayRef<Scalar> v) { return formula(v[0]); });
  return result ? b.cast(result, elementTypeOf(x)) : result;
}

static Value inDouble(Builder &b, StringRef name, Value x, llvm::function_ref<Scalar(Scalar)> formula) {
  return computedIn(b, name, x, Float64Type::get(b.context()), formula);
}

static bool isDouble(Value x) { return x && elementTypeOf(x).isF64(); }

/// f64 in f64, others in f32.
static Value inOwnType(Builder &b, StringRef name, Value x, llvm::function_ref<Scalar(Scalar)> single,
                       llvm::function_ref<Scalar(Scalar)> wide) {
  return isDouble(x) ? inDouble(b, name, x, wide) : computedIn(b, name, x, b.f32(), single);
}

/// a b + c, rounded once on machines that fuse them.
static Scalar multiplyAdd(Scalar a, Scalar b, Scalar c) { return a.call<math::FmaOp>(a.value, b.value, c.value); }

/// Terms start with the lowest power. Long polynomials are split at powers x^(2^k) (Estrin's scheme): chains of
/// dependent operations stay short. `powers` caches these.
static Scalar polynomial(ArrayRef<double> terms, SmallVectorImpl<Scalar> &powers) {
  constexpr size_t mostInChain = 5;
  Scalar x = powers.front();
  if (terms.size() <= mostInChain) {
    Scalar sum = x.constant(terms.back());
    for (double term : llvm::reverse(terms.drop_back()))
      sum = multiplyAdd(sum, x, x.constant(term));
    return sum;
  }
  size_t level = llvm::Log2_64_Ceil(terms.size()) - 1, split = size_t(1) << level;
  while (powers.size() <= level)
    powers.push_back(powers.back() * powers.back());
  Scalar low = polynomial(terms.take_front(split), powers);
  return multiplyAdd(polynomial(terms.drop_front(split), powers), powers[level], low);
}
static Scalar polynomial(ArrayRef<double> terms, Scalar x) {
  SmallVector<Scalar> powers{x};
  return polynomial(terms, powers);
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
  return polynomial(scaledComplementTerms, 1.0 - 6.0 / (x + 3.0)) / (x + 0.5);
}

/// e^(sign x^2). Rounding of x^2 would be an error of as many units as x^2 is large, so it is computed as the exact
/// square of a number with few digits and a rest.
static Scalar expOfSquare(Scalar x, double sign) {
  constexpr double mostAbs = 28, scale = 1 << 20; // e^(28^2) is infinite
  Scalar bounded = min(abs(x), mostAbs), head = roundEven(bounded * scale) / scale;
  return exp(sign * (head * head)) * exp(sign * ((bounded - head) * (bounded + head)));
}

/// erf(x) / x in x^2, |x| <= 1/2; relative error 2^-55.4.
static constexpr double erfNearTerms[] = {1.1283791670955126,    -0.37612638903183476,   0.11283791670925353,
                                          -0.026866170632887928, 0.0052239773730214699,  -0.00085482977536749665,
                                          0.0001205333512435371, -1.4845849259707166e-5, 1.4725865480550127e-6};
/// erf(x) / x in x^2, |x| <= 1/2; relative error 2^-24.1.
static constexpr double erfNearSingleTerms[] = {1.12837911, -0.376126081, 0.112828314, -0.026757732, 0.00471908273};
/// erfcx(x) (x + c), 1/2 <= x <= 28, in powers of (x - c) / (x + c); relative error 2^-53.0.
static constexpr double erfcTerms[] = {
    1.0919229095627889,     -0.95874157665290949,   0.73631892522175879,     -0.49047029120769081,
    0.27906204903337911,    -0.13195540117782392,   0.04911877862422101,     -0.012535880056735043,
    0.00098633797910603204, 0.00079482327486952639, -0.00034864620559567642, 1.0592864106338379e-5,
    3.7469164228625914e-5,  -8.8995349690610399e-6, -3.283234963839732e-6,   1.6453226189314832e-6,
    2.7057867849802949e-7,  -2.4776909826913472e-7, -1.8988072941203143e-8,  2.678623344920029e-8};
/// erfcx(x) (x + c), 1/2 <= x <= 10.2, in powers of (x - c) / (x + c); relative error 2^-25.1.
static constexpr double erfcSingleTerms[] = {1.09192288,     -0.958741546,   0.736318946,    -0.490470558,
                                             0.279061556,    -0.131951302,   0.0491252877,   -0.0125594288,
                                             0.000947757275, 0.000842685869, -0.000259154564};
static constexpr double erfcCentre = 3.75; // c

/// erfc(x) is 1 - erf(x) near 0; elsewhere erfcx(|x|) e^(-x^2), and 2 less that. e^(-x^2) is 0 from `most` on; it is
/// the exponential of a head's square, which is exact since the head has few digits, times that of a small rest.
static Scalar erfcBy(Scalar x, ArrayRef<double> erfTerms, ArrayRef<double> scaledTerms, double most, double scale) {
  Scalar a = min(abs(x), most), inverse = 1.0 / (a + erfcCentre);
  Scalar scaled = polynomial(scaledTerms, (a - erfcCentre) * inverse) * inverse;
  Scalar head = roundEven(a * scale) / scale, rest = (head - a) * (a + head);
  Scalar product = scaled * exp(-(head * head));
  Scalar far = multiplyAdd(product * rest, polynomial({1.0, 0.5, 1.0 / 6, 1.0 / 24}, rest), product);
  Scalar near = multiplyAdd(-x, polynomial(erfTerms, x * x), x.constant(1));
  return select(abs(x) < 0.5, near, select(x < 0, 2.0 - far, far));
}
static Scalar erfcOf(Scalar x) { return erfcBy(x, erfNearTerms, erfcTerms, 28, 1 << 20); }
static Scalar erfcSingle(Scalar x) { return erfcBy(x, erfNearSingleTerms, erfcSingleTerms, 10.2, 1 << 8); }

/// For x < 0: 2 e^(x^2) - erfcx(-x).
static Scalar scaledComplementOf(Scalar x) {
  Scalar right = scaledComplementRight(abs(x));
  return select(x < 0, 2.0 * expOfSquare(x, 1) - right, right);
}

/// erfinv(y) / y in w - 3.125, w = -log(1 - y^2) <= 6.25; relative error 2^-54.0.
static constexpr double inverseErfTerms[] = {
    1.6536545626831027,      0.24015818242558831,     -0.0060336708714278497,  -0.00074070253415447704,
    0.00018673420802464837,  -1.3882523394405314e-5,  -1.3654691850603556e-6,  4.2347881737823057e-7,
    -2.9070382262928921e-8,  -4.112660820020831e-9,   1.0512181539812485e-9,   -5.4142871981894726e-11,
    -1.2976885526794566e-11, 2.6304834743480523e-12,  -8.118399437794475e-14,  -4.0012377404187633e-14,
    6.5964077056150234e-15,  -4.0282148001485324e-17, -1.3016927962442496e-16, 1.5574319775137434e-17,
    1.1500222275841851e-18,  -3.49960423575981e-19,   -1.1134832945205977e-21, 3.2407040916879086e-21};
/// erfinv(y) / y in sqrt(w) - 3.25, 6.25 <= w <= 16.0; relative error 2^-52.4.
static constexpr double inverseErfFarTerms[] = {
    3.0838856104922208,     1.0052589676941592,     0.0053709145535581985,  -0.0037512085075638536,
    0.0024914420976198813,  -0.0016882755561681802, 0.00095328935211181774, -0.00035503751863069763,
    2.4031363245440546e-5,  6.8284840522929237e-5,  -4.7319529183371892e-5, 1.2475343474376931e-5,
    2.9273722115986924e-6,  -4.0139463981902916e-6, 1.4958263152984917e-6,  1.8323999881328579e-8,
    -2.6860975725571463e-7, 9.0719505710299223e-8,  -3.8310399460724111e-10};
/// erfinv(y) / y in sqrt(w) - 5, 16.0 <= w <= 36.12; relative error 2^-51.7.
static constexpr double inverseErfFarthestTerms[] = {
    4.8499064014085844,     1.0103004648645342,     -0.0001387193183819752, -0.00021503011928784596,
    7.599527800297495e-5,   -1.9681778266924495e-5, 4.5260547181843415e-6,  -9.9298184261867059e-7,
    2.2903613945376438e-7,  -6.7714449097127701e-8, 2.9080387752327173e-8,  -1.4956453335334018e-8,
    7.6964230073465524e-9,  -3.7920859532853499e-9, 1.4574583226269281e-9,  -2.5480300189796531e-10,
    -1.4432044831115906e-11};
/// erfinv(y) / y in w - 3.125, w = -log(1 - y^2) <= 6.25; relative error 2^-26.1.
static constexpr double inverseErfSingleTerms[] = {1.65365458,     0.240158185,    -0.0060336832,  -0.000740698713,
                                                   0.000186759396, -1.388702e-5,   -1.37997426e-6, 4.2566279e-7,
                                                   -2.56528772e-8, -4.60764671e-9, 6.98368086e-10};
/// erfinv(y) / y in sqrt(w) - 3.25, 6.25 <= w <= 16.81; relative error 2^-25.2.
static constexpr double inverseErfFarSingleTerms[] = {3.08388567,     1.00525868,      0.00536999153,
                                                      -0.00374384946, 0.00249779876,   -0.00173292845,
                                                      0.000947362045, -0.000255591556, -5.70043585e-6};

/// erfinv(y) / y in (r - 13.0) / (r + 13.0), r = sqrt(w), 6 <= r <= 27.3; relative error 2^-53.7.
static constexpr double inverseErfcTerms[] = {
    12.905817461326039, 26.111817846827233, 25.964409181406754, 26.010544339816786, 26.01444775037805,
    25.971123581836689, 26.042785923537917, 25.94840276779934,  26.059565397609415, 25.935852913182771,
    26.067720725768663, 25.931281825657965, 26.068862890488365, 25.933138231743218, 26.060637159641011,
    25.942925646254459, 26.102723052660853, 25.935662550786748, 25.536025851223549, 25.971489445048192,
    29.541821029786615, 26.905560165881209, 10.702635424288658, 18.243714157621504, 62.057619448150326,
    52.368436676844617};

/// -log(1 - y^2). `least`: 1 - y^2 of the number before 1, or less.
static Scalar logOfComplement(Scalar magnitude, double least) {
  return -log(max((1.0 - magnitude) * (1.0 + magnitude), least));
}

/// erfinv(y) / y by w = -log(1 - y^2) and its root; up to w = 36, and 16.7 in f32.
static Scalar inverseErfSlope(Scalar w, Scalar root) {
  Scalar far =
      select(w < 16, polynomial(inverseErfFarTerms, root - 3.25), polynomial(inverseErfFarthestTerms, root - 5.0));
  return select(w < 6.25, polynomial(inverseErfTerms, w - 3.125), far);
}
static Scalar inverseErfSlopeSingle(Scalar w, Scalar root) {
  Scalar far = polynomial(inverseErfFarSingleTerms, root - 3.25);
  return select(w < 6.25, polynomial(inverseErfSingleTerms, w - 3.125), far);
}

/// y * slope, with the values at 1 and beyond.
static Scalar inverseErfOf(Scalar y, Scalar slope) {
  Scalar magnitude = abs(y), ends = select(equal(magnitude, 1), y * y.constant(infinity), y.constant(NAN));
  return select(magnitude < 1, y * slope, ends);
}
static Scalar inverseErf(Scalar y) {
  Scalar w = logOfComplement(abs(y), 0x1p-53);
  return inverseErfOf(y, inverseErfSlope(w, sqrt(max(w, 6.25))));
}
static Scalar inverseErfSingle(Scalar y) {
  Scalar w = logOfComplement(abs(y), 0x1p-24);
  return inverseErfOf(y, inverseErfSlopeSingle(w, sqrt(max(w, 6.25))));
}

/// erfinv(1 - x), where 1 - (1 - x)^2 = x (2 - x) has all digits.
static Scalar inverseErfc(Scalar x) {
  constexpr double centre = 13, farFrom = 6;
  Scalar product = x * (2.0 - x), w = -log(product), root = sqrt(max(w, 6.25));
  Scalar far = polynomial(inverseErfcTerms, (root - centre) / (root + centre));
  Scalar result = (1.0 - x) * select(root < farFrom, inverseErfSlope(w, root), far);
  result = select(equal(product, 0), select(x < 1, x.constant(infinity), x.constant(-infinity)), result);
  return select((x < 0) | (x > 2), x.constant(NAN), result);
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

/// log gamma(2 + z) / z, |z| <= 1/2; relative error 2^-54.1.
static constexpr double logGammaTerms[] = {0.42278433509846713,    0.3224670334241132,     -0.067352301053195632,
                                           0.020580808427783381,   -0.0073855510289355447, 0.0028905103308659009,
                                           -0.0011927539009983087, 0.00050966951965266728, -0.00022315497746292723,
                                           9.945761692157133e-5,   -4.4923727564247656e-5, 2.0506019701747618e-5,
                                           -9.4562885151017197e-6, 4.3828545383846665e-6,  -1.9743106888421067e-6,
                                           9.2428522251622768e-7,  -5.8112777689212464e-7, 2.7475390051909663e-7};
/// log gamma(2 + z) / z, |z| <= 1/2; relative error 2^-34.0.
static constexpr double logGammaSingleTerms[] = {
    0.42278433509846713,     0.32246703367406582,    -0.067352301168468867,  0.020580788485086338,
    -0.0073855418319890166,  0.0028909539767244677,  -0.0011929584843006534, 0.00050566925662042189,
    -0.00022131048050323795, 0.00011498248215687683, -5.2081187390660279e-5};
/// sin(pi x) / x in x^2, |x| <= 1/2; relative error 2^-54.5.
static constexpr double sinPiTerms[] = {3.1415926535897931,     -5.1677127800499694,   2.5501640398773007,
                                        -0.59926452931894469,   0.0821458865731029,    -0.0073704305059169436,
                                        0.00046629981618983934, -2.190349707462591e-5, 7.6978267682231861e-7};

/// |sin(pi x)|, with all digits beside its zeros.
static Scalar absSinPi(Scalar x) {
  Scalar rest = x - roundEven(x);
  return abs(rest * polynomial(sinPiTerms, rest * rest));
}

/// Stirling's series for log gamma(x), x >= 5.
static Scalar stirlingSeries(Scalar x, ArrayRef<double> terms) {
  Scalar inverse = 1.0 / x, tail = polynomial(terms, inverse * inverse) * inverse;
  Scalar sum = (x - 0.5) * log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + tail;
  return select(equal(x, infinity), x, sum);
}

/// log gamma(x) for x >= 1/2 as sum - log(quotient) or, for `isInverted`, sum + log(quotient).
struct LogGamma {
  Scalar sum, quotient, isInverted;
};

/// About its zeros 1 and 2 by log gamma(2 + z) / z: gamma(2 + z) = (1 + z) gamma(1 + z). Beyond, the series holds three
/// steps of the recurrence further.
static LogGamma logGammaRightSingle(Scalar x) {
  Scalar isLow = x < 1.5, isNear = x < 2.5, z = x - select(isLow, x.constant(1), x.constant(2));
  Scalar far = stirlingSeries(x + 3.0, ArrayRef(stirling).take_front(5)), product = x * (x + 1.0) * (x + 2.0);
  return {select(isNear, z * polynomial(logGammaSingleTerms, z), far),
          select(isNear, select(isLow, x, x.constant(1)), product),
          x.call<arith::ConstantIntOp>(/*value=*/0, /*width=*/1)};
}

/// Up to 10: gamma(x) = (x - 1) ... (x - k) gamma(x - k), where no large numbers cancel.
static LogGamma logGammaRight(Scalar x) {
  Scalar isLow = x < 1.5, isNear = x < steps, k = roundEven(min(x, steps)) - 2.0, product = x.constant(1);
  for (int step = 1; step <= steps - 2; ++step)
    product = product * select(k >= step, x - step, x.constant(1));
  Scalar z = select(isLow, x - 1.0, (x - k) - 2.0);
  return {select(isNear, z * polynomial(logGammaTerms, z), stirlingSeries(max(x, steps), stirling)),
          select(isNear, select(isLow, x, product), x.constant(1)), ~isLow & isNear};
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

/// By reflection for x < 1/2: log |gamma(x)| = log(pi / |sin(pi x)|) - log gamma(1 - x), of which both logarithms are
/// one. pi x may be too small for all its digits.
static Scalar logGammaBy(Scalar x, LogGamma (*ofRight)(Scalar)) {
  Scalar isLeft = x < 0.5, isTiny = abs(x) < 1e-20;
  LogGamma right = ofRight(select(isLeft, 1.0 - x, x));
  Scalar sine = absSinPi(x), one = x.constant(1);
  Scalar dividend = select(right.isInverted, one, right.quotient),
         divisor = select(right.isInverted, right.quotient, one);
  Scalar reflected = std::numbers::pi * dividend / (sine * divisor);
  Scalar logarithm = log(select(isTiny, abs(x), select(isLeft, reflected, right.quotient)));
  Scalar sum = select(isTiny, x.constant(0), right.sum);
  Scalar result = select(~isLeft & right.isInverted, sum + logarithm, sum - logarithm);
  result = select(isLeft & ~isTiny, -result, result);
  return select(isPole(x), x.constant(infinity), select(equal(abs(x), infinity), abs(x), result));
}
static Scalar logGammaOf(Scalar x) { return logGammaBy(x, logGammaRight); }
static Scalar logGammaSingle(Scalar x) { return logGammaBy(x, logGammaRightSingle); }

/// By reflection for x < 1/2: digamma(x) = digamma(1 - x) - pi / tan(pi x). -x^-1 infinite at 0, NaN at other poles.
static Scalar digammaOf(Scalar x) {
  Scalar isLeft = x < 0.5;
  Scalar right = digammaRight(select(isLeft, 1.0 - x, x));
  Scalar result = select(isLeft, right - std::numbers::pi * (cosPi(x) / sinPi(x)), right);
  return select(equal(x, 0), -1.0 / x, select(isPole(x), x.constant(NAN), result));
}

namespace composites {
Results erfc(Builder &b, Values in, const Attributes &) { return {inOwnType(b, "erfc", in[0], erfcSingle, erfcOf)}; }
Results erfcx(Builder &b, Values in, const Attributes &) { return {inDouble(b, "erfcx", in[0], scaledComplementOf)}; }
Results erfinv(Builder &b, Values in, const Attributes &) {
  return {inOwnType(b, "erfinv", in[0], inverseErfSingle, inverseErf)};
}
Results erfcinv(Builder &b, Values in, const Attributes &) { return {inDouble(b, "erfcinv", in[0], inverseErfc)}; }
Results lgamma(Builder &b, Values in, const Attributes &) {
  return {inDouble(b, "lgamma", in[0], isDouble(in[0]) ? logGammaOf : logGammaSingle)};
}
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
