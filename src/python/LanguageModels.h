//===- LanguageModels.h - Python bindings of language models ----*- C++ -*-===//

#ifndef PERPEND_PYTHON_LANGUAGEMODELS_H
#define PERPEND_PYTHON_LANGUAGEMODELS_H

#include <nanobind/nanobind.h>

namespace perpend::python {
void bindLanguageModels(nanobind::module_ &module);
} // namespace perpend::python

#endif
