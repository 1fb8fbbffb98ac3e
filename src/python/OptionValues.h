//===- OptionValues.h - the compiler's options from Python ------*- C++ -*-===//

#ifndef PERPEND_PYTHON_OPTIONVALUES_H
#define PERPEND_PYTHON_OPTIONVALUES_H

#include "python/Program.h"

#include <nanobind/nanobind.h>

namespace perpend::python {

/// Throws perpend.CompileError.
[[noreturn]] void throwCompileError(const std::string &error);

/// Errors: CompileError for a value that is of no option's type.
OptionValues optionValuesOf(nanobind::dict values);
} // namespace perpend::python

#endif
