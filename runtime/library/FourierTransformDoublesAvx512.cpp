// fourier.transform of f64, for models of processors with AVX-512.
#if defined(__x86_64__)
#include "library/FourierTransform.h"

namespace perpend::library {
namespace {
template <> const FourierCode<double> &chooseFourierCode() { return fourierCodeOfDoublesAvx512; }
} // namespace
} // namespace perpend::library

extern "C" perpend_status perpend_fourier_transform_doubles_avx512(perpend_call *call) {
  return perpend::library::runFourierCall<double>(call);
}
#endif
