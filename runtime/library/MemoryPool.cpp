// A list of blocks, used again from its start after every rewind.
#include "library/MemoryPool.h"
#include <algorithm>
#include <cstdlib>
#include <functional>

namespace perpend::library {

MemoryPool::~MemoryPool() {
  for (Block *block = first; block;) {
    Block *next = block->next;
    free(block);
    block = next;
  }
}

void MemoryPool::rewind() {
  current = first;
  used = 0;
}

bool MemoryPool::contains(const void *pointer) const {
  auto *wanted = static_cast<const char *>(pointer);
  for (const Block *block = first; block; block = block->next) {
    auto *begin = reinterpret_cast<const char *>(block + 1);
    if (std::greater_equal<>()(wanted, begin) && std::less_equal<>()(wanted, begin + block->capacity))
      return true;
  }
  return false;
}

// Allocates from the current block; nullptr if it has no room.
void *MemoryPool::take(int64_t bytes, int64_t alignment) {
  int64_t start = (used + alignment - 1) / alignment * alignment;
  if (!current || start > current->capacity - bytes)
    return nullptr;
  used = start + bytes;
  return reinterpret_cast<char *>(current + 1) + start;
}

// Appends a block after the current one, which is the last, and makes it current.
bool MemoryPool::grow(int64_t bytes) {
  constexpr int64_t leastCapacity = 4096 - sizeof(Block);
  int64_t capacity = (std::max({bytes, total, leastCapacity}) + 63) / 64 * 64;
  void *memory = aligned_alloc(alignof(Block), sizeof(Block) + static_cast<size_t>(capacity));
  if (!memory)
    return false;
  auto *block = static_cast<Block *>(memory);
  *block = {nullptr, capacity};
  (current ? current->next : first) = block;
  current = block;
  used = 0;
  total += capacity;
  return true;
}

void *MemoryPool::allocate(int64_t bytes, int64_t alignment) {
  if (bytes < 0 || bytes > PTRDIFF_MAX / 4)
    return nullptr;
  for (;;) {
    if (void *memory = take(bytes, alignment))
      return memory;
    if (current && current->next) {
      current = current->next;
      used = 0;
    } else if (!grow(bytes)) {
      return nullptr;
    }
  }
}

} // namespace perpend::library
