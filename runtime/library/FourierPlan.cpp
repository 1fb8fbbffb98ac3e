// Factors and tables of Fourier transforms.
#include "library/FourierPlan.h"
#include "library/RootsOfUnity.h"

namespace perpend::library {
namespace {

int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }
int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t withoutFactor(int64_t n, int64_t factor) {
  while (n % factor == 0)
    n /= factor;
  return n;
}

// Odd primes, then powers of two, so that most passes read whole vectors of one line; but a lone two first, whose sums
// then come before all products and are rounded least. 0: a prime is too large.
template <typename T> int32_t factorise(int64_t n, FourierPass<T> *passes) {
  int32_t count = 0, twos = 0;
  for (; n % 2 == 0; n /= 2)
    ++twos;
  if (twos == 1)
    passes[count++].radix = 2;
  for (int64_t radix = 3; n > 1; radix += 2) {
    if (radix > largestRadix)
      return 0;
    for (; n % radix == 0; n /= radix)
      passes[count++].radix = radix;
  }
  const int32_t fours = twos % 3 == 2 ? 1 : twos % 3 == 1 && twos > 1 ? 2 : 0;
  for (int32_t i = 0; i < fours; ++i)
    passes[count++].radix = 4;
  for (int32_t i = 0; i < (twos - 2 * fours) / 3; ++i)
    passes[count++].radix = 8;
  return count;
}

// The least length for the convolution that has small prime factors only, and eights for long ones.
int64_t smoothAtLeast(int64_t least) {
  const int64_t step = least > 64 ? 8 : 1;
  int64_t n = (least + step - 1) / step * step;
  while (withoutFactor(withoutFactor(withoutFactor(n, 2), 3), 5) > 1)
    n += step;
  return n;
}

template <typename T> struct Table {
  T *cosines, *sines;

  Table(FourierTables &tables, int64_t count) : cosines(tables.allocate<T>(count)), sines(tables.allocate<T>(count)) {}
};

// The roots of a pass are every step-th root of the transform.
template <typename T> void fillPass(FourierTables &tables, const Table<T> &roots, int64_t step, FourierPass<T> &pass) {
  Table<T> turns(tables, (pass.radix - 1) * pass.inner), whole(tables, pass.radix);
  pass.cosines = turns.cosines;
  pass.sines = turns.sines;
  pass.wholeCosines = whole.cosines;
  pass.wholeSines = whole.sines;
  if (tables.areCounted())
    return;
  for (int64_t j = 1; j < pass.radix; ++j)
    for (int64_t i = 0, from = 0; i < pass.inner; ++i, from += j * step) {
      turns.cosines[(j - 1) * pass.inner + i] = roots.cosines[from];
      turns.sines[(j - 1) * pass.inner + i] = roots.sines[from];
    }
  for (int64_t j = 0; j < pass.radix; ++j) {
    whole.cosines[j] = roots.cosines[j * pass.inner * step];
    whole.sines[j] = roots.sines[j * pass.inner * step];
  }
}

// step: the stride of the plan's roots among those given.
template <typename T>
void planPasses(FourierTables &tables, int64_t length, const Table<T> &roots, int64_t step, FourierPlan<T> &plan) {
  plan.length = length;
  plan.passCount = factorise(length, plan.passes);
  for (int64_t i = 0, before = 1; i < plan.passCount; before *= plan.passes[i++].radix) {
    FourierPass<T> &pass = plan.passes[i];
    pass.before = before;
    pass.inner = length / before / pass.radix;
    fillPass(tables, roots, before * step, pass);
  }
}

template <typename T> void fillChirp(FourierTables &tables, FourierTransform<T> &transform) {
  const int64_t n = transform.length, count = larger(transform.inputs, transform.computed);
  Table<T> chirp(tables, count), filter(tables, transform.plan.length);
  transform.chirpCosines = chirp.cosines;
  transform.chirpSines = chirp.sines;
  transform.filterReal = filter.cosines;
  transform.filterImaginary = filter.sines;
  for (int64_t k = 0, square = 0; k < count && !tables.areCounted(); square = (square + 2 * k + 1) % (2 * n), ++k) {
    Root root = rootOfUnity(square, 2 * n);
    chirp.cosines[k] = static_cast<T>(root.cosine);
    chirp.sines[k] = static_cast<T>(root.sine);
  }
}

template <typename T> Table<T> tableOfRoots(FourierTables &tables, int64_t n) {
  Table<T> roots(tables, n);
  if (!tables.areCounted())
    fillRoots(n, roots.cosines, roots.sines);
  return roots;
}

FourierPairs pairsOf(const FourierForm &form) {
  const bool isEven = form.elements % 2 == 0;
  if (isEven && form.inputParts == 1)
    return FourierPairs::OfInput;
  bool isHalf = form.inputs <= form.elements / 2 + 1 && form.halves != FourierHalves::OfOutput;
  return isEven && form.outputParts == 1 && isHalf ? FourierPairs::OfOutput : FourierPairs::None;
}

} // namespace

template <typename T>
void planTransform(const FourierForm &form, FourierTables &tables, FourierTransform<T> &transform) {
  const int64_t n = transform.elements = form.elements;
  transform.pairs = pairsOf(form);
  const bool isPaired = transform.pairs != FourierPairs::None;
  const int64_t length = transform.length = isPaired ? n / 2 : n;
  transform.inputs = transform.pairs == FourierPairs::OfInput ? (form.inputs + 1) / 2 : isPaired ? length : form.inputs;
  // The other half of the spectrum of real elements is that of conjugates.
  const int64_t wanted = form.inputParts == 1 ? smaller(form.outputs, n / 2 + 1) : form.outputs;
  transform.computed = isPaired ? length : wanted;
  transform.isConvolution = length > 1 && factorise(length, transform.plan.passes) == 0;
  Table<T> roots = tableOfRoots<T>(tables, n);
  transform.pairCosines = roots.cosines;
  transform.pairSines = roots.sines;
  if (!transform.isConvolution)
    return planPasses(tables, length, roots, n / length, transform.plan);
  const int64_t smooth = smoothAtLeast(transform.inputs + transform.computed - 1);
  planPasses(tables, smooth, tableOfRoots<T>(tables, smooth), 1, transform.plan);
  fillChirp(tables, transform);
}

template void planTransform(const FourierForm &, FourierTables &, FourierTransform<float> &);
template void planTransform(const FourierForm &, FourierTables &, FourierTransform<double> &);

} // namespace perpend::library
