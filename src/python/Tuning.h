//===- Tuning.h - Python bindings of tuning ---------------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_TUNING_H
#define PERPEND_PYTHON_TUNING_H

#include <nanobind/nanobind.h>

namespace perpend::python {
void bindTuning(nanobind::module_ &module);
} // namespace perpend::python

#endif
