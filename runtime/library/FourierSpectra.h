// Spectra of real lines, and transforms of any length as convolutions.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERSPECTRA_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERSPECTRA_H
#include "library/FourierLines.h"
#include "library/FourierPasses.h"

namespace perpend::library {
namespace {

// Computes twice the elements 0 to length of a line's spectrum from that of its pairs; the others are conjugates.
// edge: the factor of the first and of the last one.
template <typename T, typename Access, typename Result>
void separatePairs(const FourierTransform<T> &transform, const Access &data, const Result &spare, T edge) {
  const int64_t length = transform.length;
  const auto single = data.single();
  const auto to = spare.single();
  auto first = single.load(0);
  const auto factor = splat<decltype(first.real)>(edge), zero = splat<decltype(first.real)>(T(0));
  to.store(0, {(first.real + first.imaginary) * factor, zero});
  to.store(length, {(first.real - first.imaginary) * factor, zero});
  forElements(data, spare, 1, length, [&](const auto &in, const auto &out, int64_t k) {
    const auto low = in.load(k), high = in.loadReversed(length - k).conjugated();
    const auto moved =
        (high - low).turned().times(in.number(transform.pairCosines, k), in.number(transform.pairSines, k));
    out.store(k, low + high + moved);
  });
}

// The inverse: from elements 0 to length of the spectrum of real elements, the conjugate of the spectrum of their
// pairs. edge: the factor of the first and of the last one. Imaginary parts of these do not count.
template <typename T, typename Access>
void joinPairs(const FourierTransform<T> &transform, const Access &data, const Access &spare, T edge, bool isInverse) {
  const int64_t length = transform.length;
  const auto single = data.single();
  const auto first = single.load(0), last = single.load(length);
  const auto factor = splat<decltype(first.real)>(edge);
  spare.single().store(0, {(first.real + last.real) * factor, (last.real - first.real) * factor});
  forElements(data, spare, 1, length, [&](const auto &in, const auto &out, int64_t k) {
    auto low = in.load(k), high = in.loadReversed(length - k);
    if (isInverse)
      high = high.conjugated();
    else
      low = low.conjugated();
    const auto even = low + high;
    const auto odd = (low - high).times(in.number(transform.pairCosines, k), -in.number(transform.pairSines, k));
    out.store(k, {even.real - odd.imaginary, -(even.imaginary + odd.real)});
  });
}

// The elements behind the middle of the spectrum of real elements.
template <typename Access> void mirror(const Access &data, int64_t elements, int64_t wanted) {
  forElements(data, data, elements / 2 + 1, wanted, [&](const auto &in, const auto &out, int64_t k) {
    out.store(k, in.loadReversed(elements - k).conjugated());
  });
}

// Doubles the elements between the first and the middle one.
template <typename Access> void doubleInner(const Access &data, int64_t elements, int64_t count, bool arePairs) {
  const auto single = data.single();
  auto factor = [&](int64_t element) { return element == 0 || 2 * element == elements ? 1 : 2; };
  using T = typename Access::Number;
  for (int64_t k = 0; k < (arePairs ? (count + 1) / 2 : count); ++k) {
    auto x = single.load(k);
    x.real *= static_cast<T>(factor(arePairs ? 2 * k : k));
    x.imaginary *= static_cast<T>(factor(arePairs ? 2 * k + 1 : k));
    single.store(k, x);
  }
}

template <typename T, typename Access>
void convolve(const FourierTransform<T> &transform, Access &data, Access &spare) {
  const int64_t m = transform.plan.length;
  const T *cosines = transform.chirpCosines, *sines = transform.chirpSines;
  auto turn = [&](const auto &in, const auto &out, int64_t k) {
    out.store(k, in.load(k).times(in.number(cosines, k), in.number(sines, k)));
  };
  forElements(data, spare, 0, transform.inputs, turn);
  forElements(spare, spare, transform.inputs, m, [](const auto &in, const auto &out, int64_t k) {
    auto x = in.load(k);
    x.real = x.imaginary = decltype(x.real){};
    out.store(k, x);
  });
  std::swap(data, spare);
  applyPasses(transform.plan, data, spare, 0, transform.plan.passCount);
  forElements(data, spare, 0, m, [&](const auto &in, const auto &out, int64_t k) {
    const auto x = in.load(k).times(in.number(transform.filterReal, k), -in.number(transform.filterImaginary, k));
    out.store(k, x.exchanged()); // exchanged parts invert the transform
  });
  std::swap(data, spare);
  applyPasses(transform.plan, data, spare, 0, transform.plan.passCount);
  forElements(data, spare, 0, transform.computed, [&](const auto &in, const auto &out, int64_t k) {
    out.store(k, in.load(k).exchanged().times(in.number(cosines, k), in.number(sines, k)));
  });
  std::swap(data, spare);
}

template <typename T> void fillFilter(FourierTransform<T> &transform, T *memory) {
  const int64_t m = transform.plan.length;
  using V = Vector<T, lanesOf<T>>;
  Group<T, lanesOf<T>> data(memory, m), spare(memory + 2 * m * lanesOf<T>, m);
  for (int64_t k = 0; k < m; ++k) {
    const bool isAhead = k < transform.computed, isBehind = m - k < transform.inputs;
    const int64_t distance = isAhead ? k : m - k;
    const bool isUsed = isAhead || isBehind;
    data.store(k, {splat<V>(isUsed ? transform.chirpCosines[distance] : T(0)),
                   splat<V>(isUsed ? transform.chirpSines[distance] : T(0))});
  }
  applyPasses(transform.plan, data, spare, 0, transform.plan.passCount);
  for (int64_t k = 0; k < m; ++k) {
    transform.filterReal[k] = data.load(k).real[0] / static_cast<T>(m);
    transform.filterImaginary[k] = data.load(k).imaginary[0] / static_cast<T>(m);
  }
}

template <typename T> T edgeFactor(const FourierLines<T> &lines) {
  return T(lines.halves == FourierHalves::OfOutput ? 1 : 2);
}

// Transforms the elements that were gathered, in `data`, by passes [done, end) if it is no convolution.
template <typename T, typename Access>
void transformElements(const FourierLines<T> &lines, Access &data, Access &spare, int32_t done, int32_t end) {
  const FourierTransform<T> &transform = *lines.transform;
  const bool hasInputPairs = transform.pairs == FourierPairs::OfInput;
  if (transform.pairs == FourierPairs::OfOutput) {
    joinPairs(transform, data, spare, T(lines.halves == FourierHalves::OfInput ? 1 : 2), lines.isInverse);
    std::swap(data, spare);
  } else if (lines.halves == FourierHalves::OfInput) {
    doubleInner(data, transform.elements, lines.given, hasInputPairs);
  }
  if (transform.isConvolution)
    convolve(transform, data, spare);
  else
    applyPasses(transform.plan, data, spare, done, end);
}

// The rest of the way for spectra of real elements, and for halves of spectra.
template <typename T, typename Access> void finishElements(const FourierLines<T> &lines, Access &data, Access &spare) {
  const FourierTransform<T> &transform = *lines.transform;
  if (transform.pairs == FourierPairs::OfInput) {
    separatePairs(transform, data, spare, edgeFactor(lines));
    std::swap(data, spare);
  } else if (lines.halves == FourierHalves::OfOutput) {
    doubleInner(data, transform.elements, lines.wanted, false);
  }
  if (lines.inputParts == 1)
    mirror(data, transform.elements, lines.wanted);
}

// What the numbers of results are multiplied by.
template <typename T> struct Factors {
  T real, imaginary;
};
template <typename T> Factors<T> factorsOf(const FourierLines<T> &lines) {
  const FourierPairs pairs = lines.transform->pairs;
  const bool isDoubled = (pairs == FourierPairs::OfInput && lines.halves != FourierHalves::OfOutput) ||
                         (pairs == FourierPairs::OfOutput && lines.halves != FourierHalves::OfInput);
  const T real = isDoubled ? lines.scale / 2 : lines.scale;
  const bool isConjugate = (lines.inputParts == 1 && lines.isInverse) || pairs == FourierPairs::OfOutput;
  return {real, isConjugate ? -real : real};
}

} // namespace
} // namespace perpend::library
#endif
