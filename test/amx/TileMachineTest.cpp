//===- TileMachineTest.cpp - each instruction against scalar arithmetic ---===//

#include "TileMachine.h"

#include <gtest/gtest.h>

#include <bit>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <immintrin.h>
#include <random>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace perpend::amx;

namespace {
class Tiles : public testing::Test {
  void SetUp() override {
    if (!perpend_amx_isUsed())
      GTEST_SKIP() << "this processor has tiles of its own";
  }
};
using TilesDeathTest = Tiles;

std::mt19937 generator{11};
int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator); }

/// Of tiles 0 (sums), 1 (left) and 2 (right).
struct Shape {
  int rows, columns, words;
};

Configuration configurationOf(const Shape &shape) {
  Configuration configuration = {};
  configuration.palette = 1;
  auto set = [&](int tile, int rows, int words) {
    configuration.rows[tile] = static_cast<uint8_t>(rows);
    configuration.rowBytes[tile] = static_cast<uint16_t>(4 * words);
  };
  set(0, shape.rows, shape.columns);
  set(1, shape.rows, shape.words);
  set(2, shape.words, shape.columns);
  return configuration;
}

/// Rows of 32-bit words in memory, with something between them.
struct Matrix {
  int rows, words, stride;
  std::vector<uint32_t> memory;

  template <typename Word>
  Matrix(int rows, int words, Word word) : rows(rows), words(words), stride(words + pick(0, 5)) {
    for (int i = 0; i < rows * stride + 16; ++i)
      memory.push_back(word());
  }
  uint32_t &at(int row, int word) { return memory[static_cast<size_t>(row * stride + word)]; }
  uint8_t byte(int row, int word, int number) { return static_cast<uint8_t>(at(row, word) >> (8 * number)); }
  float half(int row, int word, int number) {
    return std::bit_cast<float>((number ? at(row, word) : at(row, word) << 16) & 0xFFFF0000u);
  }
};

template <Kind kind> void multiply(Matrix &sums, Matrix &left, Matrix &right) {
  Configuration configuration = configurationOf({sums.rows, sums.words, left.words});
  _tile_loadconfig(&configuration);
  _tile_loadd(0, sums.memory.data(), static_cast<size_t>(4 * sums.stride));
  _tile_stream_loadd(1, left.memory.data(), static_cast<size_t>(4 * left.stride));
  _tile_loadd(2, right.memory.data(), static_cast<size_t>(4 * right.stride));
  if constexpr (kind == Kind::Bf16)
    _tile_dpbf16ps(0, 1, 2);
  else if constexpr (kind == Kind::SignedSigned)
    _tile_dpbssd(0, 1, 2);
  else if constexpr (kind == Kind::SignedUnsigned)
    _tile_dpbsud(0, 1, 2);
  else if constexpr (kind == Kind::UnsignedSigned)
    _tile_dpbusd(0, 1, 2);
  else
    _tile_dpbuud(0, 1, 2);
  _tile_stored(0, sums.memory.data(), static_cast<size_t>(4 * sums.stride));
  _tile_release();
}

/// The processor's own multiply-add, with subnormal numbers as 0.
__attribute__((target("fma"))) void expectBf16(Matrix &sums, Matrix &left, Matrix &right) {
  const unsigned control = _mm_getcsr();
  _mm_setcsr(0x9FC0); // to nearest, subnormal operands and results are 0, no exceptions
  for (int i = 0; i < sums.rows; ++i)
    for (int j = 0; j < sums.words; ++j) {
      __m128 parts[2] = {_mm_setzero_ps(), _mm_setzero_ps()};
      for (int k = 0; k < left.words; ++k)
        for (int number : {0, 1})
          parts[number] =
              _mm_fmadd_ss(_mm_set_ss(left.half(i, k, number)), _mm_set_ss(right.half(k, j, number)), parts[number]);
      __m128 total = _mm_add_ss(_mm_set_ss(std::bit_cast<float>(sums.at(i, j))), _mm_add_ss(parts[0], parts[1]));
      sums.at(i, j) = std::bit_cast<uint32_t>(_mm_cvtss_f32(total));
    }
  _mm_setcsr(control);
}

