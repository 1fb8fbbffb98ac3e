// order.extremes and order.positions against plain loops: all types, lines that are adjacent and side by side, ties,
// NaN, signs of zero, no elements.
#include "FakeCall.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using perpend::testing::FakeCall;

extern "C" perpend_status perpend_order_extremes(perpend_call *call);
extern "C" perpend_status perpend_order_positions(perpend_call *call);

namespace {

template <typename T> std::vector<T> fewValues(int64_t count) {
  std::mt19937 random(3);
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values)
    value = static_cast<T>(static_cast<int>(random() % 50) - (std::is_signed_v<T> ? 25 : 0));
  if constexpr (std::is_floating_point_v<T>)
    for (size_t i = 0; i < values.size(); i += 5) {
      constexpr T infinity = std::numeric_limits<T>::infinity(), none = std::numeric_limits<T>::quiet_NaN();
      const T specials[] = {T(-0.0), T(0.0), infinity, -infinity, none, -none};
      values[i] = specials[random() % (i % 7 ? 3 : 6)];
    }
  else if (!values.empty())
    values[values.size() / 2] = std::numeric_limits<T>::max(), values.back() = std::numeric_limits<T>::min();
  return values;
}

// Stretches of pairs that rise, with a fall every 97 elements.
template <typename T> std::vector<T> risingValues(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(i % 97 / 2);
  if constexpr (std::is_floating_point_v<T>)
    for (size_t i = 90; i < values.size(); i += 150)
      values[i] = std::numeric_limits<T>::quiet_NaN();
  return values;
}

// Bits of a number, which tell signs of zero.
template <typename T> std::vector<char> bytesOf(const std::vector<T> &values) {
  auto *first = reinterpret_cast<const char *>(values.data());
  return std::vector<char>(first, first + values.size() * sizeof(T));
}

template <typename T>
void checkExtremes(perpend_type type, std::vector<int64_t> shape, bool isMinimum, const std::vector<T> &x) {
  const int64_t count = shape[1], behind = shape[2];
  std::vector<T> values = x;
  std::vector<int64_t> positions(x.size());
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t line = 0; line < behind; ++line) {
      int64_t best = 0;
      for (int64_t i = 0; i < count; ++i) {
        auto at = [&](int64_t j) { return static_cast<size_t>((row * count + j) * behind + line); };
        const T next = x[at(i)], known = x[at(best)];
        bool isReached = isMinimum ? next <= known : next >= known;
        if constexpr (std::is_floating_point_v<T>)
          isReached = std::isnan(next) || isReached;
        best = isReached ? i : best;
        values[at(i)] = x[at(best)];
        positions[at(i)] = best;
      }
    }
  FakeCall call;
  ASSERT_EQ(call.run(perpend_order_extremes, {call.tensor(type, shape, x)}, {type, PERPEND_I64},
                     isMinimum ? R"({"minimum":1})" : "{}"),
            PERPEND_OK)
      << call.message;
  EXPECT_EQ(call.results[0].bytes, bytesOf(values)) << "type " << type << ", lines of " << count << ", " << behind;
  EXPECT_EQ(call.results[1].template as<int64_t>(), positions) << "type " << type << ", " << count << ", " << behind;
}

template <typename T> void checkType(perpend_type type) {
  for (bool isMinimum : {false, true}) {
    for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{
             {2, 37, 1}, {1, 1, 1}, {3, 0, 1}, {0, 4, 2}, {2, 5, 17}, {1, 9, 1025}, {2, 3, 0}, {1, 1, 5}})
      checkExtremes<T>(type, shape, isMinimum, fewValues<T>(shape[0] * shape[1] * shape[2]));
    std::vector<T> rising = risingValues<T>(700);
    checkExtremes<T>(type, {1, 700, 1}, isMinimum, rising);
    checkExtremes<T>(type, {1, 700, 1}, isMinimum, std::vector<T>(rising.rbegin(), rising.rend()));
  }
}

