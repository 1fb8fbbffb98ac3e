// Fourier transforms by AVX-512.
#if defined(__x86_64__)
#include "library/FourierMovement.h"

namespace perpend::library {

const FourierCode<float> fourierCodeOfFloatsAvx512 = {lanesOf<float>, runGroup<float>, runLine<float>,
                                                      fillFilter<float>};
const FourierCode<double> fourierCodeOfDoublesAvx512 = {lanesOf<double>, runGroup<double>, runLine<double>,
                                                        fillFilter<double>};

} // namespace perpend::library
#endif
