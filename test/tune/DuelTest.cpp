//===- DuelTest.cpp - which of two is faster ------------------------------===//

#include "tune/Duel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace perpend::tune;

namespace {
/// Runs that take what `time` says, by how many slices there were before.
TimedRuns taking(std::function<double(int)> time) {
  return
      [time = std::move(time), count = 0](int64_t runs) mutable { return static_cast<double>(runs) * time(count++); };
}
TimedRuns constant(double seconds) {
  return taking([=](int) { return seconds; });
}
/// The logarithms of the times have this deviation.
TimedRuns noisy(double seconds, double deviation, unsigned seed) {
  return taking([=, generator = std::mt19937(seed)](int) mutable {
    return seconds * std::exp(std::normal_distribution(0.0, deviation)(generator));
  });
}
} // namespace

TEST(DuelTest, ConstantTimes) {
  DuelResult faster = duel(constant(1e-4), constant(0.8e-4));
  EXPECT_TRUE(faster.isDone && faster.isFaster);
  EXPECT_NEAR(faster.ratio, 0.8, 1e-9);
  EXPECT_NEAR(faster.seconds, 0.8e-4, 1e-12);
  EXPECT_NEAR(faster.bestSeconds, 1e-4, 1e-12);
  EXPECT_NEAR(faster.spreadSeconds, 0, 1e-12);
  EXPECT_FALSE(duel(constant(1e-4), constant(1.25e-4)).isFaster);
}

TEST(DuelTest, EqualTimes) {
  DuelResult result = duel(constant(1e-5), constant(1e-5));
  EXPECT_TRUE(result.isDone);
  EXPECT_FALSE(result.isFaster);
  EXPECT_NEAR(result.ratio, 1, 1e-9);
}

TEST(DuelTest, LessThanHalfAPercentIsNothing) {
  EXPECT_FALSE(duel(constant(1e-4), constant(0.997e-4)).isFaster);
  EXPECT_TRUE(duel(constant(1e-4), constant(0.99e-4)).isFaster);
}

TEST(DuelTest, NoisyTimes) {
  int gains = 0, falseGains = 0;
  for (unsigned seed = 0; seed < 400; seed += 2) {
    gains += duel(noisy(1e-4, 0.1, seed), noisy(0.8e-4, 0.1, seed + 1)).isFaster;
    falseGains += duel(noisy(1e-4, 0.1, seed), noisy(1e-4, 0.1, seed + 1)).isFaster;
  }
  EXPECT_GT(gains, 190);
  EXPECT_LT(falseGains, 20) << "a second duel squares this part";
}

TEST(DuelTest, AMachineThatSlowsDownSlowsBoth) {
  // Both get slower by one percent a slice, so their turns matter and their averages do not.
  auto drifting = [](double seconds) { return taking([=](int count) { return seconds * std::pow(1.01, count); }); };
  EXPECT_FALSE(duel(drifting(1e-4), drifting(1e-4)).isFaster);
  DuelResult result = duel(drifting(1e-4), drifting(0.9e-4));
  EXPECT_TRUE(result.isFaster);
  EXPECT_NEAR(result.ratio, 0.9, 0.01);
}

TEST(DuelTest, OneSlowSliceIsForgotten) {
  auto interrupted = taking([](int count) { return count == 4 ? 1.0 : 1e-4; });
  DuelResult result = duel(interrupted, constant(1e-4));
  EXPECT_FALSE(result.isFaster);
  EXPECT_NEAR(result.bestSeconds, 1e-4, 1e-9);
}

TEST(DuelTest, ItEnds) {
  int slices = 0;
  auto endless = [&](double seconds) {
    return [&slices, seconds](int64_t runs) { return ++slices, seconds * static_cast<double>(runs); };
  };
  duel(endless(3), endless(3)); // two seconds are over at once
  EXPECT_LE(slices, 4 + 2 * 9);
  slices = 0;
  duel(noisy(1e-6, 2, 1), endless(1e-6)); // never sure
  EXPECT_LE(slices, 2 + 60);
}

TEST(DuelTest, RunsThatFail) {
  auto failing = [](int from) { return taking([=](int count) { return count >= from ? -1.0 : 1e-4; }); };
  for (int from : {0, 1, 2, 5}) {
    EXPECT_FALSE(duel(failing(from), constant(1e-4)).isDone) << from;
    EXPECT_FALSE(duel(constant(1e-4), failing(from)).isDone) << from;
    EXPECT_FALSE(timeAlone(failing(from)).isDone) << from;
  }
}

TEST(DuelTest, NoTimeAtAll) {
  DuelResult result = duel(constant(0), constant(0)); // shorter than the clock's steps
  EXPECT_TRUE(result.isDone);
  EXPECT_TRUE(std::isfinite(result.ratio));
}

TEST(DuelTest, Alone) {
  DuelResult result = timeAlone(noisy(1e-4, 0.05, 7));
  EXPECT_TRUE(result.isDone);
  EXPECT_NEAR(result.seconds, 1e-4, 5e-6);
  EXPECT_EQ(result.ratio, 1);
  EXPECT_FALSE(result.isFaster);
}
