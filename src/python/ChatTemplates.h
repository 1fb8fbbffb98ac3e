//===- ChatTemplates.h - binds chat templates -------------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_CHATTEMPLATES_H
#define PERPEND_PYTHON_CHATTEMPLATES_H

#include <nanobind/nanobind.h>

namespace perpend::python {

void bindChatTemplates(nanobind::module_ &module);

} // namespace perpend::python

#endif
