// Memory that is allocated piece by piece and only released as a whole: after rewind() all of it is reused.
#ifndef PERPEND_RUNTIME_LIBRARY_MEMORYPOOL_H
#define PERPEND_RUNTIME_LIBRARY_MEMORYPOOL_H
#include <cstddef>
#include <cstdint>

namespace perpend::library {

class MemoryPool {
public:
  MemoryPool() = default;
  MemoryPool(const MemoryPool &) = delete;
  MemoryPool &operator=(const MemoryPool &) = delete;
  ~MemoryPool();

  // Makes all pieces available again.
  void rewind();

  // Whether a pointer was ever allocated here.
  bool contains(const void *pointer) const;

  // Uninitialised memory; alignment is a power of two up to 64. nullptr: out of memory.
  void *allocate(int64_t bytes, int64_t alignment);
  template <typename T> T *allocateArray(int64_t count) {
    return static_cast<T *>(count <= INT64_MAX / static_cast<int64_t>(sizeof(T))
                                ? allocate(count * static_cast<int64_t>(sizeof(T)), alignof(T))
                                : nullptr);
  }

private:
  struct alignas(64) Block {
    Block *next;
    int64_t capacity;
  };
  void *take(int64_t bytes, int64_t alignment);
  bool grow(int64_t bytes);

  // A new block is as large as all others together, so a pool holds at most four times the memory needed between two
  // rewinds.
  Block *first = nullptr, *current = nullptr;
  int64_t used = 0, total = 0; // used bytes of the current block; bytes of all blocks
};

} // namespace perpend::library
#endif
