// The plan of a Fourier transform of a given form: passes and their roots of unity.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERPLAN_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERPLAN_H
#include <cstdint>

namespace perpend::library {

// Larger prime factors are handled by a convolution.
constexpr int64_t largestRadix = 31;

// One pass: [before, radix, inner] to [radix, before, inner].
template <typename T> struct FourierPass {
  int64_t radix, before, inner;
  const T *cosines, *sines;           // [radix - 1, inner]: the roots j i / (radix inner)
  const T *wholeCosines, *wholeSines; // [radix]: the roots of the radix itself
};

// Decimation in frequency; every pass also sorts (Stockham).
template <typename T> struct FourierPlan {
  static constexpr int32_t mostPasses = 40;
  int64_t length;
  int32_t passCount;
  FourierPass<T> passes[mostPasses];
};

// Halves of spectra that stand for whole ones: elements between 0 and the middle count twice, later ones are ignored in
// the input, and are 0 in the output.
enum class FourierHalves : int32_t { None, OfInput, OfOutput };

// What is transformed; a plan depends on nothing else.
struct FourierForm {
  int64_t elements, inputs, outputs; // inputs: those that are given; outputs: those that are wanted; <= elements
  int32_t inputParts, outputParts, numberBytes;
  FourierHalves halves;
};

// Pairs of real elements are the parts of half as many complex ones: those of the input, whose spectrum is separated
// afterwards, or those of the output.
enum class FourierPairs : int32_t { None, OfInput, OfOutput };

template <typename T> struct FourierTransform {
  int64_t elements;
  FourierPairs pairs;
  int64_t length;           // length of the complex transform
  int64_t inputs, computed; // its elements that are not zero, and those that are needed
  // If a prime factor is large: by Bluestein's identity 2 j k = j^2 + k^2 - (k - j)^2, the transform is a convolution
  // with a chirp, computed by a plan of another length.
  bool isConvolution;
  FourierPlan<T> plan;
  const T *pairCosines, *pairSines;   // [length]: the roots k / elements
  const T *chirpCosines, *chirpSines; // [larger of inputs, computed]: e^(pi i k^2 / length)
  T *filterReal, *filterImaginary;    // [plan.length]: the chirp's transform, divided by plan.length
};

// Memory for tables. Without memory it only counts.
class FourierTables {
public:
  explicit FourierTables(void *given) : memory(static_cast<char *>(given)) {}
  bool areCounted() const { return !memory; }
  int64_t bytes() const { return used; }
  // 64 bytes aligned, with room for the whole vectors that begin at an element.
  template <typename T> T *allocate(int64_t count) {
    T *result = memory ? reinterpret_cast<T *>(memory + used) : nullptr;
    used += (count * static_cast<int64_t>(sizeof(T)) + 127) / 64 * 64;
    return result;
  }

private:
  char *memory;
  int64_t used = 0;
};

// The plan of a form, whose tables are filled unless they are counted. The filter of a convolution is left to be
// filled.
template <typename T>
void planTransform(const FourierForm &form, FourierTables &tables, FourierTransform<T> &transform);

} // namespace perpend::library
#endif
