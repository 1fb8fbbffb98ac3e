//===- QuantisedBlocks.h - the parts of quantised blocks --------*- C++ -*-===//
//
// Source: the file format of GGUF, as the package `gguf` reads it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_QUANTISEDBLOCKS_H
#define PERPEND_FRONTEND_CHECKPOINT_QUANTISEDBLOCKS_H

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

#include <cstdint>

namespace perpend::checkpoint {

/// An f16.
inline float half(const uint8_t *bytes) {
  uint32_t bits = llvm::support::endian::read16le(bytes), sign = (bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(magnitude) | sign);
  }
  uint32_t wide = exponent == 31 ? 0xff : exponent + 112;
  return llvm::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// The numbers of 4 bits in 16 bytes: low halves are elements 0 to 15.
inline int nibble(const uint8_t *bytes, int i) { return bytes[i % 16] >> i / 16 * 4 & 15; }
/// The same with a fifth bit from 4 bytes.
inline int fiveBits(const uint8_t *bytes, const uint8_t *high, int i) {
  return nibble(bytes, i) | static_cast<int>(high[i / 8] >> i % 8 & 1) << 4;
}

/// The values of IQ4_NL.
inline constexpr int unevenValues[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// The number of 2 bits of element i of 256: each 128 elements are 32 bytes, in four planes.
inline int twoBits(const uint8_t *bytes, int i) { return bytes[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3; }

/// The number of 4 bits of element i of 256: each 64 elements are 32 bytes, low halves first.
inline int fourBits(const uint8_t *bytes, int i) { return bytes[i / 64 * 32 + i % 32] >> i % 64 / 32 * 4 & 15; }

/// The scale and the offset, of 6 bits, of group j of 8, in 12 bytes.
struct GroupScale {
  int scale, offset;
};
inline GroupScale groupScale(const uint8_t *s, int j) {
  if (j < 4)
    return {s[j] & 63, s[j + 4] & 63};
  return {(s[j + 4] & 15) | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4};
}

/// The scale of group j of 16 in Q3_K: 4 low bits, 2 high ones.
inline int smallScale(const uint8_t *scales, int j) {
  return ((scales[j % 8] >> j / 8 * 4 & 15) | (scales[8 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
}
/// The number, -4 to 3, of element i in Q3_K.
inline int threeBits(const uint8_t *high, const uint8_t *bytes, int i) {
  return twoBits(bytes, i) - (high[i % 32] >> i / 32 & 1 ? 0 : 4);
}
/// The number, -32 to 31, of element i in Q6_K.
inline int sixBits(const uint8_t *low, const uint8_t *high, int i) {
  return ((low[i / 128 * 64 + i % 64] >> i % 128 / 64 * 4 & 15) | twoBits(high, i) << 4) - 32;
}
} // namespace perpend::checkpoint

#endif
