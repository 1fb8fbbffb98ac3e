//===- FunctionsTest.cpp - transcendental functions, all halves ------------===//

#include "target/quoin/simulator/Functions.h"
#include "target/quoin/simulator/Values.h"

#include <gtest/gtest.h>

#include <random>

namespace perpend::quoin {
namespace {
struct Function {
  const char *name;
  float (*ours)(float);
  double (*exact)(double);
};
const Function functions[] = {
    {"exp", exponential, [](double x) { return std::exp(x); }},
    {"exp2", exponential2, [](double x) { return std::exp2(x); }},
    {"ln", logarithm, [](double x) { return std::log(x); }},
    {"log2", logarithm2, [](double x) { return std::log2(x); }},
    {"sin", sine, [](double x) { return std::sin(x); }},
    {"cos", cosine, [](double x) { return std::cos(x); }},
    {"tanh", hyperbolicTangent, [](double x) { return std::tanh(x); }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"erf", errorFunction, [](double x) { return std::erf(x); }},
    {"gelu", gelu, [](double x) { return x == -INFINITY ? -0.0 : 0.5 * x * std::erfc(-x * 0.70710678118654752440); }},
    {"silu", silu, [](double x) { return x == -INFINITY ? -0.0 : x / (1 + std::exp(-x)); }},
    {"rsqrt", reciprocalRoot, [](double x) { return 1 / std::sqrt(x); }},
};

/// Bits as integers in the order of the numbers.
int64_t ordered(float value) {
  int32_t bits = std::bit_cast<int32_t>(value);
  return bits < 0 ? int64_t(INT32_MIN) - bits : bits;
}

void expectNear(const Function &function, float x, int64_t units) {
  float ours = function.ours(x), exact = float(function.exact(x));
  if (exact != exact) {
    EXPECT_TRUE(ours != ours) << function.name << "(" << x << ") is " << ours;
    return;
  }
  EXPECT_LE(std::abs(ordered(ours) - ordered(exact)), units) << function.name << "(" << x << ") is " << ours << ", expected " << exact;
  EXPECT_EQ(std::signbit(ours), std::signbit(exact)) << function.name << "(" << x << ")";
}

class Transcendental : public testing::TestWithParam<Function> {};

TEST_P(Transcendental, OnAllHalves) {
  for (uint32_t bits = 0; bits < 65536 && !HasFailure(); ++bits) {
    expectNear(GetParam(), floatOfHalf(uint16_t(bits)), 1);
    expectNear(GetParam(), floatOfBrain(uint16_t(bits)), 1);
  }
}

TEST_P(Transcendental, OnRandomSingles) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 200000 && !HasFailure(); ++round)
    expectNear(GetParam(), std::bit_cast<float>(uint32_t(random())), 1);
}

INSTANTIATE_TEST_SUITE_P(All, Transcendental, testing::ValuesIn(functions), [](const auto &info) { return info.param.name; });

TEST(Power, IsNearTheExactValue) {
  std::mt19937 random(2);
  const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.0f, -2.0f, 3.0f, 0.5f, -0.5f, 1e30f, 1e-30f, 16777216.0f, -3.0f};
  auto expect = [](float a, float b) {
    float ours = power(a, b), exact = float(std::pow(double(a), double(b)));
    if (exact != exact)
      EXPECT_TRUE(ours != ours) << a << "^" << b;
    else
      EXPECT_LE(std::abs(ordered(ours) - ordered(exact)), 1) << a << "^" << b << " is " << ours << ", expected " << exact;
  };
  for (float a : special)
    for (float b : special)
      expect(a, b);
  for (unsigned round = 0; round < 100000; ++round)
    expect(float(random() % 100000) / 777, float(int(random() % 4000) - 2000) / 333);
}

TEST(Halves, AllConvertThereAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = floatOfHalf(uint16_t(bits));
    if (value == value) {
      EXPECT_EQ(halfOfFloat(value), bits);
      EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(float(std::bit_cast<_Float16>(uint16_t(bits)))));
    }
    if (float brain = floatOfBrain(uint16_t(bits)); brain == brain)
      EXPECT_EQ(brainOfFloat(brain), bits);
  }
}

TEST(Halves, RoundAsTheCompilerDoes) {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 1000000; ++round) {
    uint32_t bits = uint32_t(random());
    if (round % 2) // of the range of f16
      bits = (bits & 0x87ffffff) + 0x33000000;
    float value = std::bit_cast<float>(bits);
    if (value == value)
      ASSERT_EQ(halfOfFloat(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}
} // namespace
} // namespace perpend::quoin
