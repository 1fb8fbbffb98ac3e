// Factors and tables of Fourier transforms.
#include "library/FourierPlan.h"
#include "library/RootsOfUnity.h"

namespace perpend::library {
namespace {

template <typename T> T *scratch(perpend_call *call, int64_t count) {
  return static_cast<T *>(perpend_call_scratch(call, count * static_cast<int64_t>(sizeof(T))));
}

int64_t withoutFactor(int64_t n, int64_t factor) {
  while (n % factor == 0)
    n /= factor;
  return n;
}

// Radix 4 passes, preceded by one of radix 2 if needed, then odd primes. 0: a prime is too large.
template <typename T> int32_t factorise(int64_t n, FourierPass<T> *passes) {
  int32_t count = 0;
  if (n % 2 == 0 && withoutFactor(n, 4) % 2 == 0)
    passes[count++].radix = 2;
  for (n /= count ? 2 : 1; n % 4 == 0; n /= 4)
    passes[count++].radix = 4;
  for (int64_t radix = 3; n > 1; radix += 2) {
    if (radix > largestRadix)
      return 0;
    for (; n % radix == 0; n /= radix)
      passes[count++].radix = radix;
  }
  return count;
}

// The least length for the convolution that has small prime factors only.
int64_t smoothAtLeast(int64_t least) {
  int64_t n = least;
  while (withoutFactor(withoutFactor(withoutFactor(n, 2), 3), 5) > 1)
    ++n;
  return n;
}

template <typename T> struct Table {
  T *cosines, *sines;

  Table(perpend_call *call, int64_t count)
      : cosines(scratch<T>(call, count)), sines(cosines ? scratch<T>(call, count) : nullptr) {}
  bool exists() const { return sines; }
};

// The roots of a pass are every step-th root of the transform.
template <typename T> bool fillPass(perpend_call *call, const Table<T> &roots, int64_t step, FourierPass<T> &pass) {
  Table<T> turns(call, (pass.radix - 1) * pass.inner), whole(call, pass.radix);
  if (!turns.exists() || !whole.exists())
    return false;
  for (int64_t j = 1; j < pass.radix; ++j)
    for (int64_t i = 0, from = 0; i < pass.inner; ++i, from += j * step) {
      turns.cosines[(j - 1) * pass.inner + i] = roots.cosines[from];
      turns.sines[(j - 1) * pass.inner + i] = roots.sines[from];
    }
  for (int64_t j = 0; j < pass.radix; ++j) {
    whole.cosines[j] = roots.cosines[j * pass.inner * step];
    whole.sines[j] = roots.sines[j * pass.inner * step];
  }
  pass.cosines = turns.cosines;
  pass.sines = turns.sines;
  pass.wholeCosines = whole.cosines;
  pass.wholeSines = whole.sines;
  return true;
}

// step: the stride of the plan's roots among those given.
template <typename T>
bool planPasses(perpend_call *call, int64_t length, const Table<T> &roots, int64_t step, FourierPlan<T> &plan) {
  plan.length = length;
  plan.passCount = factorise(length, plan.passes);
  for (int64_t i = 0, before = 1; i < plan.passCount; before *= plan.passes[i++].radix) {
    FourierPass<T> &pass = plan.passes[i];
    pass.before = before;
    pass.inner = length / before / pass.radix;
    if (!fillPass(call, roots, before * step, pass))
      return false;
  }
  return true;
}

template <typename T> bool fillChirp(perpend_call *call, FourierTransform<T> &transform) {
  int64_t n = transform.length;
  Table<T> chirp(call, n), filter(call, transform.plan.length);
  if (!chirp.exists() || !filter.exists())
    return false;
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {
    Root root = rootOfUnity(square, 2 * n);
    chirp.cosines[k] = static_cast<T>(root.cosine);
    chirp.sines[k] = static_cast<T>(root.sine);
  }
  transform.chirpCosines = chirp.cosines;
  transform.chirpSines = chirp.sines;
  transform.filterReal = filter.cosines;
  transform.filterImaginary = filter.sines;
  return true;
}

} // namespace

template <typename T>
bool planTransform(perpend_call *call, int64_t elements, bool isReal, FourierTransform<T> &transform) {
  transform.elements = elements;
  transform.isPaired = isReal && elements % 2 == 0;
  const int64_t length = transform.length = transform.isPaired ? elements / 2 : elements;
  transform.isConvolution = length > 1 && factorise(length, transform.plan.passes) == 0;
  Table<T> roots(call, elements);
  if (!roots.exists())
    return false;
  fillRoots(elements, roots.cosines, roots.sines);
  transform.pairCosines = roots.cosines;
  transform.pairSines = roots.sines;
  if (!transform.isConvolution)
    return planPasses(call, length, roots, elements / length, transform.plan);
  const int64_t smooth = smoothAtLeast(2 * length - 1);
  Table<T> others(call, smooth);
  if (!others.exists())
    return false;
  fillRoots(smooth, others.cosines, others.sines);
  return planPasses(call, smooth, others, 1, transform.plan) && fillChirp(call, transform);
}

template bool planTransform(perpend_call *call, int64_t elements, bool isReal, FourierTransform<float> &transform);
template bool planTransform(perpend_call *call, int64_t elements, bool isReal, FourierTransform<double> &transform);

} // namespace perpend::library
