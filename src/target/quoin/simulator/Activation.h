//===- Activation.h - the functions at the end of a drain -------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_ACTIVATION_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_ACTIVATION_H

#include "target/quoin/simulator/Functions.h"
#include "target/quoin/simulator/Values.h"

namespace perpend::quoin {

inline float activate(Activation activation, float x) {
  switch (activation) {
  case Activation::None:
    return x;
  case Activation::Relu:
    return maximum(x, 0.0f);
  case Activation::Relu6:
    return minimum(maximum(x, 0.0f), 6.0f);
  case Activation::Sigmoid:
    return sigmoid(x);
  case Activation::Tanh:
    return hyperbolicTangent(x);
  case Activation::Gelu:
    return gelu(x);
  case Activation::Silu:
    return silu(x);
  }
  return x;
}

} // namespace perpend::quoin

#endif
