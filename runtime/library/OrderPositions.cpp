// order.positions(mask): the positions of the true elements of a vector, in order, as a vector of i64.
#include "library/Arguments.h"
#include <algorithm>
#include <cstring>

using namespace perpend::library;

namespace {

constexpr int64_t unitSize = 1 << 15;

struct Work {
  const uint8_t *mask;
  int64_t size;
  int64_t *starts; // of each unit in the result, then the end
  int64_t *positions;

  int64_t end(int64_t unit) const { return std::min(size, (unit + 1) * unitSize); }
};

void count(void *context, int64_t begin, int64_t end) {
  const auto &work = *static_cast<Work *>(context);
  for (int64_t unit = begin; unit < end; ++unit) {
    uint32_t found = 0;
    for (int64_t i = unit * unitSize; i < work.end(unit); ++i)
      found += work.mask[i] != 0;
    work.starts[unit + 1] = found;
  }
}

// Each position is written, and overwritten by the next one unless its element is true. Nothing is written beyond the
// last true element.
void list(void *context, int64_t begin, int64_t end) {
  const auto &work = *static_cast<Work *>(context);
  int64_t *positions = work.positions;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t next = work.starts[unit], i = unit * unitSize;
    const int64_t last = work.starts[unit + 1];
    while (next < last) {
      uint64_t eight = 1;
      if (i + 8 <= work.size)
        memcpy(&eight, work.mask + i, 8);
      const int64_t stop = eight ? std::min(i + 8, work.size) : i;
      if (!eight)
        i += 8;
      for (; i < stop && next < last; ++i) {
        positions[next] = i;
        next += work.mask[i] != 0;
      }
    }
  }
}

} // namespace

extern "C" perpend_status perpend_order_positions(perpend_call *call) {
  const perpend_tensor &mask = call->inputs[0];
  if (mask.rank != 1 || mask.type != PERPEND_BOOL)
    return perpend_call_fail(call, "expected a vector of bool, got %d dimensions of %s", static_cast<int>(mask.rank),
                             perpend_type_name(mask.type));
  const int64_t size = mask.shape[0], units = (size + unitSize - 1) / unitSize;
  auto *starts =
      static_cast<int64_t *>(perpend_call_scratch(call, (units + 1) * static_cast<int64_t>(sizeof(int64_t))));
  if (!starts)
    return PERPEND_OUT_OF_MEMORY;
  Work work{static_cast<const uint8_t *>(mask.data), size, starts, nullptr};
  starts[0] = 0;
  perpend_call_parallel(call, count, &work, units, 4);
  for (int64_t unit = 0; unit < units; ++unit)
    starts[unit + 1] += starts[unit];
  work.positions = static_cast<int64_t *>(perpend_call_allocate(call, 0, &starts[units], 1));
  if (!work.positions)
    return PERPEND_OUT_OF_MEMORY;
  perpend_call_parallel(call, list, &work, units, 4);
  return PERPEND_OK;
}
