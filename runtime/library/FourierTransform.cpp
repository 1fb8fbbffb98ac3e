// fourier.transform(x, length): y[k] = sum over j of x[j] e^(-2 pi i j k / length), or e^(+...) with the parameter
// `inverse`; divided by length with `scaled`. x: [before, j, behind, parts] of f32 or f64, parts: real, or real and
// imaginary; y likewise. Elements of x from length on are ignored, and those of y are 0. With `half` = 1, elements of x
// between 0 and length / 2 count twice and later ones are ignored, so that the real part of y is the inverse of half a
// spectrum; with `half` = 2, the same is done to elements of y. With another dimension, [before, i, j, behind, parts],
// the dimension i is transformed as well, with its own extent as the length.
#include "library/Functions.h"

extern "C" perpend_status perpend_fourier_transform(perpend_call *call) {
  return call->inputs[0].type == PERPEND_F64 ? perpend_fourier_transform_doubles(call)
                                             : perpend_fourier_transform_floats(call);
}
