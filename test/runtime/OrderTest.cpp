// order.sort against std::sort: all types, ranks of a line, orders that are hard for selections, ties, NaN.
#include "FakeCall.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using perpend::testing::FakeCall;

extern "C" perpend_status perpend_order_sort(perpend_call *call);

namespace {

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

struct Ranks {
  int64_t first, wanted;
  bool isDescending = false;
};

template <typename T> bool isBefore(T a, T b, bool isDescending) {
  if (isDescending)
    std::swap(a, b);
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (std::isnan(b) && !std::isnan(a));
  return a < b;
}

template <typename T>
std::vector<int64_t> expected(const std::vector<T> &x, const std::vector<int64_t> &shape, Ranks ranks) {
  const int64_t count = shape[1], behind = shape[2];
  std::vector<int64_t> result(static_cast<size_t>(shape[0] * ranks.wanted * behind)), order(static_cast<size_t>(count));
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t line = 0; line < behind; ++line) {
      auto at = [&](int64_t i) { return x[static_cast<size_t>((row * count + i) * behind + line)]; };
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const bool isFirst = isBefore(at(a), at(b), ranks.isDescending);
        return isFirst || (a < b && !isBefore(at(b), at(a), ranks.isDescending));
      });
      for (int64_t i = 0; i < ranks.wanted; ++i)
        result[static_cast<size_t>((row * ranks.wanted + i) * behind + line)] =
            order[static_cast<size_t>(ranks.first + i)];
    }
  return result;
}

perpend_status run(FakeCall &call, const perpend::testing::FakeTensor &x, Ranks ranks) {
  return call.run(perpend_order_sort, {x, call.tensor<int64_t>(PERPEND_I64, {}, {ranks.first})}, {PERPEND_I64},
                  ranks.isDescending ? R"({"descending":1})" : "{}", {x.shape[0], ranks.wanted, x.shape[2]});
}

template <typename T>
void check(perpend_type type, const std::vector<T> &x, const std::vector<int64_t> &shape, Ranks ranks) {
  FakeCall call;
  ASSERT_EQ(run(call, call.tensor(type, shape, x), ranks), PERPEND_OK) << call.message;
  EXPECT_EQ(call.results[0].template as<int64_t>(), expected(x, shape, ranks))
      << "type " << type << ", lines of " << shape[1] << ", ranks " << ranks.first << " + " << ranks.wanted
      << (ranks.isDescending ? ", descending" : "");
}

// Few different values, so that many are equal.
template <typename T> std::vector<T> fewValues(int64_t count) {
  std::mt19937 random(3);
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values)
    value = static_cast<T>(static_cast<int>(random() % 50) - (std::is_signed_v<T> ? 25 : 0));
  if constexpr (std::is_floating_point_v<T>)
    for (size_t i = 0; i < values.size(); i += 17) {
      const T specials[] = {
          T(notANumber), T(-0.0), T(0.0), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
          -T(notANumber)};
      values[i] = specials[i % 6];
    }
  else if (!values.empty())
    values.front() = std::numeric_limits<T>::max(), values.back() = std::numeric_limits<T>::min();
  return values;
}

template <typename T> void checkType(perpend_type type) {
  for (bool isDescending : {false, true})
    for (int64_t count : {0, 1, 2, 39, 41, 256, 1000, 2003})
      for (int64_t behind : {1, 3, 17})
        for (auto [first, wanted] : {std::pair<int64_t, int64_t>{0, count},
                                     {0, count / 50},
                                     {0, count / 2},
                                     {count / 2, std::min<int64_t>(1, count / 2)},
                                     {count / 3, count / 10}})
          check(type, fewValues<T>(2 * count * behind), {2, count, behind}, {first, wanted, isDescending});
}

TEST(OrderTest, TypesOfNumbers) {
  checkType<float>(PERPEND_F32);
  checkType<double>(PERPEND_F64);
  checkType<int8_t>(PERPEND_I8);
  checkType<int16_t>(PERPEND_I16);
  checkType<int32_t>(PERPEND_I32);
  checkType<int64_t>(PERPEND_I64);
  checkType<uint8_t>(PERPEND_U8);
  checkType<uint16_t>(PERPEND_U16);
  checkType<uint32_t>(PERPEND_U32);
  checkType<uint64_t>(PERPEND_U64);
}

// The upper halves of the bits of f32 are those of bf16.
TEST(OrderTest, NarrowFloats) {
  std::vector<float> values = fewValues<float>(1000);
  std::vector<uint16_t> bits;
  for (float value : values) {
    uint32_t word;
    memcpy(&word, &value, 4);
    bits.push_back(static_cast<uint16_t>(word >> 16));
  }
  FakeCall call;
  for (Ranks ranks : {Ranks{0, 1000}, Ranks{0, 9, true}, Ranks{500, 1}}) {
    ASSERT_EQ(run(call, call.tensor(PERPEND_BF16, {1, 1000, 1}, bits), ranks), PERPEND_OK);
    EXPECT_EQ(call.results[0].as<int64_t>(), expected(values, {1, 1000, 1}, ranks));
  }
  const std::vector<uint16_t> halves = {0x7e00, 0xbc00, 0x8000, 0x0000, 0xfc00, 0x7c00, 0x0001}; // NaN -1 -0 0 -inf inf
  ASSERT_EQ(run(call, call.tensor(PERPEND_F16, {1, 7, 1}, halves), {0, 7}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<int64_t>(), (std::vector<int64_t>{4, 1, 2, 3, 6, 5, 0}));
}

// Sorted, reversed, organ pipes, all equal, and what repeats itself at the distance of a sample.
TEST(OrderTest, OrdersThatMisleadSamples) {
  constexpr int64_t count = 40000;
  std::vector<std::vector<float>> lines(5, std::vector<float>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(i);
    const auto number = static_cast<float>(i);
    lines[0][place] = number;
    lines[1][place] = -number;
    lines[2][place] = static_cast<float>(std::min(i, count - i));
    lines[3][place] = 7;
    lines[4][place] = i % 39 ? -number : 1e6f + number;
  }
  for (const std::vector<float> &line : lines)
    for (bool isDescending : {false, true})
      for (int64_t wanted : {1, 50, 3000})
        check(PERPEND_F32, line, {1, count, 1}, {0, wanted, isDescending});
}

// More of the least are at the end than a bound from the beginning lets through.
TEST(OrderTest, BoundsThatAreTooNarrow) {
  std::vector<int64_t> line(20000, std::numeric_limits<int64_t>::max());
  for (size_t i = 0; i < 300; ++i)
    line[19000 + 3 * i] = static_cast<int64_t>(300 - i);
  check(PERPEND_I64, line, {1, 20000, 1}, {0, 300});
  check(PERPEND_I64, line, {1, 20000, 1}, {0, 301});
  check(PERPEND_I64, line, {2, 10000, 1}, {0, 1});
}

TEST(OrderTest, WhatItRefuses) {
  FakeCall call;
  auto x = call.tensor<float>(PERPEND_F32, {1, 3, 1}, {1, 2, 3});
  EXPECT_EQ(run(call, x, {2, 2}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "expected ranks within lines of less than 2^32 elements, got 2 from 2 of 3");
  EXPECT_EQ(run(call, x, {-1, 2}), PERPEND_INVALID_DATA);
  auto text = call.texts({1, 1, 1}, {"a"});
  EXPECT_EQ(run(call, text, {0, 1}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "expected a tensor of numbers with 3 dimensions, and the first position as i64, "
                          "got 3 dimensions of string, and i64");
}

} // namespace
