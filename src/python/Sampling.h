//===- Sampling.h - Python bindings of decoding strategies ------*- C++ -*-===//

#ifndef PERPEND_PYTHON_SAMPLING_H
#define PERPEND_PYTHON_SAMPLING_H

#include <nanobind/nanobind.h>

namespace perpend::python {
void bindSampling(nanobind::module_ &module);
} // namespace perpend::python

#endif
