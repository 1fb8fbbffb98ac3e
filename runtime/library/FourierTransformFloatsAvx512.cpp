// fourier.transform of f32, for models of processors with AVX-512.
#if defined(__x86_64__)
#include "library/FourierLines.h"

extern "C" perpend_status perpend_fourier_transform_floats_avx512(perpend_call *call) {
  return perpend::library::runFourierCall(call, perpend::library::fourierCodeOfFloatsAvx512);
}
#endif
