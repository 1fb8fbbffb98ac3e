//===- Sampling.h - Python bindings of decoding strategies ------*- C++ -*-===//

#ifndef PERPEND_PYTHON_SAMPLING_H
#define PERPEND_PYTHON_SAMPLING_H

#include <nanobind/nanobind.h>

#include "perpend_sampling.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace perpend::python {

/// The options of a sampler, with the arrays that they point into.
struct SamplerSettings {
  /// Errors: TypeError for a number of another type or out of range.
  SamplerSettings(nanobind::dict numbers, const std::vector<std::pair<int32_t, float>> &bias,
                  std::vector<int32_t> stops);
  SamplerSettings(const SamplerSettings &) = delete;
  SamplerSettings &operator=(const SamplerSettings &) = delete;

  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  std::vector<int32_t> biasTokens, stopTokens;
  std::vector<float> biases;
};

void bindSampling(nanobind::module_ &module);
} // namespace perpend::python

#endif
