// fourier.transform of f32, by the widest instructions of the processor.
#include "library/FourierLevel.h"
#include "library/FourierLines.h"

using namespace perpend::library;

extern "C" perpend_status perpend_fourier_transform_floats(perpend_call *call) {
#if defined(__x86_64__)
  if (const Level level = levelOfProcessor(); level != Base)
    return runFourierCall(call, level == Avx512 ? fourierCodeOfFloatsAvx512 : fourierCodeOfFloatsAvx2);
#endif
  return runFourierCall(call, fourierCodeOfFloats);
}
