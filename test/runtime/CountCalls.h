// Counts every call of the allocator in the process. For one source file of a program: it defines malloc and the
// others.
#ifndef PERPEND_TEST_COUNTCALLS_H
#define PERPEND_TEST_COUNTCALLS_H
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

static std::atomic<int64_t> allocations, frees;

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  ++allocations;
  if (old)
    ++frees;
  return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  ++allocations;
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}
void free(void *memory) {
  if (memory)
    ++frees;
  __libc_free(memory);
}
}

// Calls of the allocator since the start of this object's life.
class Count {
public:
  int64_t allocated() const { return allocations - allocationsBefore; }
  int64_t freed() const { return frees - freesBefore; }

private:
  int64_t allocationsBefore = allocations, freesBefore = frees;
};
#endif
