// Angles are reduced to [0, pi / 4] in integers, where Taylor polynomials of these degrees are accurate to 2^-58. The
// rounding error of an angle is carried along with it.
#include "library/RootsOfUnity.h"

namespace perpend::library {
namespace {

struct Angle {
  double value, rest; // rest is below the last bit of value
};

// r / n of pi / 4, 0 <= r <= n.
Angle eighthPart(int64_t r, int64_t n, double reciprocal) {
  // The first part of pi / 4 has 27 bits: its product with a float is exact, as is that of the float with n < 2^29.
  constexpr double quarterHigh = 0x1.921fb54p-1, quarterLow = 0x1.10b4611a62633p-31;
  auto numerator = static_cast<double>(r), denominator = static_cast<double>(n);
  double high = static_cast<float>(numerator * reciprocal);
  double low = (numerator - high * denominator) * reciprocal;
  double product = high * quarterHigh, correction = high * quarterLow + low * (quarterHigh + quarterLow);
  double value = product + correction;
  return {value, correction - (value - product)};
}

// 1/3!, 1/5!, ... 1/17! and 1/4!, 1/6!, ... 1/18!, alternating
constexpr double sineSeries[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                                 -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
constexpr double cosineSeries[] = {1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
                                   1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};

double polynomial(const double (&coefficients)[8], double x) {
  double sum = 0;
  for (int i = 7; i >= 0; --i)
    sum = coefficients[i] + x * sum;
  return sum;
}

Root smallRoot(Angle angle) {
  double x = angle.value, square = x * x, half = square / 2, cosine = 1 - half;
  double lost = (1 - cosine) - half; // rounding error of the line above
  return {cosine + (lost + (square * square * polynomial(cosineSeries, square) - x * angle.rest)),
          x + (x * square * polynomial(sineSeries, square) + angle.rest * cosine)};
}

Root rootAt(int64_t k, int64_t n, double reciprocal) {
  int64_t octant = 8 * k / n, r = 8 * k - octant * n;
  Root root = smallRoot(eighthPart(octant % 2 ? n - r : r, n, reciprocal));
  if ((octant + 1) / 2 % 2)
    root = {root.sine, root.cosine};
  bool isLeft = octant % 8 >= 2 && octant % 8 < 6, isBelow = octant % 8 >= 4;
  return {isLeft ? -root.cosine : root.cosine, isBelow ? -root.sine : root.sine};
}

} // namespace

Root rootOfUnity(int64_t k, int64_t n) { return rootAt(k, n, 1.0 / static_cast<double>(n)); }

template <typename T> void fillRoots(int64_t n, T *cosines, T *sines) {
  double reciprocal = 1.0 / static_cast<double>(n);
  int64_t computed = n % 2 ? n / 2 : n % 8 ? n / 4 : n / 8; // the others are mirrored
  for (int64_t k = 0; k <= computed && k < n; ++k) {
    Root root = rootAt(k, n, reciprocal);
    cosines[k] = static_cast<T>(root.cosine);
    sines[k] = static_cast<T>(root.sine);
  }
  for (int64_t k = computed + 1; n % 8 == 0 && k <= n / 4; ++k) {
    cosines[k] = sines[n / 4 - k];
    sines[k] = cosines[n / 4 - k];
  }
  for (int64_t k = n / 4 + 1; n % 2 == 0 && k <= n / 2; ++k) {
    cosines[k] = -cosines[n / 2 - k];
    sines[k] = sines[n / 2 - k];
  }
  for (int64_t k = n / 2 + 1; k < n; ++k) {
    cosines[k] = cosines[n - k];
    sines[k] = -sines[n - k];
  }
}

template void fillRoots(int64_t n, float *cosines, float *sines);
template void fillRoots(int64_t n, double *cosines, double *sines);

} // namespace perpend::library
