// Allocation of tensors.
#ifndef PERPEND_RUNTIME_ALLOCATE_H
#define PERPEND_RUNTIME_ALLOCATE_H
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>

namespace perpend::runtime {

// At least this many bytes, to be released by free(); null if out of memory. Uses huge pages if the size fills some, so
// that consecutive rows do not end a page each.
inline void *allocateTensor(int64_t bytes) {
  constexpr size_t line = 64, hugePage = 2 << 20;
  auto rounded = static_cast<size_t>(bytes);
  size_t alignment = rounded >= 2 * hugePage ? hugePage : line;
  rounded = (rounded + alignment - 1) / alignment * alignment;
  void *data = aligned_alloc(alignment, rounded);
  if (data && alignment == hugePage)
    madvise(data, rounded, MADV_HUGEPAGE);
  return data;
}

} // namespace perpend::runtime
#endif
