// The C library's memory on the scalar core: one piece of DDR, which each run begins anew. What is freed comes back if
// nothing behind it is in use.
#include "Run.h"
#include <stdlib.h>
#include <string.h>

enum { alignment = 64 };

struct Block {
  size_t capacityBytes; // of what follows
};

static struct Block *blockOf(void *memory) { return (struct Block *)((unsigned char *)memory - alignment); }

void perpend_scalar_clear(struct Run *run) { run->used = 0; }

void *malloc(size_t bytes) {
  struct Run *run = *currentRun;
  if (bytes > (size_t)run->heapBytes)
    return 0;
  const size_t capacity = (bytes + alignment - 1) / alignment * alignment;
  if (capacity + alignment > (size_t)(run->heapBytes - run->used))
    return 0;
  void *memory = run->heap + run->used + alignment;
  run->used += (int64_t)(capacity + alignment);
  blockOf(memory)->capacityBytes = capacity;
  return memset(memory, 0, capacity); // whole words are read where a part of them was written
}

void free(void *memory) {
  struct Run *run = *currentRun;
  if (memory && (unsigned char *)memory + blockOf(memory)->capacityBytes == run->heap + run->used)
    run->used = (unsigned char *)blockOf(memory) - run->heap;
}

void *aligned_alloc(size_t aligned, size_t bytes) { return aligned > alignment ? 0 : malloc(bytes); }

void *calloc(size_t count, size_t bytes) {
  size_t all;
  void *memory = __builtin_mul_overflow(count, bytes, &all) ? 0 : malloc(all);
  return memory ? memset(memory, 0, all) : 0;
}

void *realloc(void *memory, size_t bytes) {
  if (memory && bytes <= blockOf(memory)->capacityBytes)
    return memory;
  void *larger = malloc(bytes);
  if (larger && memory)
    memcpy(larger, memory, blockOf(memory)->capacityBytes);
  if (larger)
    free(memory);
  return larger;
}
