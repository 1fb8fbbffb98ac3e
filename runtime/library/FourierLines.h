// Fourier transforms of several lines at once, by code for each instruction set.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERLINES_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERLINES_H
#include "include/perpend_operator.h"
#include "library/FourierPlan.h"

namespace perpend::library {

// Positions of a call's lines: line l of the input starts at (l / behind) * inputCount * step + (l % behind) * parts
// and has a stride of behind * parts numbers; likewise for the output.
template <typename T> struct FourierLines {
  const FourierTransform<T> *transform;
  const T *input;
  T *output;
  int64_t count, behind, inputCount, outputCount, inputParts, outputParts;
  int64_t given, wanted; // the elements that are read, and those that are computed
  bool isInverse;
  FourierHalves halves;
  T scale;
};

// The code for one instruction set. A line has the same transform alone and in a group.
template <typename T> struct FourierCode {
  int64_t groupLines; // lines that are transformed together
  // Transforms lines [first, first + count), at most groupLines. memory: workingNumbers for each line of a whole group;
  // 64 bytes aligned.
  void (*runGroup)(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory);
  // Transforms one line; count is 1. Each pass of the plan must have vectors of butterflies. memory: workingNumbers.
  // Null where groups serve as well.
  void (*runLine)(const FourierLines<T> &lines, int64_t first, int64_t count, T *memory);
  // Transforms the chirp of a convolution. memory: as for a group.
  void (*fillFilter)(FourierTransform<T> &transform, T *memory);
};

// Elements of each of the two arrays that a transform works on. Vectors may end behind the last one, and the arrays
// do not begin at the same place of a page.
template <typename T> int64_t roomOf(const FourierLines<T> &lines) {
  const FourierTransform<T> &transform = *lines.transform;
  int64_t room = transform.plan.length;
  const int64_t others[] = {transform.length + 1, transform.elements / 2 + 1, lines.wanted};
  for (int64_t needed : others)
    room = room < needed ? needed : room;
  return (room + 15) / 16 * 16 + 48;
}
template <typename T> int64_t workingNumbers(const FourierLines<T> &lines) { return 4 * roomOf(lines); }

extern const FourierCode<float> fourierCodeOfFloats, fourierCodeOfFloatsAvx2, fourierCodeOfFloatsAvx512;
extern const FourierCode<double> fourierCodeOfDoubles, fourierCodeOfDoublesAvx2, fourierCodeOfDoublesAvx512;

// A call of fourier.transform by this code.
perpend_status runFourierCall(perpend_call *call, const FourierCode<float> &code);
perpend_status runFourierCall(perpend_call *call, const FourierCode<double> &code);

} // namespace perpend::library
#endif
