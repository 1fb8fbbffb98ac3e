// fourier.transform of f32, for models of processors with AVX-512.
#if defined(__x86_64__)
#include "library/FourierTransform.h"

namespace perpend::library {
namespace {
template <> const FourierCode<float> &chooseFourierCode() { return fourierCodeOfFloatsAvx512; }
} // namespace
} // namespace perpend::library

extern "C" perpend_status perpend_fourier_transform_floats_avx512(perpend_call *call) {
  return perpend::library::runFourierCall<float>(call);
}
#endif
