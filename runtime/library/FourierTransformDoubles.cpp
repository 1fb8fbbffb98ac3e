// fourier.transform of f64, by the widest instructions of the processor.
#include "library/FourierLevel.h"
#include "library/FourierTransform.h"

namespace perpend::library {
namespace {
template <> const FourierCode<double> &chooseFourierCode() {
#if defined(__x86_64__)
  if (Level level = levelOfProcessor(); level != Base)
    return level == Avx512 ? fourierCodeOfDoublesAvx512 : fourierCodeOfDoublesAvx2;
#endif
  return fourierCodeOfDoubles;
}
} // namespace
} // namespace perpend::library

extern "C" perpend_status perpend_fourier_transform_doubles(perpend_call *call) {
  return perpend::library::runFourierCall<double>(call);
}
