// Allocation of tensors.
#ifndef PERPEND_RUNTIME_ALLOCATE_H
#define PERPEND_RUNTIME_ALLOCATE_H
#include "perpend_module.h"
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace perpend::runtime {

constexpr int64_t hugePageBytes = 2 << 20;

// Tensors that fill some huge pages lie in such: rows that are read one after another do not end with a page each.
inline int64_t alignmentOf(int64_t bytes) { return bytes >= 2 * hugePageBytes ? hugePageBytes : PERPEND_ALIGNMENT; }

// For how many bytes there is room where memory for `bytes` is allocated; 0: nobody has so much.
inline int64_t capacityFor(int64_t bytes) {
  const int64_t alignment = alignmentOf(bytes), least = bytes > 0 ? bytes : 1;
  return least > PTRDIFF_MAX - alignment ? 0 : (least + alignment - 1) / alignment * alignment;
}

// capacityFor(bytes) bytes, for free(); null: there is no memory.
inline void *allocateTensor(int64_t bytes) {
  const int64_t capacity = capacityFor(bytes), alignment = alignmentOf(bytes);
  void *data = capacity ? aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(capacity)) : nullptr;
#if defined(__linux__)
  if (data && alignment == hugePageBytes)
    madvise(data, static_cast<size_t>(capacity), MADV_HUGEPAGE);
#endif
  return data;
}

} // namespace perpend::runtime
#endif
