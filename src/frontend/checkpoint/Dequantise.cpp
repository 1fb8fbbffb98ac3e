//===- Dequantise.cpp - numbers of quantised blocks -----------------------===//
//
// The formats of GGUF files. Small blocks have 32 numbers and one scale d (and
// possibly an offset m); K blocks have 256 numbers, with scales of groups that
// are small numbers themselves, times d and dmin. Products and sums are rounded
// one by one, so that results equal those of other readers bit for bit.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Dequantise.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

#pragma clang fp contract(off)

namespace perpend::checkpoint {

/// An f16 as f32, which has all its values.
static float half(const uint8_t *bytes) {
  uint32_t bits = llvm::support::endian::read16le(bytes), sign = (bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(magnitude) | sign);
  }
  uint32_t wide = exponent == 31 ? 0xff : exponent + 112;
  return llvm::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

static int signedByte(uint8_t byte) { return static_cast<int8_t>(byte); }
static float toFloat(int number) { return static_cast<float>(number); }

//===----------------------------------------------------------------------===//
// Blocks of 32
//===----------------------------------------------------------------------===//

/// Calls `set(element, number)` for the 32 numbers of 4 bits in 16 bytes: low halves are elements 0 to 15.
template <typename Set> static void forEachNibble(const uint8_t *bytes, Set set) {
  for (int i = 0; i < 16; ++i) {
    set(i, bytes[i] & 15);
    set(i + 16, bytes[i] >> 4);
  }
}

static void readQ4_0(const uint8_t *block, float *numbers) {
  float d = half(block);
  forEachNibble(block + 2, [=](int i, int q) { numbers[i] = d * toFloat(q - 8); });
}

static void readQ4_1(const uint8_t *block, float *numbers) {
  float d = half(block), m = half(block + 2);
  forEachNibble(block + 4, [=](int i, int q) { numbers[i] = d * toFloat(q) + m; });
}

static void readQ5_0(const uint8_t *block, float *numbers) {
  float d = half(block);
  uint32_t high = llvm::support::endian::read32le(block + 2);
  forEachNibble(block + 6, [=](int i, int q) { numbers[i] = d * toFloat((q | (high >> i & 1) << 4) - 16); });
}

static void readQ5_1(const uint8_t *block, float *numbers) {
  float d = half(block), m = half(block + 2);
  uint32_t high = llvm::support::endian::read32le(block + 4);
  forEachNibble(block + 8, [=](int i, int q) { numbers[i] = d * toFloat(q | (high >> i & 1) << 4) + m; });
}

static void readQ8_0(const uint8_t *block, float *numbers) {
  float d = half(block);
  for (int i = 0; i < 32; ++i)
    numbers[i] = toFloat(signedByte(block[2 + i])) * d;
}

static void readIQ4_NL(const uint8_t *block, float *numbers) {
  static constexpr int values[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  float d = half(block);
  forEachNibble(block + 2, [=](int i, int q) { numbers[i] = d * toFloat(values[q]); });
}

//===----------------------------------------------------------------------===//
// Blocks of 256
//===----------------------------------------------------------------------===//

/// The number of 2 bits of element i: each 128 elements are 32 bytes, in four planes.
static int twoBits(const uint8_t *bytes, int i) { return bytes[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3; }

static void readQ2_K(const uint8_t *block, float *numbers) {
  const uint8_t *scales = block, *bytes = block + 16;
  float d = half(block + 80), dmin = half(block + 82);
  for (int i = 0; i < 256; ++i) {
    uint8_t scale = scales[i / 16];
    numbers[i] = d * toFloat(scale & 15) * toFloat(twoBits(bytes, i)) - dmin * toFloat(scale >> 4);
  }
}

static void readQ3_K(const uint8_t *block, float *numbers) {
  const uint8_t *high = block, *bytes = block + 32, *scales = block + 96;
  float d = half(block + 108);
  for (int i = 0; i < 256; ++i) {
    int j = i / 16, low = scales[j % 8] >> j / 8 * 4 & 15, top = scales[8 + j % 4] >> j / 4 * 2 & 3;
    int isSmall = ~high[i % 32] >> i / 32 & 1;
    numbers[i] = d * toFloat((low | top << 4) - 32) * toFloat(twoBits(bytes, i) - 4 * isSmall);
  }
}

namespace {
struct GroupScale {
  int scale, offset;
};
} // namespace

/// The scale and the offset, of 6 bits, of group j of 8, in 12 bytes.
static GroupScale groupScale(const uint8_t *s, int j) {
  if (j < 4)
    return {s[j] & 63, s[j + 4] & 63};
  return {(s[j + 4] & 15) | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4};
}

/// The number of 4 bits of element i: each 64 elements are 32 bytes, low halves first.
static int fourBits(const uint8_t *bytes, int i) { return bytes[i / 64 * 32 + i % 32] >> i % 64 / 32 * 4 & 15; }

static void readQ4_K(const uint8_t *block, float *numbers) {
  float d = half(block), dmin = half(block + 2);
  for (int i = 0; i < 256; ++i) {
    GroupScale group = groupScale(block + 4, i / 32);
    numbers[i] = d * toFloat(group.scale) * toFloat(fourBits(block + 16, i)) - dmin * toFloat(group.offset);
  }
}

static void readQ5_K(const uint8_t *block, float *numbers) {
  const uint8_t *high = block + 16;
  float d = half(block), dmin = half(block + 2);
  for (int i = 0; i < 256; ++i) {
    GroupScale group = groupScale(block + 4, i / 32);
    int number = fourBits(block + 48, i) | (high[i % 32] >> i / 32 & 1) << 4;
    numbers[i] = d * toFloat(group.scale) * toFloat(number) - dmin * toFloat(group.offset);
  }
}

static void readQ6_K(const uint8_t *block, float *numbers) {
  const uint8_t *high = block + 128, *scales = block + 192;
  float d = half(block + 208);
  for (int i = 0; i < 256; ++i) {
    int low = block[i / 128 * 64 + i % 64] >> i % 128 / 64 * 4 & 15;
    numbers[i] = d * toFloat(signedByte(scales[i / 16])) * toFloat((low | twoBits(high, i) << 4) - 32);
  }
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

BlockReader blockReaderOf(Encoding encoding) {
  static constexpr std::pair<Encoding, BlockReader> readers[] = {
      {Encoding::Q4_0, readQ4_0}, {Encoding::Q4_1, readQ4_1}, {Encoding::Q5_0, readQ5_0},
      {Encoding::Q5_1, readQ5_1}, {Encoding::Q8_0, readQ8_0}, {Encoding::IQ4_NL, readIQ4_NL},
      {Encoding::Q2_K, readQ2_K}, {Encoding::Q3_K, readQ3_K}, {Encoding::Q4_K, readQ4_K},
      {Encoding::Q5_K, readQ5_K}, {Encoding::Q6_K, readQ6_K}};
  for (auto [each, reader] : readers)
    if (each == encoding)
      return reader;
  return nullptr;
}

void dequantise(Encoding encoding, StringRef bytes, float *numbers) {
  const EncodingInfo &info = infoOf(encoding);
  BlockReader reader = blockReaderOf(encoding);
  for (size_t at = 0; at < bytes.size(); at += info.blockBytes, numbers += info.blockElements)
    reader(bytes.bytes_begin() + at, numbers);
}
} // namespace perpend::checkpoint
