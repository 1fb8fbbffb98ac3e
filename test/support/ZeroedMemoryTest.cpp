#include "support/ZeroedMemory.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <fstream>
#include <unistd.h>

using perpend::support::allocateZeroed;

namespace {

class ZeroedMemoryTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ZeroedMemoryTest, IsZeroAndBeginsWithALine) {
  for (int i = 0; i < 3; ++i) {
    std::shared_ptr<std::byte> memory = allocateZeroed(GetParam());
    ASSERT_TRUE(memory);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
    std::byte *begin = memory.get(), *end = begin + GetParam();
    EXPECT_TRUE(std::all_of(begin, end, [](std::byte byte) { return byte == std::byte{0}; }));
    std::fill(begin, end, std::byte{1}); // what is taken next is zero again
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ZeroedMemoryTest, testing::Values(0, 1, 63, 64, 1000, (1 << 20) - 1, 1 << 20, 5000000));

TEST(ZeroedMemoryTest, TooMuchIsNothing) {
  EXPECT_FALSE(allocateZeroed(UINT64_MAX));
  EXPECT_FALSE(allocateZeroed(UINT64_MAX / 2));
}

uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(ZeroedMemoryTest, MuchGoesBackToTheSystem) {
  constexpr uint64_t bytes = 4 << 20, count = 16;
  std::shared_ptr<std::byte> pieces[count];
  for (auto &piece : pieces)
    std::fill_n((piece = allocateZeroed(bytes)).get(), bytes, std::byte{1});
  const uint64_t before = residentBytes();
  for (uint64_t i = 0; i < count; i += 2)
    pieces[i].reset();
  EXPECT_LT(residentBytes() + (count / 2 - 1) * bytes, before);
}

} // namespace
