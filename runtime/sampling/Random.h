// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (SC 2011): a keyed bijection of 128 bits, so each number is computed from its coordinates, in any order.
#ifndef PERPEND_RUNTIME_SAMPLING_RANDOM_H
#define PERPEND_RUNTIME_SAMPLING_RANDOM_H
#include <cstdint>

namespace perpend::sampling {

struct Words {
  uint32_t word[4];
};

inline Words philox(Words counter, uint64_t seed) {
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter.word[0], second = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<uint32_t>(second >> 32) ^ counter.word[1] ^ key[0], static_cast<uint32_t>(second),
                static_cast<uint32_t>(first >> 32) ^ counter.word[3] ^ key[1], static_cast<uint32_t>(first)}};
    key[0] += 0x9E3779B9; // the golden ratio
    key[1] += 0xBB67AE85; // the square root of 3
  }
  return counter;
}

// In [0, 1), a multiple of 2^-53.
inline double randomNumber(uint64_t seed, uint32_t choice, uint64_t position) {
  const Words words =
      philox({{static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), choice, 0}}, seed);
  return static_cast<double>(((uint64_t{words.word[0]} << 32) | words.word[1]) >> 11) * 0x1p-53;
}

} // namespace perpend::sampling
#endif
