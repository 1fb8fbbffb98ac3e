// Error reporting: fail() stores the message for perpend_error_message and returns the status.
#ifndef PERPEND_RUNTIME_ERRORS_H
#define PERPEND_RUNTIME_ERRORS_H
#include "include/perpend.h"

namespace perpend::runtime {

__attribute__((format(printf, 2, 3))) perpend_status fail(perpend_status status, const char *format, ...);

perpend_status failAllocation(int64_t sizeBytes);

} // namespace perpend::runtime
#endif
