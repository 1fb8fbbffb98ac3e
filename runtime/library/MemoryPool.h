// Memory that is handed out piece by piece and never given back: rewind() hands all of it out again.
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

  // All pieces may be handed out again.
  void rewind();

  // Whether a pointer was handed out at some time.
  bool contains(const void *pointer) const;

  // Uninitialised memory; alignment: a power of two up to 64. nullptr: no memory.
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

  // A new block is as large as all others together, so a pool holds at most four times what was needed between two
  // rewinds.
  Block *first = nullptr, *current = nullptr;
  int64_t used = 0, total = 0; // bytes of the current block that are handed out; of all blocks
};

} // namespace perpend::library
#endif
