//===- PythonOperators.h - operators that are Python functions --*- C++ -*-===//
//
// A model calls them through host.call (runtime/library/HostCall.cpp), whose
// parameters name the process, a C function of this file, and the operator.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_PYTHON_PYTHONOPERATORS_H
#define PERPEND_PYTHON_PYTHONOPERATORS_H

#include <nanobind/nanobind.h>

namespace perpend::python {

/// Makes a Python function known as the operator `number`: it is called with a list of arrays and the parameters as
/// JSON text, and returns a list of arrays. The reference is weak: once the function is gone, calls are errors.
void addPythonOperator(int64_t number, nanobind::callable function);

/// The parameters of host.call that reach that operator.
nanobind::dict hostParameters(int64_t number);
} // namespace perpend::python

#endif
