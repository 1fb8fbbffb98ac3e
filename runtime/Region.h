// Blocks that are freed together, for names and tables of a model or session. Memory is zeroed; the first bytes of a
// block belong to the region.
#ifndef PERPEND_RUNTIME_REGION_H
#define PERPEND_RUNTIME_REGION_H
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace perpend::runtime {

class Region {
public:
  Region() = default;
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;
  ~Region() {
    while (blocks) {
      Block *next = blocks->next;
      free(blocks);
      blocks = next;
    }
  }

  // count zeroed objects of a trivial type; nullptr if out of memory. count may be 0.
  template <typename T> T *allocate(uint64_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T))
      return nullptr;
    return static_cast<T *>(allocateBytes(static_cast<size_t>(count) * sizeof(T)));
  }

private:
  struct alignas(16) Block {
    Block *next;
    size_t used, capacity;
  };
  static constexpr size_t defaultCapacity = 4000;

  void *allocateBytes(size_t bytes) {
    bytes = (bytes + 15) & ~size_t{15};
    if (bytes <= sizeof own - ownUsed) {
      ownUsed += bytes;
      return own + ownUsed - bytes;
    }
    if (!blocks || blocks->capacity - blocks->used < bytes) {
      size_t capacity = bytes > defaultCapacity ? bytes : defaultCapacity;
      auto *block = static_cast<Block *>(calloc(1, sizeof(Block) + capacity));
      if (!block)
        return nullptr;
      block->next = blocks;
      block->capacity = capacity;
      blocks = block;
    }
    void *result = reinterpret_cast<char *>(blocks + 1) + blocks->used;
    blocks->used += bytes;
    return result;
  }

  alignas(16) unsigned char own[128] = {};
  size_t ownUsed = 0;
  Block *blocks = nullptr;
};

} // namespace perpend::runtime
#endif