void expectBytes(Matrix &sums, Matrix &left, Matrix &right, bool isLeftSigned, bool isRightSigned) {
  auto number = [](uint8_t byte, bool isSigned) { return isSigned ? int64_t(int8_t(byte)) : int64_t(byte); };
  for (int i = 0; i < sums.rows; ++i)
    for (int j = 0; j < sums.words; ++j)
      for (int k = 0; k < left.words; ++k)
        for (int n = 0; n < 4; ++n)
          sums.at(i, j) += static_cast<uint32_t>(number(left.byte(i, k, n), isLeftSigned) *
                                                 number(right.byte(k, j, n), isRightSigned));
}

Shape randomShape() { return pick(0, 4) ? Shape{pick(1, 16), pick(1, 16), pick(1, 16)} : Shape{16, 16, 16}; }

template <Kind kind> void checkBytes(bool isLeftSigned, bool isRightSigned) {
  for (int trial = 0; trial < 60; ++trial) {
    const Shape shape = randomShape();
    auto any = [] { return pick(0, 2) ? static_cast<uint32_t>(generator()) : pick(0, 1) ? 0x80808080u : 0xFFFFFFFFu; };
    Matrix sums(shape.rows, shape.columns, any), left(shape.rows, shape.words, any),
        right(shape.words, shape.columns, any), expected = sums;
    expectBytes(expected, left, right, isLeftSigned, isRightSigned);
    multiply<kind>(sums, left, right);
    ASSERT_EQ(sums.memory, expected.memory) << shape.rows << "x" << shape.columns << "x" << shape.words;
  }
}
} // namespace

TEST_F(Tiles, ProductsOfBytes) {
  checkBytes<Kind::SignedSigned>(true, true);
  checkBytes<Kind::SignedUnsigned>(true, false);
  checkBytes<Kind::UnsignedSigned>(false, true);
  checkBytes<Kind::UnsignedUnsigned>(false, false);
}

/// Numbers of which products and sums are near the least normal one, beside usual ones; without NaN.
static uint32_t pairOfBf16() {
  uint32_t word = 0;
  for (int shift : {0, 16}) {
    const int kind = pick(0, 9), exponent = kind < 5 ? pick(120, 134) : kind < 8 ? pick(58, 70) : pick(0, 1);
    word |= static_cast<uint32_t>(pick(0, 1) << 15 | exponent << 7 | pick(0, 127)) << shift;
  }
  return word;
}

