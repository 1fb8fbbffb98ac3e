// Python bindings of schedules: the table of primitives and Scheduler as Python objects.
#ifndef PERPEND_PYTHON_SCHEDULES_H
#define PERPEND_PYTHON_SCHEDULES_H

#include <nanobind/nanobind.h>

namespace perpend::python {

void bindSchedules(nanobind::module_ &module);

} // namespace perpend::python

#endif
