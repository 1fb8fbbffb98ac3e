// The parameters of a call, parsed from their JSON text.
#ifndef PERPEND_RUNTIME_LIBRARY_PARAMETERS_H
#define PERPEND_RUNTIME_LIBRARY_PARAMETERS_H
#include "include/perpend_operator.h"

namespace perpend::library {

// perpend_call_services.integer, number and word.
int32_t integerParameter(perpend_call *call, const char *name, int64_t *value);
int32_t numberParameter(perpend_call *call, const char *name, double *value);
int64_t wordParameter(perpend_call *call, const char *name, char *text, int64_t capacity);

} // namespace perpend::library
#endif
