// Growing buffers.
#include "Allocate.h"
#include "Errors.h"
#include "Session.h"
#include <cstring>

namespace perpend::runtime {
namespace {

// False when there is no memory; the buffer is as it was then.
bool replace(perpend_buffer &buffer, int64_t bytes, int64_t keptBytes) {
  void *data = allocateTensor(bytes);
  if (!data)
    return false;
  if (keptBytes)
    memcpy(data, buffer.data, static_cast<size_t>(keptBytes));
  free(buffer.data);
  buffer = {data, capacityFor(bytes)};
  return true;
}

} // namespace

perpend_status reserve(perpend_buffer &buffer, int64_t bytes) {
  return static_cast<perpend_status>(reserveGrowing(&buffer, bytes, 0));
}

int32_t reserveGrowing(perpend_buffer *buffer, int64_t bytes, int64_t keptBytes) {
  if (bytes < 0 || bytes == INT64_MAX)
    return fail(PERPEND_OUT_OF_MEMORY,
                "an intermediate value has a negative extent or more than 2^63 bytes; hint: this "
                "follows from the values of the inputs");
  if (bytes <= buffer->capacityBytes && buffer->data)
    return PERPEND_OK;
  if (!keptBytes) {
    free(buffer->data);
    buffer->data = nullptr;
  }
  int64_t roomy = buffer->capacityBytes <= INT64_MAX / 2 ? buffer->capacityBytes + buffer->capacityBytes / 2 : 0;
  if (!buffer->data)
    buffer->capacityBytes = 0;
  if ((roomy > bytes && replace(*buffer, roomy, keptBytes)) || replace(*buffer, bytes, keptBytes))
    return PERPEND_OK;
  return failAllocation(bytes);
}

} // namespace perpend::runtime