TEST_F(Tiles, ProductsOfBf16) {
  if (!__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this processor has no fused multiply-add to compare with";
  for (unsigned control : {0x1F80u, 0x7F80u, 0x3F80u, 0x9FC0u}) // what the caller has set changes nothing
    for (int trial = 0; trial < 150; ++trial) {
      const Shape shape = randomShape();
      auto sum = [] { return pick(0, 1) ? static_cast<uint32_t>(pick(0, 3 << 23)) : pairOfBf16() & 0xFFFF0000; };
      Matrix sums(shape.rows, shape.columns, sum), left(shape.rows, shape.words, pairOfBf16),
          right(shape.words, shape.columns, pairOfBf16), expected = sums;
      expectBf16(expected, left, right);
      const unsigned usual = _mm_getcsr();
      _mm_setcsr(control);
      multiply<Kind::Bf16>(sums, left, right);
      _mm_setcsr(usual);
      ASSERT_EQ(sums.memory, expected.memory) << shape.rows << "x" << shape.columns << "x" << shape.words;
    }
}

TEST_F(Tiles, SubnormalNumbersAreZero) {
  auto bf16 = [](float value) { return std::bit_cast<uint32_t>(value) >> 16; };
  using Factors = std::pair<float, float>;
  auto product = [&](std::vector<Factors> factors, float sum) {
    const int words = static_cast<int>(factors.size());
    auto next = factors.begin(), other = next;
    Matrix sums(1, 1, [&] { return std::bit_cast<uint32_t>(sum); });
    Matrix left(1, words, [&] { return next == factors.end() ? 0 : bf16((next++)->first); });
    Matrix right(words, 1, [&] { return other == factors.end() ? 0 : bf16((other++)->second); });
    right.stride = 1;
    multiply<Kind::Bf16>(sums, left, right);
    return std::bit_cast<float>(sums.at(0, 0));
  };
  EXPECT_EQ(product({{0x1p-63f, 0x1p-63f}}, 0), 0x1p-126f);
  EXPECT_EQ(product({{0x1.FEp-64f, 0x1p-63f}}, 0), 0) << "a product";
  EXPECT_EQ(product({{0x1p-63f, 0x1p-63f}}, -0x1p-127f), 0x1p-126f) << "a sum before";
  EXPECT_EQ(product({{0x1p-63f, 0x1p-63f}}, -0x1.8p-126f), 0) << "a sum after";
  EXPECT_EQ(product({{0x1p-127f, 0x1p+100f}}, 1), 1) << "a factor";
  // To nearest this is 2^-126, and yet it is subnormal: that is seen with an exponent as low as it likes.
  EXPECT_EQ(product({{0x1p-63f, 0x1p-63f}, {-0x1.8p-76f, 0x1p-75f}}, 0), 0);
  EXPECT_TRUE(std::isnan(product({{INFINITY, 0}}, 1)));
  EXPECT_EQ(product({{0x1p127f, 0x1p127f}}, 1), INFINITY);
}

// Rows and columns of a tile, and nothing else; by all registers that an address can have.
TEST_F(Tiles, MovesTiles) {
  auto any = [] { return static_cast<uint32_t>(generator()); };
  for (int trial = 0; trial < 40; ++trial) {
    const Shape shape = randomShape();
    Matrix from(shape.rows, shape.columns, any), to(shape.rows, shape.columns, any), expected = to;
    for (int i = 0; i < shape.rows; ++i)
      for (int j = 0; j < shape.columns; ++j)
        expected.at(shape.rows - 1 - i, j) = from.at(i, j); // the other way round
    [&]() {
      Configuration configuration = configurationOf(shape);
      _tile_loadconfig(&configuration);
      register const uint8_t *source asm("r13") = reinterpret_cast<uint8_t *>(from.memory.data()) - 1000;
      register int64_t step asm("r14") = from.stride;
      asm volatile("tileloadd 1000(%0,%1,4), %%tmm0" : : "r"(source), "r"(step) : "memory");
      register uint32_t *target asm("rbp") = &to.at(shape.rows - 1, 0) + 2;
      register int64_t back asm("rax") = -4 * to.stride;
      asm volatile("tilestored %%tmm0, -8(%0,%1)" : : "r"(target), "r"(back) : "memory");
      _tile_release();
    }();
    ASSERT_EQ(to.memory, expected.memory) << shape.rows << "x" << shape.columns;
  }
}

TEST_F(Tiles, ZerosWhatALoadLeavesAndTileZero) {
  Configuration configuration = configurationOf({3, 5, 2});
  std::vector<uint32_t> ones(256, 1), to(256, 7);
  _tile_loadconfig(&configuration);
  _tile_loadd(0, ones.data(), 64);
  _tile_zero(0);
  _tile_stored(0, to.data(), 20);
  _tile_release();
  EXPECT_EQ(std::vector<uint32_t>(to.begin(), to.begin() + 16),
            std::vector<uint32_t>({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}));
}

TEST_F(Tiles, ConfigurationsAreOfAThread) {
  alignas(64) Configuration wanted = configurationOf({3, 5, 2}), got[3];
  Configuration none = {};
  wanted.startRow = 2;
  register const char *base asm("r11") = reinterpret_cast<const char *>(&wanted) - 16;
  register int64_t index asm("r12") = 2;
  asm volatile("ldtilecfg 8(%0,%1,4)" : : "r"(base), "r"(index) : "memory");
  _tile_storeconfig(&got[0]);
  std::thread([&]() { _tile_storeconfig(&got[1]); }).join();
  EXPECT_EQ(memcmp(&got[0], &wanted, sizeof wanted), 0);
  EXPECT_EQ(memcmp(&got[1], &none, sizeof none), 0);
  std::vector<uint32_t> ones(256, 1), to(256, 7);
  _tile_loadd(0, ones.data(), 20); // of rows from the third on, once
  _tile_storeconfig(&got[2]);
  EXPECT_EQ(got[2].startRow, 0);
  _tile_stored(0, to.data(), 20);
  EXPECT_EQ(to[9], 0u);
  EXPECT_EQ(to[10], 1u);
  _tile_release();
  _tile_storeconfig(&got[2]);
  EXPECT_EQ(memcmp(&got[2], &none, sizeof none), 0);
}

// As the threads of models do.
TEST_F(Tiles, ThreadsThatBlockSignalsHaveThem) {
  const uint64_t before = perpend_amx_count(Kind::Release);
  std::thread([] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    _tile_release();
  }).join();
  EXPECT_EQ(perpend_amx_count(Kind::Release), before + 1);
}

