/* The checksum of a module's weights: written by the compiler into the descriptor, verified by the runtime.
 *
 * FNV-1a with 64-bit words instead of bytes and four independent lanes, so that it runs at memory speed:
 *   mix(h, w) = let x = (h xor w) * 0x100000001b3 in x xor (x >> 32)        (modulo 2^64)
 *   lane[i]   = 0xcbf29ce484222325 + i                                        for i in 0..3
 *   for each block of 32 bytes: lane[i] = mix(lane[i], little-endian word i of the block)
 *   a last, shorter block is filled with zero bytes; no bytes at all means no block
 *   result    = mix(mix(mix(mix(mix(0xcbf29ce484222325, byteCount), lane[0]), lane[1]), lane[2]), lane[3])
 * It finds accidents (truncation, bad disks, wrong files), not attacks. */
#ifndef PERPEND_CHECKSUM_H
#define PERPEND_CHECKSUM_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERPEND_CHECKSUM_BASIS 0xcbf29ce484222325ull
#define PERPEND_CHECKSUM_PRIME 0x100000001b3ull

static inline uint64_t perpend_checksum_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * PERPEND_CHECKSUM_PRIME;
  return hash ^ (hash >> 32);
}

/* A little-endian word from the first byteCount (at most 8) bytes; missing bytes are zero. */
static inline uint64_t perpend_checksum_word(const uint8_t *bytes, uint64_t byteCount) {
  uint64_t word = 0;
  for (uint64_t i = 0; i < byteCount && i < 8; ++i)
    word |= (uint64_t)bytes[i] << (8 * i);
  return word;
}

static inline uint64_t perpend_checksum(const void *data, uint64_t byteCount) {
  const uint8_t *bytes = (const uint8_t *)data;
  uint64_t lanes[4];
  for (uint64_t i = 0; i < 4; ++i)
    lanes[i] = PERPEND_CHECKSUM_BASIS + i;
  uint64_t position = 0;
  for (; byteCount - position >= 32; position += 32)
    for (uint64_t i = 0; i < 4; ++i)
      lanes[i] = perpend_checksum_mix(lanes[i], perpend_checksum_word(bytes + position + 8 * i, 8));
  uint64_t rest = byteCount - position;
  for (uint64_t i = 0; rest > 0 && i < 4; ++i)
    lanes[i] = perpend_checksum_mix(lanes[i], perpend_checksum_word(bytes + position + (8 * i < rest ? 8 * i : 0),
                                                                    8 * i < rest ? rest - 8 * i : 0));
  uint64_t hash = perpend_checksum_mix(PERPEND_CHECKSUM_BASIS, byteCount);
  for (uint64_t i = 0; i < 4; ++i)
    hash = perpend_checksum_mix(hash, lanes[i]);
  return hash;
}

#ifdef __cplusplus
}
#endif
#endif
