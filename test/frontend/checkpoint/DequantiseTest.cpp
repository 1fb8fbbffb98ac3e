//===- DequantiseTest.cpp - numbers of quantised blocks -------------------===//

#include "frontend/checkpoint/Dequantise.h"
#include "frontend/checkpoint/PackBlocks.h"

#include "DequantiseGoldens.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace perpend::checkpoint;

static std::vector<float> numbersIn(Encoding encoding, StringRef bytes) {
  const EncodingInfo &info = infoOf(encoding);
  std::vector<float> numbers(bytes.size() / info.blockBytes * info.blockElements);
  dequantise(encoding, bytes, numbers.data());
  return numbers;
}

TEST(DequantiseTest, equalsTheReferenceBitForBit) {
  for (const Golden &golden : goldens) {
    SCOPED_TRACE(infoOf(golden.encoding).name.str());
    std::string blocks = llvm::fromHex(golden.block), expected = llvm::fromHex(golden.numbers);
    std::vector<float> numbers = numbersIn(golden.encoding, blocks);
    ASSERT_EQ(numbers.size() * sizeof(float), expected.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, expected.data() + i * sizeof(bits), sizeof(bits));
      ASSERT_EQ(llvm::bit_cast<uint32_t>(numbers[i]), bits) << i;
    }
  }
}

TEST(DequantiseTest, scalesMayBeInfiniteNanOrNegativeZero) {
  std::string block(18, '\x99'); // numbers 1
  auto first = [&](uint16_t scale) {
    std::memcpy(block.data(), &scale, sizeof(scale));
    return llvm::bit_cast<uint32_t>(numbersIn(Encoding::Q4_0, block)[0]);
  };
  EXPECT_EQ(first(0x7c00), 0x7f800000U);
  EXPECT_EQ(first(0xfc00), 0xff800000U);
  EXPECT_EQ(first(0x7e00) & 0x7fc00000U, 0x7fc00000U);
  EXPECT_EQ(first(0x8000), 0x80000000U);
  EXPECT_EQ(first(0x0001), 0x33800000U); // 2^-24
  EXPECT_EQ(first(0xbc00), 0xbf800000U);
}

/// The f16 at a place.
float halfOf(const PackedBlocks::Part &part, size_t place) {
  std::string half(reinterpret_cast<const char *>(part.bytes.get()) + place * 2, 2);
  return numbersIn(Encoding::Q4_0, half + std::string(16, '\x99'))[0]; // of Q4_0: the scale itself
}

/// Element i of packed blocks.
float elementOf(const PackedBlocks &packed, size_t i) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(packed.numbers.bytes.get());
  size_t group = i / static_cast<size_t>(packed.groupSize);
  unsigned shift = i * packed.bits % 8, number = bytes[i * packed.bits / 8] >> shift & ((1U << packed.bits) - 1);
  auto floats = [&](const PackedBlocks::Part &part) {
    return reinterpret_cast<const float *>(part.bytes.get())[group];
  };
  if (packed.sharing > 0) {
    size_t block = group / static_cast<size_t>(packed.sharing);
    auto small = [&](const PackedBlocks::Part &part) {
      return static_cast<float>(static_cast<int8_t>(part.bytes.get()[group]));
    };
    float scaled = (static_cast<float>(number) - static_cast<float>(packed.zero)) *
                   (small(packed.scales) * halfOf(packed.sharedScales, block));
    return packed.offsets.bytes ? scaled - small(packed.offsets) * halfOf(packed.sharedOffsets, block) : scaled;
  }
  float zero = packed.zeros.bytes ? floats(packed.zeros) : static_cast<float>(packed.zero);
  return (static_cast<float>(number) - zero) *
         (packed.hasHalfScales ? halfOf(packed.scales, group) : floats(packed.scales));
}

std::optional<PackedBlocks> packedOf(Encoding encoding, const std::string &blocks, size_t columns) {
  return packBlocks({"w", encoding, {1, static_cast<int64_t>(columns)}, {}, blocks});
}

/// The form of weights in groups says the same numbers; with an offset, up to the rounding of the zero.
TEST(DequantiseTest, packedBlocksHaveTheSameNumbers) {
  for (const Golden &golden : goldens) {
    SCOPED_TRACE(infoOf(golden.encoding).name.str());
    ASSERT_EQ(canPack(golden.encoding), blockReaderOf(golden.encoding) != nullptr);
    std::string blocks = llvm::fromHex(golden.block);
    std::vector<float> numbers = numbersIn(golden.encoding, blocks);
    std::optional<PackedBlocks> packed = packedOf(golden.encoding, blocks, numbers.size());
    ASSERT_TRUE(packed);
    size_t groups = numbers.size() / static_cast<size_t>(packed->groupSize);
    EXPECT_EQ(packed->scales.size, groups * (packed->sharing > 0 ? 1 : packed->hasHalfScales ? 2 : 4));
    EXPECT_EQ(packed->zeros.size, packed->zeros.bytes ? groups * 4 : 0);
    EXPECT_EQ(packed->numbers.size * 8, numbers.size() * packed->bits);
    float largest = std::abs(
        *std::max_element(numbers.begin(), numbers.end(), [](float x, float y) { return std::abs(x) < std::abs(y); }));
    for (size_t i = 0; i < numbers.size(); ++i)
      if (packed->zeros.bytes)
        ASSERT_NEAR(elementOf(*packed, i), numbers[i], 4e-7 * largest) << i;
      else
        ASSERT_EQ(elementOf(*packed, i), numbers[i]) << i;
  }
}

/// A group whose scale is 0 is its offset.
TEST(DequantiseTest, scalesOfZero) {
  std::string block("\0\0\0\x3c", 4); // of Q4_1: a scale of 0, an offset of 1
  block += std::string(16, '\x5a');
  std::optional<PackedBlocks> packed = packedOf(Encoding::Q4_1, block, 32);
  ASSERT_TRUE(packed);
  for (size_t i = 0; i < 32; ++i)
    EXPECT_EQ(elementOf(*packed, i), 1);
}
