//===- Functions.h - transcendental functions -------------------*- C++ -*-===//
//
// Each evaluates a fixed sequence of IEEE operations in double, which every host rounds alike, and rounds once to f32:
// at most 1 ulp of f32 from the exact value.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_FUNCTIONS_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_FUNCTIONS_H

namespace perpend::quoin {

float exponential(float x);
float exponential2(float x);
float logarithm(float x);
float logarithm2(float x);
float sine(float x);
float cosine(float x);
float hyperbolicTangent(float x);
float sigmoid(float x);
float errorFunction(float x);
float gelu(float x);
float silu(float x);
float reciprocalRoot(float x);
float power(float base, float exponent);
/// a - b * trunc(a / b), exact.
float remainderTowardZero(float a, float b);

} // namespace perpend::quoin

#endif
