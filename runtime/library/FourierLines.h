// Fourier transforms of lines side by side: element k of a group is a vector with a number of each of its lines.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERLINES_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERLINES_H
#include "library/FourierPlan.h"

namespace perpend::library {

// Where the lines of a call are: line l of the input begins at (l / behind) * inputCount * step + (l % behind) * parts
// and takes a step of behind * parts numbers from element to element; likewise of the output.
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

// Numbers of working memory for each line of a group: four planes, which have room for the one element more of a pair's
// spectrum.
template <typename T> int64_t planeNumbers(const FourierTransform<T> &transform) {
  return 1 + (transform.plan.length > transform.length ? transform.plan.length : transform.length);
}
template <typename T> int64_t workingNumbers(const FourierTransform<T> &transform) {
  return 4 * planeNumbers(transform);
}

// [first, first + count): a group where count is more than 1, at most groupLines. memory: workingNumbers for each line
// of a whole group, or for one line.
template <typename T>
using FourierRun = void (*)(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory);

// The code for this processor. All give the same numbers.
template <typename T> FourierRun<T> chooseFourierRun();

// Transforms the chirp of a convolution. memory: workingNumbers.
template <typename T> void fillFilter(FourierTransform<T> &transform, T *memory);

} // namespace perpend::library
#endif
