// Groups of lines are gathered into planes, transformed, and scattered. The same templates are compiled once for each
// instruction set.
#include "library/FourierLines.h"
#include "Isa.h"
#include "library/FourierPasses.h"
#include <atomic>

namespace perpend::library {
namespace {

// Reads `count` numbers of each line, `step` apart, and pads with zeros up to `room`.
template <typename T, int64_t lanes>
void collect(const T *const (&from)[lanes], int64_t count, int64_t step, int64_t room, T *plane) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t lane = 0; lane < lanes; ++lane)
      plane[i * lanes + lane] = from[lane][i * step];
  for (int64_t i = count * lanes; i < room * lanes; ++i)
    plane[i] = 0;
}

template <typename T, int64_t lanes>
void gather(const FourierLines<T> &lines, int64_t first, int64_t count, T *real, T *imaginary) {
  const FourierTransform<T> &transform = lines.transform;
  const int64_t given = lines.inputCount < transform.elements ? lines.inputCount : transform.elements;
  const int64_t step = lines.behind * lines.inputParts, room = transform.length;
  const T *from[lanes], *next[lanes];
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t line = first + (lane < count ? lane : 0); // unused lanes repeat a line
    from[lane] = lines.input + line / lines.behind * lines.inputCount * step + line % lines.behind * lines.inputParts;
    next[lane] = from[lane] + (transform.isPaired ? step : 1);
  }
  if (transform.isPaired) {
    collect<T, lanes>(from, (given + 1) / 2, 2 * step, room, real);
    collect<T, lanes>(next, given / 2, 2 * step, room, imaginary);
  } else {
    collect<T, lanes>(from, given, step, room, real);
    collect<T, lanes>(next, lines.inputParts == 2 ? given : 0, step, room, imaginary);
  }
}

// Computes elements 0 to length of a line's spectrum from that of its pairs; the others are conjugates.
template <typename T, typename V> void separatePairs(const FourierTransform<T> &transform, Planes<V> planes) {
  const int64_t length = transform.length;
  auto at = [&](int64_t k) { return Complex<V>{planes.real[k], planes.imaginary[k]}; };
  auto store = [&](int64_t k, Complex<V> x) {
    planes.real[k] = x.real;
    planes.imaginary[k] = x.imaginary;
  };
  Complex<V> first = at(0);
  store(0, {first.real + first.imaginary, V{}});
  store(length, {first.real - first.imaginary, V{}});
  for (int64_t k = 1; k <= length / 2; ++k) {
    Complex<V> low = at(k), high = at(length - k).conjugated();
    Complex<V> even = (low + high).scaled(T(0.5)), odd = (high - low).scaled(T(0.5)).turned();
    Complex<V> moved = odd.times(transform.pairCosines[k], transform.pairSines[k]);
    store(k, even + moved);
    store(length - k, (even - moved).conjugated());
  }
}

template <typename T, int64_t lanes>
void spread(const FourierLines<T> &lines, int64_t first, int64_t count, const T *real, const T *imaginary) {
  const FourierTransform<T> &transform = lines.transform;
  const int64_t computed = lines.outputCount < transform.elements ? lines.outputCount : transform.elements;
  const int64_t stored = transform.isPaired ? transform.length + 1 : transform.length;
  const int64_t step = lines.behind * lines.outputParts;
  const bool isConjugate = transform.isPaired && lines.isInverse;
  for (int64_t lane = 0; lane < count; ++lane) {
    const int64_t line = first + lane;
    T *to = lines.output + line / lines.behind * lines.outputCount * step + line % lines.behind * lines.outputParts;
    auto put = [&](int64_t i, int64_t from, T imaginaryScale) {
      to[i * step] = real[from * lanes + lane] * lines.scale;
      if (lines.outputParts == 2)
        to[i * step + 1] = imaginary[from * lanes + lane] * imaginaryScale;
    };
    for (int64_t i = 0; i < computed && i < stored; ++i)
      put(i, i, isConjugate ? -lines.scale : lines.scale);
    for (int64_t i = stored; i < computed; ++i)
      put(i, transform.elements - i, isConjugate ? lines.scale : -lines.scale);
    for (int64_t i = computed; i < lines.outputCount; ++i)
      for (int64_t part = 0; part < lines.outputParts; ++part)
        to[i * step + part] = 0;
  }
}

