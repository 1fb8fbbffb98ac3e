// Calls of fourier.transform of f64.
#include "library/FourierTransform.h"

perpend_status perpend::library::runFourierCall(perpend_call *call, const FourierCode<double> &code) {
  return runCall(call, code);
}
