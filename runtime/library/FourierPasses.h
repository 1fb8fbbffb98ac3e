// The passes of a Fourier transform. V is a number, or a vector of numbers of several lines. No sum is reordered and no
// product fused, so a line has the same transform alone and in a group.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERPASSES_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERPASSES_H
#include "library/FourierPlan.h"

namespace perpend::library {

template <typename V> struct Complex {
  V real, imaginary;

  Complex operator+(const Complex &other) const { return {real + other.real, imaginary + other.imaginary}; }
  Complex operator-(const Complex &other) const { return {real - other.real, imaginary - other.imaginary}; }
  // Multiplies by i.
  Complex turned() const { return {-imaginary, real}; }
  Complex conjugated() const { return {real, -imaginary}; }
  template <typename T> Complex scaled(T factor) const { return {real * factor, imaginary * factor}; }
  // Multiplies by the conjugate of a root.
  template <typename T> Complex times(T cosine, T sine) const {
    return {real * cosine + imaginary * sine, imaginary * cosine - real * sine};
  }
};

// The transform of `radix` numbers, in place.
template <int radix> struct Butterfly;

template <> struct Butterfly<2> {
  template <typename T, typename V> static void apply(Complex<V> *x, const FourierPass<T> &) {
    Complex<V> first = x[0];
    x[0] = first + x[1];
    x[1] = first - x[1];
  }
};

template <> struct Butterfly<3> {
  template <typename T, typename V> static void apply(Complex<V> *x, const FourierPass<T> &pass) {
    Complex<V> sum = x[1] + x[2], turned = (x[1] - x[2]).scaled(pass.wholeSines[1]).turned();
    Complex<V> centre = x[0] + sum.scaled(T(-0.5));
    x[0] = x[0] + sum;
    x[1] = centre - turned;
    x[2] = centre + turned;
  }
};

template <> struct Butterfly<4> {
  template <typename T, typename V> static void apply(Complex<V> *x, const FourierPass<T> &) {
    Complex<V> even = x[0] + x[2], evenLess = x[0] - x[2], odd = x[1] + x[3], oddLess = (x[1] - x[3]).turned();
    x[0] = even + odd;
    x[1] = evenLess - oddLess;
    x[2] = even - odd;
    x[3] = evenLess + oddLess;
  }
};

template <> struct Butterfly<5> {
  template <typename T, typename V> static void apply(Complex<V> *x, const FourierPass<T> &pass) {
    const T *c = pass.wholeCosines, *s = pass.wholeSines;
    Complex<V> outer = x[1] + x[4], inner = x[2] + x[3], outerLess = x[1] - x[4], innerLess = x[2] - x[3];
    Complex<V> first = x[0] + outer.scaled(c[1]) + inner.scaled(c[2]);
    Complex<V> second = x[0] + outer.scaled(c[2]) + inner.scaled(c[1]);
    Complex<V> firstTurned = (outerLess.scaled(s[1]) + innerLess.scaled(s[2])).turned();
    Complex<V> secondTurned = (outerLess.scaled(s[2]) - innerLess.scaled(s[1])).turned();
    x[0] = x[0] + outer + inner;
    x[1] = first - firstTurned;
    x[4] = first + firstTurned;
    x[2] = second - secondTurned;
    x[3] = second + secondTurned;
  }
};

// Any odd radix, chosen at run time.
template <> struct Butterfly<0> {
  template <typename T, typename V> static void apply(Complex<V> *x, const FourierPass<T> &pass) {
    constexpr int64_t mostPairs = largestRadix / 2;
    Complex<V> sums[mostPairs], differences[mostPairs], first = x[0], total = first;
    int64_t radix = pass.radix, pairs = radix / 2;
    for (int64_t j = 0; j < pairs; ++j) {
      sums[j] = x[j + 1] + x[radix - 1 - j];
      differences[j] = x[j + 1] - x[radix - 1 - j];
      total = total + sums[j];
    }
    x[0] = total;
    for (int64_t k = 1; k <= pairs; ++k) {
      Complex<V> straight = first + sums[0].scaled(pass.wholeCosines[k]);
      Complex<V> crossed = differences[0].scaled(pass.wholeSines[k]);
      for (int64_t j = 1, at = 2 * k; j < pairs; ++j, at += k) {
        at -= at >= radix ? radix : 0;
        straight = straight + sums[j].scaled(pass.wholeCosines[at]);
        crossed = crossed + differences[j].scaled(pass.wholeSines[at]);
      }
      x[k] = straight - crossed.turned();
      x[radix - k] = straight + crossed.turned();
    }
  }
};

// The numbers of a group of lines.
template <typename V> struct Planes {
  V *real, *imaginary;
};

template <int radix, bool turns, typename T, typename V>
inline void applyAt(const FourierPass<T> &pass, Planes<V> in, Planes<V> out, int64_t k, int64_t i) {
  Complex<V> x[radix ? radix : largestRadix];
  const int64_t count = radix ? radix : pass.radix, from = k * count * pass.inner + i, to = k * pass.inner + i;
  for (int64_t j = 0; j < count; ++j)
    x[j] = {in.real[from + j * pass.inner], in.imaginary[from + j * pass.inner]};
  Butterfly<radix>::apply(x, pass);
  for (int64_t j = 0; j < count; ++j) {
    const int64_t root = (j - 1) * pass.inner + i, at = to + j * pass.before * pass.inner;
    Complex<V> y = turns && j ? x[j].times(pass.cosines[root], pass.sines[root]) : x[j];
    out.real[at] = y.real;
    out.imaginary[at] = y.imaginary;
  }
}

template <int radix, typename T, typename V>
void applyPass(const FourierPass<T> &given, const V *__restrict real, const V *__restrict imaginary,
               V *__restrict outReal, V *__restrict outImaginary) {
  const FourierPass<T> pass = given;
  Planes<V> in{const_cast<V *>(real), const_cast<V *>(imaginary)}, out{outReal, outImaginary};
  if (pass.inner == 1) {
    for (int64_t k = 0; k < pass.before; ++k)
      applyAt<radix, false>(pass, in, out, k, 0);
    return;
  }
  for (int64_t k = 0; k < pass.before; ++k) {
    applyAt<radix, false>(pass, in, out, k, 0);
    for (int64_t i = 1; i < pass.inner; ++i)
      applyAt<radix, true>(pass, in, out, k, i);
  }
}

template <typename T, typename V>
void applyPass(const FourierPass<T> &pass, const Planes<V> &in, const Planes<V> &out) {
  if (pass.radix == 4)
    applyPass<4>(pass, in.real, in.imaginary, out.real, out.imaginary);
  else if (pass.radix == 2)
    applyPass<2>(pass, in.real, in.imaginary, out.real, out.imaginary);
  else if (pass.radix == 3)
    applyPass<3>(pass, in.real, in.imaginary, out.real, out.imaginary);
  else if (pass.radix == 5)
    applyPass<5>(pass, in.real, in.imaginary, out.real, out.imaginary);
  else
    applyPass<0>(pass, in.real, in.imaginary, out.real, out.imaginary);
}

// Transforms `planes` in place; both arguments have plan.length elements.
template <typename T, typename V> void applyPasses(const FourierPlan<T> &plan, Planes<V> &planes, Planes<V> &spare) {
  for (int32_t number = 0; number < plan.passCount; ++number) {
    applyPass(plan.passes[number], planes, spare);
    Planes<V> result = spare;
    spare = planes;
    planes = result;
  }
}

} // namespace perpend::library
#endif