TEST_F(Tiles, CountsWhatItExecutes) {
  const uint64_t before = perpend_amx_count(Kind::Release);
  _tile_release();
  _tile_release();
  EXPECT_EQ(perpend_amx_count(Kind::Release), before + 2);
}

TEST_F(TilesDeathTest, RefusesWhatTheProcessorRefuses) {
  auto with = [](Shape shape, auto change) {
    Configuration configuration = configurationOf(shape);
    change(configuration);
    [&]() { _tile_loadconfig(&configuration); }();
  };
  auto nothing = [](Configuration &) {};
  auto twice = [] { asm volatile(".byte 0xC4, 0xE2, 0x70, 0x5E, 0xC1"); }; // tdpbuud tmm0, tmm1, tmm1
  EXPECT_DEATH(_tile_zero(0), "tilezero: the tile is not configured");
  EXPECT_DEATH(_tile_dpbf16ps(0, 1, 2), "tdpbf16ps: the tiles are not configured");
  EXPECT_DEATH((with({3, 3, 3}, nothing), _tile_zero(5)), "tilezero: the tile is not configured");
  EXPECT_DEATH((with({3, 3, 3}, nothing), twice()), "tdpbuud: a tile is used twice");
  EXPECT_DEATH((with({3, 4, 5}, nothing), _tile_dpbssd(0, 2, 1)),
               "tdpbssd: the tiles' shapes are not those of a product");
  EXPECT_DEATH(with({17, 3, 3}, nothing), "ldtilecfg: no such shape of a tile");
  EXPECT_DEATH(with({3, 17, 3}, nothing), "ldtilecfg: no such shape of a tile");
  EXPECT_DEATH(with({3, 3, 3}, [](Configuration &c) { c.rows[7] = 1; }), "no such shape of a tile");
  EXPECT_DEATH(with({3, 3, 3}, [](Configuration &c) { c.rows[8] = c.rowBytes[8] = 4; }), "no such shape of a tile");
  EXPECT_DEATH(with({3, 3, 3}, [](Configuration &c) { c.palette = 2; }), "ldtilecfg: no such palette");
  EXPECT_DEATH(with({3, 3, 3}, [](Configuration &c) { c.reserved[13] = 1; }), "ldtilecfg: no such palette");
  with({3, 3, 3}, [](Configuration &c) { c = {}; }); // palette 0 releases
}

// Instructions that are no instructions go to whom they would have gone.
TEST_F(TilesDeathTest, PassesOtherIllegalInstructionsOn) {
  EXPECT_EXIT(asm volatile("ud2"), testing::KilledBySignal(SIGILL), "");
  static sigjmp_buf back;
  struct sigaction ours = {}, before = {}, again = {};
  ours.sa_handler = [](int) { siglongjmp(back, 1); };
  ASSERT_EQ(sigaction(SIGILL, &ours, &before), 0);
  if (!sigsetjmp(back, 1)) {
    asm volatile("ud2");
    FAIL() << "an illegal instruction was executed";
  }
  ASSERT_EQ(sigaction(SIGILL, &before, &again), 0);
  EXPECT_EQ(again.sa_handler, ours.sa_handler);
}

TEST_F(Tiles, GrantsThePermission) {
  EXPECT_EQ(syscall(SYS_arch_prctl, 0x1023, 18), 0);
  EXPECT_EQ(syscall(SYS_getpid), getpid());
  errno = 0;
  EXPECT_EQ(syscall(SYS_close, -1), -1);
  EXPECT_EQ(errno, EBADF);
  setenv("PERPEND_AMX_REFUSED", "1", 1);
  errno = 0;
  EXPECT_EQ(syscall(SYS_arch_prctl, 0x1023, 18), -1);
  EXPECT_EQ(errno, EPERM);
  unsetenv("PERPEND_AMX_REFUSED");
}
