// The heap of a module of WebAssembly, behind its data: blocks with a header of 8 bytes in multiples of 16, and a list
// of free ones by address, of which neighbours are joined. A model allocates little: its tables, and memory for a run
// that stays. A tenth of the C library's size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" char __heap_base; // of the linker

namespace {

struct Block {
  uint32_t bytes;  // with the header
  uint32_t before; // of an aligned block: bytes from the start of the memory that it was cut from; otherwise 0
  Block *next;     // of a free one
};

constexpr uint32_t headerBytes = 8, unitBytes = 16, pageBytes = 65536;
constexpr size_t mostBytes = PTRDIFF_MAX; // of one block, so that differences of pointers into it are exact

Block *firstFree = nullptr;
uintptr_t heapEnd = 0; // 0: nothing was allocated

uintptr_t addressOf(const Block *block) { return reinterpret_cast<uintptr_t>(block); }
bool meet(const Block *block, const Block *next) { return addressOf(block) + block->bytes == addressOf(next); }

void insert(Block *block) {
  Block **place = &firstFree, *previous = nullptr;
  for (; *place && *place < block; place = &(*place)->next)
    previous = *place;
  block->next = *place;
  *place = block;
  if (block->next && meet(block, block->next)) {
    block->bytes += block->next->bytes;
    block->next = block->next->next;
  }
  if (previous && meet(previous, block)) {
    previous->bytes += block->bytes;
    previous->next = block->next;
  }
}

// More memory, at the end of the heap, of at least so many bytes.
bool grow(uint32_t bytes) {
  if (!heapEnd) // headers lie 8 bytes before a multiple of 16
    heapEnd =
        (reinterpret_cast<uintptr_t>(&__heap_base) + headerBytes + unitBytes - 1) / unitBytes * unitBytes - headerBytes;
  const uint64_t size = uint64_t{__builtin_wasm_memory_size(0)} * pageBytes;
  const uint64_t room = size > heapEnd + unitBytes ? (size - heapEnd) / unitBytes * unitBytes : 0;
  const uint64_t missing = bytes > room ? bytes - room : 0, pages = (missing + pageBytes) / pageBytes;
  if (missing && __builtin_wasm_memory_grow(0, static_cast<size_t>(pages)) == SIZE_MAX)
    return false;
  auto *block = reinterpret_cast<Block *>(heapEnd);
  const uint64_t all = (size + (missing ? pages * pageBytes : 0) - heapEnd) / unitBytes * unitBytes;
  heapEnd += static_cast<uintptr_t>(all);
  *block = {static_cast<uint32_t>(all), 0, nullptr};
  insert(block);
  return true;
}

// The first that is large enough; what is left over stays free.
Block *take(uint32_t bytes) {
  for (Block **place = &firstFree; *place; place = &(*place)->next) {
    Block *block = *place;
    if (block->bytes < bytes)
      continue;
    if (block->bytes - bytes < 2 * unitBytes) {
      *place = block->next;
    } else {
      auto *rest = reinterpret_cast<Block *>(addressOf(block) + bytes);
      *rest = {block->bytes - bytes, 0, block->next};
      *place = rest;
      block->bytes = bytes;
    }
    block->before = 0;
    return block;
  }
  return nullptr;
}

Block *headerOf(void *memory) { return reinterpret_cast<Block *>(static_cast<char *>(memory) - headerBytes); }

// Bytes behind an address that malloc or aligned_alloc returned.
size_t roomOf(void *memory) { return headerOf(memory)->bytes - headerBytes; }

} // namespace

extern "C" {

void *malloc(size_t count) {
  if (count > mostBytes)
    return nullptr;
  const auto bytes = static_cast<uint32_t>((count + headerBytes + unitBytes - 1) / unitBytes * unitBytes);
  Block *block = take(bytes);
  if (!block && grow(bytes))
    block = take(bytes);
  return block ? reinterpret_cast<char *>(block) + headerBytes : nullptr;
}

void free(void *memory) {
  if (!memory)
    return;
  Block *block = headerOf(memory);
  if (const uint32_t before = block->before) {
    const uint32_t bytes = block->bytes + before;
    block = reinterpret_cast<Block *>(addressOf(block) - before);
    block->bytes = bytes;
  }
  insert(block);
}

void *aligned_alloc(size_t alignment, size_t count) {
  if (alignment <= unitBytes)
    return malloc(count);
  if (count > mostBytes - alignment)
    return nullptr;
  char *memory = static_cast<char *>(malloc(count + alignment));
  const auto start = reinterpret_cast<uintptr_t>(memory);
  const auto before = static_cast<uint32_t>((start + alignment - 1) / alignment * alignment - start);
  if (!memory || !before)
    return memory;
  *headerOf(memory + before) = {headerOf(memory)->bytes - before, before, nullptr};
  return memory + before;
}

void *calloc(size_t count, size_t bytes) {
  size_t all;
  void *memory = __builtin_mul_overflow(count, bytes, &all) ? nullptr : malloc(all);
  return memory ? memset(memory, 0, all) : nullptr;
}

void *realloc(void *memory, size_t count) {
  if (memory && count <= roomOf(memory))
    return memory;
  void *larger = malloc(count);
  if (larger && memory) {
    memcpy(larger, memory, roomOf(memory));
    free(memory);
  }
  return larger;
}

// By which parts of the C library call them.
void *__libc_malloc(size_t count) { return malloc(count); }
void *__libc_calloc(size_t count, size_t bytes) { return calloc(count, bytes); }
void __libc_free(void *memory) { free(memory); }
}
