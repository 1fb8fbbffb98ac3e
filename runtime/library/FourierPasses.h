// The passes of a Fourier transform, on numbers or vectors. No sum is reordered and all variants fuse the same
// products, so on one machine a line has the same transform alone and in a group.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERPASSES_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERPASSES_H
#include "library/FourierPlan.h"
#include "library/FourierVectors.h"

namespace perpend::library {
namespace {

template <typename V> struct Complex {
  V real, imaginary;

  Complex operator+(const Complex &other) const { return {real + other.real, imaginary + other.imaginary}; }
  Complex operator-(const Complex &other) const { return {real - other.real, imaginary - other.imaginary}; }
  // Multiplies by i.
  Complex turned() const { return {-imaginary, real}; }
  Complex conjugated() const { return {real, -imaginary}; }
  Complex exchanged() const { return {imaginary, real}; }
  Complex scaled(V factor) const { return {real * factor, imaginary * factor}; }
  // Adds a product with a real number.
  Complex plus(const Complex &other, V factor) const {
    return {fused(other.real, factor, real), fused(other.imaginary, factor, imaginary)};
  }
  // Multiplies by the conjugate of a root.
  Complex times(V cosine, V sine) const {
    return {fused(real, cosine, imaginary * sine), fused(imaginary, cosine, -(real * sine))};
  }
};

// The transform of `radix` numbers, in place. This one is for odd radices; 0: given at run time.
template <int radix> struct Butterfly {
  template <typename T, typename V>
  [[gnu::always_inline]] static inline void apply(Complex<V> *x, const FourierPass<T> &pass) {
    constexpr int64_t mostPairs = (radix ? radix : largestRadix) / 2;
    const int64_t count = radix ? radix : pass.radix, pairs = count / 2;
    Complex<V> sums[mostPairs], differences[mostPairs], first = x[0], total = first;
    for (int64_t j = 0; j < pairs; ++j) {
      sums[j] = x[j + 1] + x[count - 1 - j];
      differences[j] = x[j + 1] - x[count - 1 - j];
      total = total + sums[j];
    }
    x[0] = total;
    for (int64_t k = 1; k <= pairs; ++k) {
      Complex<V> straight = first.plus(sums[0], splat<V>(pass.wholeCosines[k]));
      Complex<V> crossed = differences[0].scaled(splat<V>(pass.wholeSines[k]));
      for (int64_t j = 1, at = 2 * k; j < pairs; ++j, at += k) {
        at -= at >= count ? count : 0;
        straight = straight.plus(sums[j], splat<V>(pass.wholeCosines[at]));
        crossed = crossed.plus(differences[j], splat<V>(pass.wholeSines[at]));
      }
      x[k] = straight - crossed.turned();
      x[count - k] = straight + crossed.turned();
    }
  }
};

template <> struct Butterfly<2> {
  template <typename T, typename V>
  [[gnu::always_inline]] static inline void apply(Complex<V> *x, const FourierPass<T> &) {
    Complex<V> first = x[0];
    x[0] = first + x[1];
    x[1] = first - x[1];
  }
};

template <typename V>
[[gnu::always_inline]] inline void fourthsOf(Complex<V> &a, Complex<V> &b, Complex<V> &c, Complex<V> &d) {
  Complex<V> even = a + c, evenLess = a - c, odd = b + d, oddLess = (b - d).turned();
  a = even + odd;
  b = evenLess - oddLess;
  c = even - odd;
  d = evenLess + oddLess;
}

template <> struct Butterfly<4> {
  template <typename T, typename V>
  [[gnu::always_inline]] static inline void apply(Complex<V> *x, const FourierPass<T> &) {
    fourthsOf(x[0], x[1], x[2], x[3]);
  }
};

template <> struct Butterfly<8> {
  template <typename T, typename V>
  [[gnu::always_inline]] static inline void apply(Complex<V> *x, const FourierPass<T> &) {
    constexpr T rootOfHalf = T(0.70710678118654752440L);
    Complex<V> a = x[0], b = x[2], c = x[4], d = x[6], e = x[1], f = x[3], g = x[5], h = x[7];
    fourthsOf(a, b, c, d);
    fourthsOf(e, f, g, h);
    const V factor = splat<V>(rootOfHalf);
    Complex<V> first = {f.real + f.imaginary, f.imaginary - f.real};
    Complex<V> third = {h.imaginary - h.real, -(h.imaginary + h.real)};
    x[0] = a + e;
    x[4] = a - e;
    x[1] = b.plus(first, factor);
    x[5] = b.plus(first, -factor);
    x[2] = c - g.turned();
    x[6] = c + g.turned();
    x[3] = d.plus(third, factor);
    x[7] = d.plus(third, -factor);
  }
};

// Several lines at once: a vector has one number of each.
template <typename T, int64_t lanes> struct Group {
  using Number = T;
  using V = Vector<T, lanes>;
  Complex<V> *data;

  Group(T *memory, int64_t) : data(reinterpret_cast<Complex<V> *>(memory)) {}
  Complex<V> load(int64_t at) const { return data[at]; }
  Complex<V> loadReversed(int64_t at) const { return data[at]; }
  void store(int64_t at, Complex<V> value) const { data[at] = value; }
  static V number(const T *table, int64_t at) { return splat<V>(table[at]); }
  Group single() const { return *this; }
};

// One line: a vector has consecutive numbers.
template <typename T, int64_t lanes> struct Line {
  using Number = T;
  using V = Vector<T, lanes>;
  T *real, *imaginary;

  Line(T *memory, int64_t room) : real(memory), imaginary(memory + room) {}
  Line(T *realPart, T *imaginaryPart) : real(realPart), imaginary(imaginaryPart) {}
  Complex<V> load(int64_t at) const { return {loadAs<V>(real + at), loadAs<V>(imaginary + at)}; }
  // Elements at, at - 1, ..
  Complex<V> loadReversed(int64_t at) const {
    Complex<V> x = load(at - lanes + 1);
    if constexpr (lanes == 1)
      return x;
    else
      return {reversed(x.real, std::make_index_sequence<lanes>()),
              reversed(x.imaginary, std::make_index_sequence<lanes>())};
  }
  void store(int64_t at, Complex<V> value) const {
    storeAs(real + at, value.real);
    storeAs(imaginary + at, value.imaginary);
  }
  static V number(const T *table, int64_t at) { return loadAs<V>(table + at); }
  Line<T, 1> single() const { return {real, imaginary}; }
};

// A line of real and imaginary parts in turn, as in the memory of tensors.
template <typename T, int64_t lanes> struct Interleaved {
  using V = Vector<T, lanes>;
  const T *numbers;

  Complex<V> load(int64_t at) const {
    Complex<V> x;
    separateLanes(loadAs<V>(numbers + 2 * at), loadAs<V>(numbers + 2 * at + lanes), x.real, x.imaginary,
                  std::make_index_sequence<lanes>());
    return x;
  }
};

// The same, written. Real and imaginary parts have a factor each.
template <typename T, int64_t lanes> struct InterleavedResult {
  using V = Vector<T, lanes>;
  T *numbers;
  T realFactor, imaginaryFactor;

  void store(int64_t at, Complex<Vector<T, lanes>> x) const {
    x = {x.real * realFactor, x.imaginary * imaginaryFactor};
    if constexpr (lanes > 1)
      mergeLanes(x.real, x.imaginary, x.real, x.imaginary, std::make_index_sequence<lanes>());
    storeAs(numbers + 2 * at, x.real);
    storeAs(numbers + 2 * at + lanes, x.imaginary);
  }
  InterleavedResult<T, 1> single() const { return {numbers, realFactor, imaginaryFactor}; }
};

// Calls body(in, out, at) for all elements of [begin, end). Some are visited twice, so results must not be operands.
template <typename T, int64_t lanes, typename Body>
[[gnu::always_inline]] inline void forElements(const Group<T, lanes> &in, const Group<T, lanes> &out, int64_t begin,
                                               int64_t end, Body body) {
  for (int64_t at = begin; at < end; ++at)
    body(in, out, at);
}
template <typename T, int64_t lanes, typename Result, typename Body>
[[gnu::always_inline]] inline void forElements(const Line<T, lanes> &in, const Result &out, int64_t begin, int64_t end,
                                               Body body) {
  if (end - begin >= lanes)
    for (int64_t at = begin; at < end; at += lanes)
      body(in, out, at + lanes <= end ? at : end - lanes);
  else
    for (int64_t at = begin; at < end; ++at)
      body(in.single(), out.single(), at);
}

// The elements x[0..radix) from `load`, transformed, turned, and stored at `to`. root: their place in the tables.
template <int radix, bool turns, typename T, typename Access, typename Load, typename Root>
[[gnu::always_inline]] inline void applyAt(const FourierPass<T> &pass, const Access &out, int64_t to, Load load,
                                           Root root) {
  Complex<typename Access::V> x[radix ? radix : largestRadix];
  const int64_t count = radix ? radix : pass.radix;
  load(x);
  Butterfly<radix>::apply(x, pass);
  for (int64_t j = 0; j < count; ++j) {
    if constexpr (turns)
      if (j)
        x[j] = x[j].times(root(pass.cosines + (j - 1) * pass.inner), root(pass.sines + (j - 1) * pass.inner));
    out.store(to + j * pass.before * pass.inner, x[j]);
  }
}

template <int radix, bool turns, typename T, typename In, typename Access>
[[gnu::always_inline]] inline void applyInner(const FourierPass<T> &pass, const In &in, const Access &out, int64_t k,
                                              int64_t i) {
  const int64_t count = radix ? radix : pass.radix;
  applyAt<radix, turns>(
      pass, out, k * pass.inner + i,
      [&](auto *x) __attribute__((always_inline)) {
        for (int64_t j = 0; j < count; ++j)
          x[j] = in.load((k * count + j) * pass.inner + i);
      },
      [&](const T *table) __attribute__((always_inline)) { return Access::number(table, i); });
}

template <int radix, typename T, int64_t lanes>
[[gnu::noinline]] void applyPass(const FourierPass<T> &given, Group<T, lanes> in, Group<T, lanes> out) {
  const FourierPass<T> pass = given;
  for (int64_t k = 0; k < pass.before; ++k)
    if (pass.inner == 1)
      applyInner<radix, false>(pass, in, out, k, 0);
    else
      for (int64_t i = 0; i < pass.inner; ++i)
        applyInner<radix, true>(pass, in, out, k, i);
}

// Consecutive results, of which `inner` each belong to one k; inner divides the number of lanes.
template <int radix, int64_t inner, typename T, int64_t lanes, typename Result>
[[gnu::always_inline]] inline void applyPieces(const FourierPass<T> &pass, const Line<T, lanes> &in, const Result &out,
                                               int64_t at) {
  using V = Vector<T, lanes>;
  applyAt<radix, inner != 1>(
      pass, out, at,
      [&](Complex<V> *x) __attribute__((always_inline)) {
        if constexpr (inner == 1) {
          V real[radix], imaginary[radix];
          for (int64_t j = 0; j < radix; ++j) {
            real[j] = loadAs<V>(in.real + at * radix + j * lanes);
            imaginary[j] = loadAs<V>(in.imaginary + at * radix + j * lanes);
          }
          distribute<radix, lanes>(real);
          distribute<radix, lanes>(imaginary);
          for (int64_t j = 0; j < radix; ++j)
            x[j] = {real[j], imaginary[j]};
        } else {
          for (int64_t j = 0; j < radix; ++j) {
            const int64_t from = at * radix + j * inner;
            x[j] = {loadPieces<T, lanes, inner>(in.real + from, radix * inner),
                    loadPieces<T, lanes, inner>(in.imaginary + from, radix * inner)};
          }
        }
      },
      [&](const auto *table) __attribute__((always_inline)) { return loadPieces<T, lanes, inner>(table, 0); });
}

// All vectors of [0, count), the last one may overlap; count >= lanes.
template <int64_t lanes, typename Apply> [[gnu::always_inline]] inline void forVectors(int64_t count, Apply apply) {
  for (int64_t at = 0; at < count; at += lanes)
    apply(at + lanes <= count ? at : count - lanes);
}

// Consecutive results of any k and i.
template <bool turns, typename T, int64_t lanes>
[[gnu::always_inline]] inline void applyScattered(const FourierPass<T> &pass, const Line<T, lanes> &in,
                                                  const Line<T, lanes> &out, int64_t at) {
  using V = Vector<T, lanes>;
  int64_t from[lanes], inner[lanes];
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t k = (at + lane) / pass.inner;
    inner[lane] = at + lane - k * pass.inner;
    from[lane] = k * pass.radix * pass.inner + inner[lane];
  }
  auto collect = [](const T *numbers, const int64_t(&places)[lanes]) {
    T result[lanes];
    for (int64_t lane = 0; lane < lanes; ++lane)
      result[lane] = numbers[places[lane]];
    return loadAs<V>(result);
  };
  applyAt<0, turns>(
      pass, out, at,
      [&](Complex<V> *x) {
        for (int64_t j = 0; j < pass.radix; ++j)
          x[j] = {collect(in.real + j * pass.inner, from), collect(in.imaginary + j * pass.inner, from)};
      },
      [&](const T *table) { return collect(table, inner); });
}
template <typename T, int64_t lanes>
[[gnu::noinline]] void applyScattered(const FourierPass<T> &pass, Line<T, lanes> in, Line<T, lanes> out) {
  if (pass.inner == 1)
    forVectors<lanes>(pass.before, [&](int64_t at) { applyScattered<false>(pass, in, out, at); });
  else
    forVectors<lanes>(pass.before * pass.inner, [&](int64_t at) { applyScattered<true>(pass, in, out, at); });
}

template <int radix, typename T, int64_t lanes>
[[gnu::noinline]] void applyPass(const FourierPass<T> &given, Line<T, lanes> in, Line<T, lanes> out) {
  const FourierPass<T> pass = given;
  if (pass.inner >= lanes) {
    for (int64_t k = 0; k < pass.before; ++k)
      forVectors<lanes>(
          pass.inner, [&](int64_t i) __attribute__((always_inline)) { applyInner<radix, true>(pass, in, out, k, i); });
    return;
  }
  const int64_t count = pass.before * pass.inner;
  if constexpr (radix == 2 || radix == 4 || radix == 8)
    if (pass.inner == 1)
      return forVectors<lanes>(count, [&](int64_t at)
                                          __attribute__((always_inline)) { applyPieces<radix, 1>(pass, in, out, at); });
  if constexpr ((radix == 4 || radix == 8) && lanes > 8)
    if (pass.inner == 8)
      return forVectors<lanes>(count, [&](int64_t at)
                                          __attribute__((always_inline)) { applyPieces<radix, 8>(pass, in, out, at); });
  if constexpr (radix == 4 && lanes > 4)
    if (pass.inner == 4)
      return forVectors<lanes>(count, [&](int64_t at)
                                          __attribute__((always_inline)) { applyPieces<radix, 4>(pass, in, out, at); });
  if constexpr (radix % 2 == 1 || radix == 0)
    applyScattered(pass, in, out);
}

// The first pass of a plan; false: it is not one of the usual kind.
template <typename T, int64_t lanes>
bool applyFirstPass(const FourierPlan<T> &plan, Interleaved<T, lanes> in, Line<T, lanes> out) {
  if (!plan.passCount || plan.passes[0].inner < lanes)
    return false;
  const FourierPass<T> pass = plan.passes[0];
  auto apply = [&](auto radix) {
    forVectors<lanes>(pass.inner, [&](int64_t i) __attribute__((always_inline)) {
      applyInner<decltype(radix)::value, true>(pass, in, out, 0, i);
    });
    return true;
  };
  switch (pass.radix) {
  case 3:
    return apply(std::integral_constant<int, 3>());
  case 4:
    return apply(std::integral_constant<int, 4>());
  case 5:
    return apply(std::integral_constant<int, 5>());
  case 8:
    return apply(std::integral_constant<int, 8>());
  default:
    return false;
  }
}

// The last pass of a plan; false: it is not one of the usual kind.
template <typename T, int64_t lanes>
bool applyLastPass(const FourierPlan<T> &plan, Line<T, lanes> in, InterleavedResult<T, lanes> out) {
  const FourierPass<T> pass = plan.passes[plan.passCount - 1];
  auto apply = [&](auto radix) {
    forVectors<lanes>(pass.before, [&](int64_t at) __attribute__((always_inline)) {
      applyPieces<decltype(radix)::value, 1>(pass, in, out, at);
    });
    return true;
  };
  switch (pass.radix) {
  case 4:
    return apply(std::integral_constant<int, 4>());
  case 8:
    return apply(std::integral_constant<int, 8>());
  default:
    return false;
  }
}

// Transforms plan.length elements of `data`, which then are in `data` again; the two are exchanged as often as needed.
// Passes [done, end) are applied.
template <typename T, typename Access>
void applyPasses(const FourierPlan<T> &plan, Access &data, Access &spare, int32_t done, int32_t end) {
  for (int32_t number = done; number < end; ++number) {
    const FourierPass<T> &pass = plan.passes[number];
    switch (pass.radix) {
    case 2:
      applyPass<2>(pass, data, spare);
      break;
    case 3:
      applyPass<3>(pass, data, spare);
      break;
    case 4:
      applyPass<4>(pass, data, spare);
      break;
    case 5:
      applyPass<5>(pass, data, spare);
      break;
    case 8:
      applyPass<8>(pass, data, spare);
      break;
    default:
      applyPass<0>(pass, data, spare);
    }
    std::swap(data, spare);
  }
}

} // namespace
} // namespace perpend::library
#endif
