// The plan of a Fourier transform of a given length: passes and their roots of unity.
#ifndef PERPEND_RUNTIME_LIBRARY_FOURIERPLAN_H
#define PERPEND_RUNTIME_LIBRARY_FOURIERPLAN_H
#include "include/perpend_operator.h"

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

// A transform of any length.
template <typename T> struct FourierTransform {
  int64_t elements;
  // Pairs of real elements are the parts of half as many complex ones, whose spectrum is separated afterwards.
  bool isPaired;
  int64_t length; // length of the complex transform
  // If a prime factor is large: by Bluestein's identity 2 j k = j^2 + k^2 - (k - j)^2, the transform is a convolution
  // with a chirp, computed by a plan of another length.
  bool isConvolution;
  FourierPlan<T> plan;
  const T *pairCosines, *pairSines;   // [length / 2 + 1]: the roots k / elements
  const T *chirpCosines, *chirpSines; // [length]: e^(pi i k^2 / length)
  T *filterReal, *filterImaginary;    // [plan.length]: the chirp's transform, divided by plan.length
};

// Allocates in the scratch memory of a call; false if there is none. The filter of a convolution is left to be filled.
template <typename T>
bool planTransform(perpend_call *call, int64_t elements, bool isReal, FourierTransform<T> &transform);

} // namespace perpend::library
#endif
