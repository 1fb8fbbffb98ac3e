//===- PackBlocks.cpp - blocks as the graph's weights in groups -----------===//
//
// docs/decisions/0027: numbers in one tensor, scales in another. In blocks of
// GGUF the scale lies before the numbers; numbers of 8 bits are signed, and of
// 4 bits the second half of a block lies in the high bits of the first.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/PackBlocks.h"
#include "support/ZeroedMemory.h"

#include <cstring>

namespace perpend::checkpoint {

static constexpr unsigned scaleBytes = 2;

bool canPack(Encoding encoding) { return encoding == Encoding::Q8_0 || encoding == Encoding::Q4_0; }

static void packBytes(const uint8_t *block, uint8_t *numbers) {
  for (int i = 0; i < 32; ++i)
    numbers[i] = block[i] ^ 0x80;
}

static void packNibbles(const uint8_t *block, uint8_t *numbers) {
  for (int i = 0; i < 8; ++i) {
    uint8_t one = block[2 * i], next = block[2 * i + 1];
    numbers[i] = (one & 15) | (next & 15) << 4;
    numbers[i + 8] = one >> 4 | (next & 0xf0);
  }
}

std::optional<PackedBlocks> packBlocks(const StoredTensor &matrix) {
  const EncodingInfo &info = infoOf(matrix.encoding);
  uint64_t count = matrix.bytes.size() / info.blockBytes, size = info.blockBytes - scaleBytes;
  PackedBlocks packed;
  packed.bits = matrix.encoding == Encoding::Q8_0 ? 8 : 4;
  packed.blockSize = info.blockElements;
  packed.numbersBytes = count * size;
  packed.scalesBytes = count * scaleBytes;
  packed.numbers = support::allocateZeroed(packed.numbersBytes);
  packed.scales = support::allocateZeroed(packed.scalesBytes);
  if (!packed.numbers || !packed.scales)
    return std::nullopt;
  auto *numbers = reinterpret_cast<uint8_t *>(packed.numbers.get());
  auto *scales = reinterpret_cast<uint8_t *>(packed.scales.get());
  for (const uint8_t *block = matrix.bytes.bytes_begin(); block != matrix.bytes.bytes_end(); block += info.blockBytes) {
    std::memcpy(scales, block, scaleBytes);
    (packed.bits == 8 ? packBytes : packNibbles)(block + scaleBytes, numbers);
    scales += scaleBytes;
    numbers += size;
  }
  return packed;
}
} // namespace perpend::checkpoint
