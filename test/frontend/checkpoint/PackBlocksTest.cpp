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
  EXPECT_NE(alone->numbers, again->numbers);
  SharedBlocks shared;
  auto one = packBlocks(first), other = packBlocks(second);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->numbers, other->numbers);
  EXPECT_EQ(one->scales, other->scales);
  EXPECT_EQ(other->bits, 4U);
  EXPECT_EQ(std::memcmp(other->numbers.get(), alone->numbers.get(), alone->numbersBytes), 0);
  EXPECT_EQ(one->numbers.use_count(), 2) << "nobody else keeps them";
  std::weak_ptr<std::byte> numbers = one->numbers;
  one.reset();
  other.reset();
  EXPECT_TRUE(numbers.expired());
  EXPECT_TRUE(packBlocks(second));
}
