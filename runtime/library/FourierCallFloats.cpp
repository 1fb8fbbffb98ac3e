// Calls of fourier.transform of f32.
#include "library/FourierTransform.h"

perpend_status perpend::library::runFourierCall(perpend_call *call, const FourierCode<float> &code) {
  return runCall(call, code);
}
