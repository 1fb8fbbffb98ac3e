// Growing buffers.
#include "Allocate.h"
#include "Errors.h"
#include "Session.h"
#include <algorithm>
#include <cstring>

namespace perpend::runtime {
namespace {

constexpr int64_t alignment = 64;

// False if out of memory; the buffer is unchanged then.
bool replace(perpend_buffer &buffer, int64_t bytes, int64_t keptBytes) {
  if (bytes > INT64_MAX - alignment)
    return false;
  int64_t rounded = std::max((bytes + alignment - 1) / alignment, int64_t{1}) * alignment;
  void *data = allocateTensor(rounded);
  if (!data)
    return false;
  if (keptBytes)
    memcpy(data, buffer.data, static_cast<size_t>(keptBytes));
  free(buffer.data);
  buffer = {data, rounded};
  return true;
}

} // namespace

perpend_status reserve(perpend_buffer &buffer, int64_t bytes) {
  if (bytes <= buffer.capacityBytes && buffer.data)
    return PERPEND_OK;
  free(buffer.data);
  buffer = {};
  return replace(buffer, bytes, 0) ? PERPEND_OK : failAllocation(bytes);
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
