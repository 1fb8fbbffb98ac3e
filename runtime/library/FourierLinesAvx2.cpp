// Fourier transforms by AVX2 and FMA.
#if defined(__x86_64__)
#include "library/FourierMovement.h"

namespace perpend::library {

const FourierCode<float> fourierCodeOfFloatsAvx2 = {lanesOf<float>, runGroup<float>, runLine<float>, fillFilter<float>};
const FourierCode<double> fourierCodeOfDoublesAvx2 = {lanesOf<double>, runGroup<double>, runLine<double>,
                                                      fillFilter<double>};

} // namespace perpend::library
#endif
