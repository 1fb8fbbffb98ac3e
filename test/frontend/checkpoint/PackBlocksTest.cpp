//===- PackBlocksTest.cpp - packed blocks of several imports --------------===//

#include "frontend/checkpoint/PackBlocks.h"
#include "support/MappedFile.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

using namespace perpend::checkpoint;

/// A matrix [2, 32] of Q4_0 in a file, mapped anew.
static StoredTensor matrixIn(const std::string &path) {
  auto file = perpend::support::mapFile(path);
  EXPECT_TRUE(static_cast<bool>(file));
  StoredTensor tensor{"w", Encoding::Q4_0, {2, 32}, std::move(*file), {}};
  tensor.bytes = tensor.file->getBuffer();
  return tensor;
}

TEST(PackBlocksTest, importsOfOneFileShareBlocks) {
  std::string path = testing::TempDir() + "/blocks";
  std::string bytes(36, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(7 * i);
  std::ofstream(path, std::ios::binary) << bytes;
  StoredTensor first = matrixIn(path), second = matrixIn(path);
  ASSERT_NE(first.bytes.data(), second.bytes.data());
  auto alone = packBlocks(first), again = packBlocks(second);
  ASSERT_TRUE(alone && again);
  EXPECT_NE(alone->numbers.bytes, again->numbers.bytes);
  SharedBlocks shared;
  auto one = packBlocks(first), other = packBlocks(second);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->numbers.bytes, other->numbers.bytes);
  EXPECT_EQ(one->scales.bytes, other->scales.bytes);
  EXPECT_EQ(other->bits, 4U);
  EXPECT_EQ(std::memcmp(other->numbers.bytes.get(), alone->numbers.bytes.get(), alone->numbers.size), 0);
  EXPECT_EQ(one->numbers.bytes.use_count(), 2) << "nobody else keeps them";
  std::weak_ptr<std::byte> numbers = one->numbers.bytes;
  one.reset();
  other.reset();
  EXPECT_TRUE(numbers.expired());
  EXPECT_TRUE(packBlocks(second));
}

/// Blocks of Q4_K keep their bytes: 256 numbers of 4 bits, 8 scales and 8 offsets, and 2 floats that these share.
TEST(PackBlocksTest, scalesOfTwoLevelsStayApart) {
  std::string bytes(144, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i < 4 ? 0x11 * i : 0x3f);
  auto packed = packBlocks(StoredTensor{"w", Encoding::Q4_K, {1, 256}, {}, bytes});
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->sharing, 8);
  EXPECT_EQ(packed->zero, 0);
  EXPECT_EQ(packed->numbers.size, 128U);
  EXPECT_EQ(packed->scales.size, 8U);
  EXPECT_EQ(packed->offsets.size, 8U);
  EXPECT_FALSE(packed->zeros.bytes);
  EXPECT_EQ(std::memcmp(packed->sharedScales.bytes.get(), bytes.data(), 2), 0);
  EXPECT_EQ(std::memcmp(packed->sharedOffsets.bytes.get(), bytes.data() + 2, 2), 0);
  EXPECT_EQ(static_cast<int>(packed->scales.bytes.get()[0]), 63);
}
