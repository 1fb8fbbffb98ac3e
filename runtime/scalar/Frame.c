// What the runtime's session does elsewhere: the functions of a frame.
#include "Run.h"
#include <stdlib.h>
#include <string.h>

// Linked where a call of the library is.
extern const perpend_handle_functions perpend_handle_functions_v1 __attribute__((weak));

static const perpend_tables noTables;

static int32_t fail(int32_t status, const char *text) {
  struct Run *run = *currentRun;
  if (run->status == PERPEND_OK) {
    size_t length = 0;
    for (; text[length] && length + 1 < sizeof run->message; ++length)
      run->message[length] = text[length];
    run->message[length] = 0;
    run->hasGot = 0;
    run->status = status;
  }
  return status;
}

perpend_handles *perpend_scalar_handles(struct Run *run) {
  if (!&perpend_handle_functions_v1)
    return 0;
  perpend_module module;
  module.tables = run->tables ? run->tables : &noTables;
  perpend_handles *handles = perpend_handle_functions_v1.create(&module, fail);
  if (handles)
    perpend_handle_functions_v1.begin(handles, 0);
  else
    fail(PERPEND_OUT_OF_MEMORY, "no memory for library calls");
  return handles;
}

void perpend_scalar_parallel(perpend_frame *frame, int32_t kernelIndex, perpend_kernel kernel, void *const *buffers,
                             int64_t extent, int64_t grain) {
  (void)kernelIndex;
  (void)grain;
  if (extent > 0)
    kernel(buffers, frame->symbols, 0, extent);
}

int32_t perpend_scalar_refuse(const char *text, int64_t got) {
  struct Run *run = *currentRun;
  if (run->status == PERPEND_OK) {
    fail(PERPEND_INVALID_ARGUMENT, text);
    run->got = got;
    run->hasGot = 1;
  }
  return PERPEND_INVALID_ARGUMENT;
}

int32_t perpend_scalar_reserve(perpend_buffer *buffer, int64_t bytes, int64_t keptBytes) {
  if (bytes < 0)
    return perpend_scalar_refuse("expected a size of at least 0 bytes", bytes);
  if (buffer->data && bytes <= buffer->capacityBytes)
    return PERPEND_OK;
  const int64_t capacity = bytes + bytes / 2;
  void *data = malloc((size_t)capacity);
  if (!data)
    return perpend_scalar_refuse("too little memory for values whose sizes data decides: bytes", bytes);
  if (keptBytes > 0)
    memcpy(data, buffer->data, (size_t)keptBytes);
  free(buffer->data);
  buffer->data = data;
  buffer->capacityBytes = capacity;
  return PERPEND_OK;
}
