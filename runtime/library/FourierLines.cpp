// Fourier transforms by the base instructions.
#include "library/FourierMovement.h"

namespace perpend::library {

const FourierCode<float> fourierCodeOfFloats = {lanesOf<float>, runGroup<float>, runLine<float>, fillFilter<float>};
const FourierCode<double> fourierCodeOfDoubles = {lanesOf<double>, runGroup<double>, runLine<double>,
                                                  fillFilter<double>};

} // namespace perpend::library
