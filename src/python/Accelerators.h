//===- Accelerators.h - programs of accelerators in Python ------*- C++ -*-===//

#ifndef PERPEND_PYTHON_ACCELERATORS_H
#define PERPEND_PYTHON_ACCELERATORS_H

#include <nanobind/nanobind.h>

namespace perpend::python {

void bindAccelerators(nanobind::module_ &m);
} // namespace perpend::python

#endif