TEST(RunningOrderTest, ExtremesOfWideTypes) {
  checkType<float>(PERPEND_F32);
  checkType<double>(PERPEND_F64);
  checkType<int32_t>(PERPEND_I32);
  checkType<int64_t>(PERPEND_I64);
  checkType<uint32_t>(PERPEND_U32);
  checkType<uint64_t>(PERPEND_U64);
}

TEST(RunningOrderTest, ExtremesOfNarrowFloats) {
  FakeCall call;
  // of f16: -1 -0 0 -inf NaN inf -NaN 1; of bf16 the same
  for (auto [type, x] : {std::pair<perpend_type, std::vector<uint16_t>>{
                             PERPEND_F16, {0xbc00, 0x8000, 0x0000, 0xfc00, 0x7e00, 0x7c00, 0xfe00, 0x3c00}},
                         {PERPEND_BF16, {0xbf80, 0x8000, 0x0000, 0xff80, 0x7fc0, 0x7f80, 0xffc0, 0x3f80}}}) {
    ASSERT_EQ(call.run(perpend_order_extremes, {call.tensor(type, {1, 8, 1}, x)}, {type, PERPEND_I64}), PERPEND_OK);
    EXPECT_EQ(call.results[1].as<int64_t>(), (std::vector<int64_t>{0, 1, 2, 2, 4, 4, 6, 6}));
    EXPECT_EQ(call.results[0].as<uint16_t>()[7], x[6]);
    ASSERT_EQ(
        call.run(perpend_order_extremes, {call.tensor(type, {1, 8, 1}, x)}, {type, PERPEND_I64}, R"({"minimum":1})"),
        PERPEND_OK);
    EXPECT_EQ(call.results[1].as<int64_t>(), (std::vector<int64_t>{0, 0, 0, 3, 4, 4, 6, 6}));
  }
}

TEST(RunningOrderTest, ExtremesThatItRefuses) {
  FakeCall call;
  EXPECT_EQ(call.run(perpend_order_extremes, {call.texts({1, 1, 1}, {"a"})}, {PERPEND_STRING, PERPEND_I64}),
            PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "expected a tensor of floats of 16 bits or more, or of integers of 32 or 64 bits, with 3 "
                          "dimensions, got 3 dimensions of string");
  EXPECT_EQ(
      call.run(perpend_order_extremes, {call.tensor<int8_t>(PERPEND_I8, {1, 1, 1}, {1})}, {PERPEND_I8, PERPEND_I64}),
      PERPEND_INVALID_DATA);
}

// More than one unit, none and all, and every number of elements behind the last group of eight.
TEST(RunningOrderTest, Positions) {
  std::mt19937 random(3);
  FakeCall call;
  for (int64_t size : {0, 1, 7, 8, 9, 15, 1000, 32768, 32769, 100003})
    for (unsigned share : {0u, 1u, 50u, 99u, 100u}) { // of 100
      std::vector<uint8_t> mask(static_cast<size_t>(size));
      std::vector<int64_t> positions;
      for (size_t i = 0; i < mask.size(); ++i)
        if ((mask[i] = random() % 100 < share))
          positions.push_back(static_cast<int64_t>(i));
      ASSERT_EQ(call.run(perpend_order_positions, {call.tensor(PERPEND_BOOL, {size}, mask)}, {PERPEND_I64}),
                PERPEND_OK);
      EXPECT_EQ(call.results[0].as<int64_t>(), positions) << size << " elements, " << share << " %";
    }
  // Any byte but 0 is true.
  ASSERT_EQ(call.run(perpend_order_positions, {call.tensor<uint8_t>(PERPEND_BOOL, {4}, {0, 255, 0, 2})}, {PERPEND_I64}),
            PERPEND_OK);
  EXPECT_EQ(call.results[0].as<int64_t>(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(call.run(perpend_order_positions, {call.tensor<int64_t>(PERPEND_I64, {1}, {1})}, {PERPEND_I64}),
            PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "expected a vector of bool, got 1 dimensions of i64");
}

} // namespace
