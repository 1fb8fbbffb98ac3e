// Fourier transforms of several lines at once: element k of a group is a vector with one number of each line.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERLINES_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERLINES_H
#include "library/FourierPlan.h"

namespace perpend::library {

// Positions of a call's lines: line l of the input starts at (l / behind) * inputCount * step + (l % behind) * parts
// and has a stride of behind * parts numbers; likewise for the output.
template <typename T> struct FourierLines {
  FourierTransform<T> transform;
  const T *input;
  T *output;
  int64_t count, behind, inputCount, outputCount, inputParts, outputParts;
  bool isInverse;
  T scale;
};

// 32 bytes of lines are transformed together.
template <typename T> constexpr int64_t groupLines = 32 / static_cast<int64_t>(sizeof(T));

// Working memory per line of a group, in numbers: four planes, each with room for the extra element of a pair's
// spectrum.
template <typename T> int64_t planeNumbers(const FourierTransform<T> &transform) {
  return 1 + (transform.plan.length > transform.length ? transform.plan.length : transform.length);
}
template <typename T> int64_t workingNumbers(const FourierTransform<T> &transform) {
  return 4 * planeNumbers(transform);
}

// Transforms lines [first, first + count): a group if count > 1, at most groupLines. memory: workingNumbers for each
// line of a whole group, or for one line.
template <typename T>
using FourierRun = void (*)(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory);

// The code for this processor. All variants give the same numbers.
template <typename T> FourierRun<T> chooseFourierRun();

// Transforms the chirp of a convolution. memory: workingNumbers.
template <typename T> void fillFilter(FourierTransform<T> &transform, T *memory);

} // namespace perpend::library
#endif
