#include "target/WeightMemory.h"

#include "gtest/gtest.h"

#include <cstring>
#include <string>

using namespace perpend::target;
using llvm::ArrayRef;

namespace {

ArrayRef<char> bytesOf(const std::string &text) { return {text.data(), text.size()}; }

TEST(WeightMemoryTest, EqualBytesAreOnePiece) {
  WeightMemory memory;
  const std::string weights(1000, 'w'), others(1000, 'o');
  WeightMemory::Piece first = memory.place(bytesOf(weights)), second = memory.place(bytesOf(std::string(weights)));
  EXPECT_EQ(first, second);
  EXPECT_NE(memory.place(bytesOf(others)), first);
  EXPECT_NE(memory.place(bytesOf(weights.substr(1))), first);
  EXPECT_EQ(std::memcmp(first.get(), weights.data(), weights.size()), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.get()) % 64, 0u);
}

TEST(WeightMemoryTest, MemoryThatIsGivenIsNotCopied) {
  WeightMemory memory;
  alignas(64) static const char aligned[128] = "weights";
  WeightMemory::Piece given(aligned, [](const char *) {});
  EXPECT_EQ(memory.place({aligned, 100}, given).get(), aligned);
  EXPECT_EQ(memory.place({aligned, 100}).get(), aligned);
  WeightMemory::Piece unaligned(aligned + 4, [](const char *) {});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.place({aligned + 4, 100}, unaligned).get()) % 64, 0u);
}

TEST(WeightMemoryTest, PiecesLastAsLongAsTheirUsers) {
  WeightMemory memory;
  int freed = 0;
  alignas(64) static const char bytes[64] = "weights";
  WeightMemory::Piece kept = memory.place(bytes, WeightMemory::Piece(bytes, [&](const char *) { ++freed; }));
  EXPECT_EQ(freed, 0);
  kept = nullptr;
  EXPECT_EQ(freed, 1);
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(memory.place(bytesOf(std::to_string(i))));
  EXPECT_NE(memory.place(bytes).get(), bytes);
}

} // namespace
