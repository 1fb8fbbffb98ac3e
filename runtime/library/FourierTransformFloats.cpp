// fourier.transform of f32, by the widest instructions of the processor.
#include "library/FourierLevel.h"
#include "library/FourierTransform.h"

namespace perpend::library {
namespace {
template <> const FourierCode<float> &chooseFourierCode() {
#if defined(__x86_64__)
  if (Level level = levelOfProcessor(); level != Base)
    return level == Avx512 ? fourierCodeOfFloatsAvx512 : fourierCodeOfFloatsAvx2;
#endif
  return fourierCodeOfFloats;
}
} // namespace
} // namespace perpend::library

extern "C" perpend_status perpend_fourier_transform_floats(perpend_call *call) {
  return perpend::library::runFourierCall<float>(call);
}
