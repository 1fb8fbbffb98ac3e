// fourier.transform of f64, by the widest instructions of the processor.
#include "library/FourierLevel.h"
#include "library/FourierLines.h"

using namespace perpend::library;

extern "C" perpend_status perpend_fourier_transform_doubles(perpend_call *call) {
#if defined(__x86_64__)
  if (const Level level = levelOfProcessor(); level != Base)
    return runFourierCall(call, level == Avx512 ? fourierCodeOfDoublesAvx512 : fourierCodeOfDoublesAvx2);
#endif
  return runFourierCall(call, fourierCodeOfDoubles);
}
