// One message buffer per thread, so that reporting an error never allocates and does not affect other threads.
#include "Errors.h"
#include <cstdarg>
#include <cstdio>

namespace perpend::runtime {

static thread_local char message[512];

perpend_status fail(perpend_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return status;
}

perpend_status failAllocation(int64_t sizeBytes) {
  return fail(PERPEND_OUT_OF_MEMORY, "could not allocate %lld bytes; hint: use a smaller batch or fewer sessions",
              static_cast<long long>(sizeBytes));
}

} // namespace perpend::runtime

const char *perpend_error_message(void) { return perpend::runtime::message; }

const char *perpend_version(void) { return PERPEND_VERSION; }
