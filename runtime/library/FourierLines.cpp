// Fourier transforms by the base instructions, in groups only.
#include "library/FourierMovement.h"

namespace perpend::library {

const FourierCode<float> fourierCodeOfFloats = {lanesOf<float>, runGroup<float>, nullptr, fillFilter<float>};
const FourierCode<double> fourierCodeOfDoubles = {lanesOf<double>, runGroup<double>, nullptr, fillFilter<double>};

} // namespace perpend::library
