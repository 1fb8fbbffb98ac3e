// Reads memory and does nothing else: how fast one thread can get what a token of a language model reads.
#include <stddef.h>
#include <stdint.h>

typedef uint64_t Line __attribute__((vector_size(64)));

/// The exclusive or of all 64-bit words; `bytes` is a multiple of 256. Prefetches a page ahead, across pages, as
/// processors' own prefetchers do not.
uint64_t read_memory(const char *data, size_t bytes) {
  Line parts[4] = {{0}};
  for (size_t at = 0; at < bytes; at += sizeof parts)
    for (size_t i = 0; i < 4; ++i) {
      __builtin_prefetch(data + at + i * sizeof(Line) + 4096, 0, 2);
      parts[i] ^= *(const Line *)(data + at + i * sizeof(Line));
    }
  uint64_t all = 0;
  Line sum = parts[0] ^ parts[1] ^ parts[2] ^ parts[3];
  for (size_t i = 0; i < 8; ++i)
    all ^= sum[i];
  return all;
}
