//===- Functions.cpp - transcendental functions ----------------------------===//

#include "target/quoin/simulator/Functions.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace perpend::quoin {
namespace {
constexpr double ln2 = 0x1.62e42fefa39efp-1, log2e = 0x1.71547652b82fep+0, halfPi = 0x1.921fb54442d18p+0;
constexpr double twoOverRootPi = 0x1.20dd750429b6dp+0, rootPi = 0x1.c5bf891b4ef6ap+0, rootHalf = 0x1.6a09e667f3bcdp-1;
constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

constexpr unsigned numFactorials = 18;
constexpr std::array<double, numFactorials> inverseFactorials = [] {
  std::array<double, numFactorials> values{};
  double factorial = 1;
  for (unsigned n = 0; n < numFactorials; ++n) {
    factorial *= n ? n : 1;
    values[n] = 1 / factorial;
  }
  return values;
}();

/// 2^power, for -1022 to 1023.
double powerOfTwo(int power) { return std::bit_cast<double>(uint64_t(power + 1023) << 52); }

int nearestInteger(double value) { return int(value < 0 ? value - 0.5 : value + 0.5); }

/// e^x of |x| <= 700: 2^k times the Taylor polynomial of the rest, |r| <= ln 2 / 2.
double exponentialOf(double x) {
  int k = nearestInteger(x * log2e);
  double r = x - k * ln2, sum = inverseFactorials[13];
  for (int n = 12; n >= 0; --n)
    sum = sum * r + inverseFactorials[n];
  return sum * powerOfTwo(k);
}

/// The natural logarithm of a positive, normal number: that of a mantissa between sqrt(1/2) and sqrt(2) is
/// 2 artanh((m - 1) / (m + 1)).
double logarithmOf(double x, int &exponent) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  exponent = int(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0xfffffffffffff) | 1023ull << 52);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  double s = (mantissa - 1) / (mantissa + 1), square = s * s, sum = 0;
  for (int n = 21; n >= 1; n -= 2)
    sum = sum * square + 1.0 / n;
  return 2 * s * sum;
}

struct Angle {
  int quadrant;
  double rest; ///< |rest| <= pi / 4
};

/// 2 / pi = 0.A2F9..., 256 bits.
constexpr uint64_t twoOverPi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561};

/// 128 bits of 2 / pi from bit `first` on, bit 0 having the value 1/2.
unsigned __int128 twoOverPiBits(unsigned first) {
  unsigned __int128 result = 0;
  for (unsigned bit = first; bit < first + 128; ++bit)
    result = result << 1 | (bit < 256 ? twoOverPi[bit / 64] >> (63 - bit % 64) & 1 : 0);
  return result;
}

/// x = m * 2^e; x * 2/pi modulo 4 is m times those bits of 2/pi that count, with 126 bits behind the point.
Angle reduce(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(std::fabs(x));
  if (bits < 0x3f000000) // 1/2
    return {0, x};
  int exponent = int(bits >> 23) - 150;
  unsigned __int128 mantissa = (bits & 0x7fffff) | 0x800000;
  unsigned __int128 turns = exponent < 2 ? mantissa * (twoOverPiBits(0) >> (2 - exponent)) : mantissa * twoOverPiBits(exponent - 2);
  unsigned quadrant = unsigned((turns + (static_cast<unsigned __int128>(1) << 125)) >> 126);
  __int128 rest = static_cast<__int128>(turns - (static_cast<unsigned __int128>(quadrant) << 126));
  double angle = double(rest) * 0x1p-126 * halfPi;
  return x < 0 ? Angle{int(-quadrant & 3), -angle} : Angle{int(quadrant & 3), angle};
}

double alternating(double square, int last) {
  double sum = 0;
  for (int n = last; n >= 0; n -= 2)
    sum = inverseFactorials[n] - sum * square;
  return sum;
}

/// sin of quadrant * pi/2 + rest.
float sineOf(Angle angle) {
  double square = angle.rest * angle.rest;
  double value = angle.quadrant & 1 ? alternating(square, 16) : angle.rest * alternating(square, 17);
  return float(angle.quadrant & 2 ? -value : value);
}

/// erf of |z| < 2: e^(-z^2) times a series of positive terms.
double erfSeries(double z) {
  double square = z * z, term = z, sum = z;
  for (int n = 1; n < 50; ++n) {
    term *= 2 * square / (2 * n + 1);
    sum += term;
  }
  return twoOverRootPi * exponentialOf(-square) * sum;
}