template <typename T, typename V>
void convolve(const FourierTransform<T> &transform, Planes<V> &planes, Planes<V> &spare) {
  const int64_t n = transform.length, m = transform.plan.length;
  for (int64_t k = 0; k < n; ++k) {
    Complex<V> x = {planes.real[k], planes.imaginary[k]};
    x = x.times(transform.chirpCosines[k], transform.chirpSines[k]);
    planes.real[k] = x.real;
    planes.imaginary[k] = x.imaginary;
  }
  for (int64_t k = n; k < m; ++k)
    planes.real[k] = planes.imaginary[k] = V{};
  applyPasses(transform.plan, planes, spare);
  for (int64_t k = 0; k < m; ++k) {
    Complex<V> x = {planes.real[k], planes.imaginary[k]};
    x = x.times(transform.filterReal[k], -transform.filterImaginary[k]);
    planes.imaginary[k] = x.real; // swapping the parts inverts the transform
    planes.real[k] = x.imaginary;
  }
  applyPasses(transform.plan, planes, spare);
  for (int64_t k = 0; k < n; ++k) {
    Complex<V> x = {planes.imaginary[k], planes.real[k]};
    x = x.times(transform.chirpCosines[k], transform.chirpSines[k]);
    planes.real[k] = x.real;
    planes.imaginary[k] = x.imaginary;
  }
}

template <typename T, int64_t lanes> struct VectorOf {
  typedef T Type __attribute__((vector_size(lanes * sizeof(T))));
};
template <typename T> struct VectorOf<T, 1> {
  using Type = T;
};

template <typename T, int64_t lanes>
void runLanes(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory) {
  using V = typename VectorOf<T, lanes>::Type;
  const int64_t size = planeNumbers(lines.transform);
  auto *vectors = reinterpret_cast<V *>(memory);
  Planes<V> planes{vectors, vectors + size}, spare{vectors + 2 * size, vectors + 3 * size};
  const bool isExchanged = lines.isInverse && !lines.transform.isPaired; // inverts the transform
  auto parts = [&] { return isExchanged ? Planes<V>{planes.imaginary, planes.real} : planes; };
  gather<T, lanes>(lines, first, count, reinterpret_cast<T *>(parts().real), reinterpret_cast<T *>(parts().imaginary));
  if (lines.transform.isConvolution)
    convolve(lines.transform, planes, spare);
  else
    applyPasses(lines.transform.plan, planes, spare);
  if (lines.transform.isPaired)
    separatePairs(lines.transform, planes);
  spread<T, lanes>(lines, first, count, reinterpret_cast<T *>(parts().real), reinterpret_cast<T *>(parts().imaginary));
}

template <typename T> inline void runGroup(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory) {
  if (count > 1)
    runLanes<T, groupLines<T>>(lines, first, count, memory);
  else
    runLanes<T, 1>(lines, first, 1, memory);
}

template <typename T> void runOnBase(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory) {
  runGroup(lines, first, count, memory);
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2"), gnu::flatten]] void runOnAvx2(const FourierLines<T> &lines, int64_t first, int64_t count,
                                                     T *memory) {
  runGroup(lines, first, count, memory);
}

bool hasAvx2() {
  static std::atomic<int32_t> answer{0}; // 0: not yet determined
  int32_t known = answer.load(std::memory_order_relaxed);
  if (!known)
    answer.store(known = runtime::hasInstructionSet("avx2") ? 2 : 1, std::memory_order_relaxed);
  return known == 2;
}
#endif

} // namespace

template <typename T> FourierRun<T> chooseFourierRun() {
#if defined(__x86_64__)
  if (hasAvx2())
    return runOnAvx2<T>;
#endif
  return runOnBase<T>;
}

template <typename T> void fillFilter(FourierTransform<T> &transform, T *memory) {
  const int64_t n = transform.length, m = transform.plan.length;
  Planes<T> planes{memory, memory + m}, spare{memory + 2 * m, memory + 3 * m};
  for (int64_t k = 0; k < m; ++k) {
    int64_t distance = k < n ? k : m - k;
    bool isInside = distance < n;
    planes.real[k] = isInside ? transform.chirpCosines[distance] : 0;
    planes.imaginary[k] = isInside ? transform.chirpSines[distance] : 0;
  }
  applyPasses(transform.plan, planes, spare);
  for (int64_t k = 0; k < m; ++k) {
    transform.filterReal[k] = planes.real[k] / static_cast<T>(m);
    transform.filterImaginary[k] = planes.imaginary[k] / static_cast<T>(m);
  }
}

template FourierRun<float> chooseFourierRun();
template FourierRun<double> chooseFourierRun();
template void fillFilter(FourierTransform<float> &transform, float *memory);
template void fillFilter(FourierTransform<double> &transform, double *memory);

} // namespace perpend::library
