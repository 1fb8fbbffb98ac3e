// Two lists of blocks that take turns. Each is walked through from its start in every other run.
#include "library/RunMemory.h"
#include <algorithm>
#include <cstdlib>
#include <functional>

namespace perpend::library {

RunMemory::~RunMemory() {
  for (Pool &pool : pools)
    for (Block *block = pool.first; block;) {
      Block *next = block->next;
      free(block);
      block = next;
    }
}

void RunMemory::nextRun(bool keepsLatest) {
  current = keepsLatest ? 1 - current : current;
  pools[current].current = pools[current].first;
  pools[current].used = 0;
}

bool RunMemory::contains(const void *pointer) const {
  auto *wanted = static_cast<const char *>(pointer);
  for (const Pool &pool : pools)
    for (const Block *block = pool.first; block; block = block->next) {
      auto *begin = reinterpret_cast<const char *>(block + 1);
      if (std::greater_equal<>()(wanted, begin) && std::less_equal<>()(wanted, begin + block->capacity))
        return true;
    }
  return false;
}

// From the current block; nullptr when it has no room.
void *RunMemory::Pool::take(int64_t bytes, int64_t alignment) {
  int64_t start = (used + alignment - 1) / alignment * alignment;
  if (!current || start > current->capacity - bytes)
    return nullptr;
  used = start + bytes;
  return reinterpret_cast<char *>(current + 1) + start;
}

// Puts a block behind the last one, which is the current one, and goes on with it.
bool RunMemory::Pool::grow(int64_t bytes) {
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

void *RunMemory::allocate(int64_t bytes, int64_t alignment) {
  if (bytes < 0 || bytes > INT64_MAX / 4)
    return nullptr;
  Pool &pool = pools[current];
  for (;;) {
    if (void *memory = pool.take(bytes, alignment))
      return memory;
    if (pool.current && pool.current->next) {
      pool.current = pool.current->next;
      pool.used = 0;
    } else if (!pool.grow(bytes)) {
      return nullptr;
    }
  }
}

} // namespace perpend::library