/// erfc of z >= 2: a continued fraction, from its end.
double erfcFraction(double z) {
  double value = z;
  for (int n = 64; n >= 1; --n)
    value = z + 0.5 * n / value;
  return exponentialOf(-z * z) / (value * rootPi);
}

double erfc(double z) {
  if (z > 26)
    return 0;
  if (z >= 2)
    return erfcFraction(z);
  return z <= -2 ? 2 - erfc(-z) : 1 - erfSeries(z);
}

double sigmoidOf(double x) {
  if (x < 0) {
    double power = x < -700 ? 0 : exponentialOf(x);
    return power / (1 + power);
  }
  return x > 700 ? 1 : 1 / (1 + exponentialOf(-x));
}
} // namespace

float exponential(float x) {
  if (x != x)
    return nan;
  return x > 89 ? infinity : x < -104 ? 0 : float(exponentialOf(x));
}

float exponential2(float x) {
  if (x != x)
    return nan;
  if (x >= 128 || x < -151)
    return x > 0 ? infinity : 0;
  int whole = nearestInteger(x);
  return float(exponentialOf((double(x) - whole) * ln2) * powerOfTwo(whole));
}

float logarithm(float x) {
  if (!(x > 0))
    return x == 0 ? -infinity : nan;
  if (x == infinity)
    return infinity;
  int exponent;
  double rest = logarithmOf(x, exponent);
  return float(exponent * ln2 + rest);
}

float logarithm2(float x) {
  if (!(x > 0))
    return x == 0 ? -infinity : nan;
  if (x == infinity)
    return infinity;
  int exponent;
  double rest = logarithmOf(x, exponent);
  return float(exponent + rest * log2e);
}

float sine(float x) { return std::isfinite(x) ? x == 0 ? x : sineOf(reduce(x)) : nan; }

float cosine(float x) {
  if (!std::isfinite(x))
    return nan;
  Angle angle = reduce(x);
  ++angle.quadrant;
  return sineOf(angle);
}

float hyperbolicTangent(float x) {
  if (x != x)
    return nan;
  double magnitude = std::fabs(x);
  if (x == 0)
    return x;
  if (magnitude < 1e-3)
    return float(x - double(x) * x * x / 3);
  if (magnitude > 20)
    return std::copysign(1.0f, x);
  double power = exponentialOf(-2 * magnitude);
  return float(std::copysign((1 - power) / (1 + power), double(x)));
}

float sigmoid(float x) { return x != x ? nan : float(sigmoidOf(x)); }

float errorFunction(float x) {
  if (x != x)
    return nan;
  double magnitude = std::fabs(x);
  if (magnitude < 2)
    return x == 0 ? x : float(erfSeries(x));
  return float(std::copysign(1 - erfc(magnitude), double(x)));
}

float gelu(float x) {
  if (x != x)
    return nan;
  return x < -30 ? -0.0f : x > 30 ? x : float(double(x) * 0.5 * erfc(-double(x) * rootHalf));
}

float silu(float x) {
  if (x != x)
    return nan;
  return x < -700 ? -0.0f : float(x * sigmoidOf(x));
}

float reciprocalRoot(float x) {
  if (x == 0)
    return 1 / x;
  return x < 0 ? nan : float(1 / std::sqrt(double(x)));
}

float power(float base, float exponent) {
  if (exponent == 0 || base == 1)
    return 1;
  if (base != base || exponent != exponent)
    return nan;
  bool isWhole = std::trunc(exponent) == exponent, isOdd = isWhole && std::fabs(exponent) < 0x1p24f && (int64_t(exponent) & 1);
  bool isNegative = std::signbit(base) && isOdd;
  float magnitude = std::fabs(base);
  if (base < 0 && base != -infinity && !isWhole && std::isfinite(exponent))
    return nan;
  if (std::isinf(exponent) || magnitude == 0 || magnitude == infinity) {
    bool grows = std::isinf(exponent) ? (magnitude > 1) == (exponent > 0) : (magnitude > 1) == (exponent > 0);
    float limit = magnitude == 1 ? 1 : grows ? infinity : 0;
    return isNegative ? -limit : limit;
  }
  int binary;
  double rest = logarithmOf(magnitude, binary), product = exponent * (binary * ln2 + rest);
  float value = product > 90 ? infinity : product < -110 ? 0 : float(exponentialOf(product));
  return isNegative ? -value : value;
}

float remainderTowardZero(float a, float b) { return std::fmod(a, b); }

} // namespace perpend::quoin
