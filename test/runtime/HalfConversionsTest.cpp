// The conversions of f16 without instructions, against the instructions.
#include <bit>
#include <cstdint>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <random>

// What the functions are called with and give are f16, whose bits are what is compared.
extern "C" float __extendhfsf2(_Float16 value);
extern "C" _Float16 __truncsfhf2(float value);

__attribute__((target("f16c"))) static uint32_t extendedByInstruction(uint16_t half) {
  return std::bit_cast<uint32_t>(_cvtsh_ss(half));
}

__attribute__((target("f16c"))) static uint16_t truncatedByInstruction(uint32_t single) {
  return static_cast<uint16_t>(_cvtss_sh(std::bit_cast<float>(single), _MM_FROUND_TO_NEAREST_INT));
}

static uint16_t truncated(uint32_t single) {
  return std::bit_cast<uint16_t>(__truncsfhf2(std::bit_cast<float>(single)));
}

struct HalfConversions : testing::Test {
  void SetUp() override {
    if (!__builtin_cpu_supports("f16c"))
      GTEST_SKIP() << "this processor has no instruction to compare with";
  }
};

TEST_F(HalfConversions, EveryHalfIsExtended) {
  for (uint32_t half = 0; half < 1u << 16; ++half)
    ASSERT_EQ(std::bit_cast<uint32_t>(__extendhfsf2(std::bit_cast<_Float16>(static_cast<uint16_t>(half)))),
              extendedByInstruction(static_cast<uint16_t>(half)))
        << half;
}

TEST_F(HalfConversions, NumbersAroundEveryHalfAndTieAreRounded) {
  for (uint32_t half = 0; half < 1u << 16; ++half) {
    uint32_t single = extendedByInstruction(static_cast<uint16_t>(half));
    for (uint32_t tie : {0u, 0x1000u, 0x2000u, 0x3000u})
      for (uint32_t step : {-1u, 0u, 1u})
        ASSERT_EQ(truncated(single + tie + step), truncatedByInstruction(single + tie + step)) << single + tie + step;
  }
}

TEST_F(HalfConversions, OtherNumbersAreRounded) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000'000; ++i) {
    uint32_t single = random();
    ASSERT_EQ(truncated(single), truncatedByInstruction(single)) << single;
  }
}
