// Memory of tensors.
#ifndef PERPEND_RUNTIME_ALLOCATE_H
#define PERPEND_RUNTIME_ALLOCATE_H
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>

namespace perpend::runtime {

// At least so many bytes, for free(); null: there is no memory. In huge pages where it fills some: rows that are read
// one after another do not end with a page each.
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
