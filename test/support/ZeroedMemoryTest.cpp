#include "support/ZeroedMemory.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
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

/// The line of the process's mappings with an address.
std::string mappingOf(const void *address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 && at >= begin && at < end)
      return line;
  }
  return "";
}

TEST(ZeroedMemoryTest, MayLieInFiles) {
  constexpr uint64_t bytes = 3 << 20;
  const std::string folder = testing::TempDir();
  std::shared_ptr<std::byte> large, small;
  {
    const perpend::support::MemoryInFiles inFiles(folder.c_str());
    large = allocateZeroed(bytes);
    small = allocateZeroed(1000);
  }
  ASSERT_TRUE(large && small);
  EXPECT_NE(mappingOf(large.get()).find("(deleted)"), std::string::npos) << mappingOf(large.get());
  EXPECT_EQ(mappingOf(small.get()).find("(deleted)"), std::string::npos);
  EXPECT_TRUE(std::all_of(large.get(), large.get() + bytes, [](std::byte byte) { return byte == std::byte{0}; }));
  std::fill_n(large.get(), bytes, std::byte{1});
  EXPECT_EQ(mappingOf(allocateZeroed(bytes).get()).find("(deleted)"), std::string::npos) << "when it is over";
}

TEST(ZeroedMemoryTest, IsMemoryWhereThereIsNoRoomForFiles) {
  for (const char *folder : {"/nonexistent", "/proc"}) {
    const perpend::support::MemoryInFiles inFiles(folder);
    std::shared_ptr<std::byte> memory = allocateZeroed(2 << 20);
    ASSERT_TRUE(memory);
    memory.get()[0] = std::byte{1};
  }
  const std::string folder = testing::TempDir();
  const perpend::support::MemoryInFiles inFiles(folder.c_str());
  EXPECT_FALSE(allocateZeroed(UINT64_MAX / 2));
}

} // namespace
