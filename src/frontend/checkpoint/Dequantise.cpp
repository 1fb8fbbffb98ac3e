//===- Dequantise.cpp - numbers of quantised blocks in f32 ----------------===//
//
// The formats of GGUF files. Small blocks have 32 numbers and one scale d (and possibly an offset m). K blocks have
// 256 numbers in groups; the scales and offsets of the groups are small integers, times d and dmin. Products and sums
// are rounded one by one, so that results equal those of other readers bit for bit.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Dequantise.h"
#include "frontend/checkpoint/QuantisedBlocks.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

#pragma clang fp contract(off)

namespace perpend::checkpoint {

static int signedByte(uint8_t byte) { return static_cast<int8_t>(byte); }
static float toFloat(int number) { return static_cast<float>(number); }

//===----------------------------------------------------------------------===//
// Blocks of 32
//===----------------------------------------------------------------------===//

static void readQ4_0(const uint8_t *block, float *numbers) {
  float d = half(block);
  for (int i = 0; i < 32; ++i)
    numbers[i] = d * toFloat(nibble(block + 2, i) - 8);
}

static void readQ4_1(const uint8_t *block, float *numbers) {
  float d = half(block), m = half(block + 2);
  for (int i = 0; i < 32; ++i)
    numbers[i] = d * toFloat(nibble(block + 4, i)) + m;
}

static void readQ5_0(const uint8_t *block, float *numbers) {
  float d = half(block);
  for (int i = 0; i < 32; ++i)
    numbers[i] = d * toFloat(fiveBits(block + 6, block + 2, i) - 16);
}

static void readQ5_1(const uint8_t *block, float *numbers) {
  float d = half(block), m = half(block + 2);
  for (int i = 0; i < 32; ++i)
    numbers[i] = d * toFloat(fiveBits(block + 8, block + 4, i)) + m;
}

static void readQ8_0(const uint8_t *block, float *numbers) {
  float d = half(block);
  for (int i = 0; i < 32; ++i)
    numbers[i] = toFloat(signedByte(block[2 + i])) * d;
}

static void readIQ4_NL(const uint8_t *block, float *numbers) {
  float d = half(block);
  for (int i = 0; i < 32; ++i)
    numbers[i] = d * toFloat(unevenValues[nibble(block + 2, i)]);
}

//===----------------------------------------------------------------------===//
// Blocks of 256
//===----------------------------------------------------------------------===//

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
  for (int i = 0; i < 256; ++i)
    numbers[i] = d * toFloat(smallScale(scales, i / 16)) * toFloat(threeBits(high, bytes, i));
}

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
  for (int i = 0; i < 256; ++i)
    numbers[i] = d * toFloat(signedByte(scales[i / 16])) * toFloat(sixBits(block, high, i));
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
