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

/// The form of weights in groups says the same numbers.
TEST(DequantiseTest, packedBlocksHaveTheSameNumbers) {
  for (const Golden &golden : goldens) {
    if (!canPack(golden.encoding))
      continue;
    SCOPED_TRACE(infoOf(golden.encoding).name.str());
    std::string blocks = llvm::fromHex(golden.block);
    std::vector<float> numbers = numbersIn(golden.encoding, blocks);
    int64_t columns = static_cast<int64_t>(numbers.size());
    std::optional<PackedBlocks> packed = packBlocks({"w", golden.encoding, {1, columns}, {}, blocks});
    ASSERT_TRUE(packed);
    EXPECT_EQ(packed->scalesBytes * 16, numbers.size());
    EXPECT_EQ(packed->numbersBytes * 8, numbers.size() * packed->bits);
    const auto *bytes = reinterpret_cast<const uint8_t *>(packed->numbers.get());
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::string scale(reinterpret_cast<const char *>(packed->scales.get()) + i / 32 * 2, 2);
      std::string ones = scale + std::string(16, '\x99'); // of Q4_0: the scale itself
      unsigned shift = i * packed->bits % 8, number = bytes[i * packed->bits / 8] >> shift & ((1U << packed->bits) - 1);
      float middle = static_cast<float>(1U << (packed->bits - 1));
      ASSERT_EQ((static_cast<float>(number) - middle) * numbersIn(Encoding::Q4_0, ones)[0], numbers[i]) << i;
    }
  }
}
