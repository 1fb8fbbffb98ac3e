#include "Planner.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace perpend::runtime;
using Lifetime = perpend_buffer_lifetime;

static int64_t plan(const std::vector<int64_t> &sizes, const std::vector<Lifetime> &lifetimes,
                    std::vector<int64_t> &offsets, Strategy strategy = Strategy::Best) {
  offsets.assign(sizes.size(), -1);
  return planOffsets(sizes.data(), lifetimes.data(), static_cast<int32_t>(sizes.size()), offsets.data(), strategy);
}

static void expectValid(const std::vector<int64_t> &sizes, const std::vector<Lifetime> &lifetimes,
                        const std::vector<int64_t> &offsets, int64_t arena) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_GE(offsets[i], 0);
    EXPECT_EQ(offsets[i] % PERPEND_ALIGNMENT, 0);
    EXPECT_LE(offsets[i] + sizes[i], arena);
    for (size_t j = 0; j < i; ++j) {
      bool meet = lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
      bool overlap = offsets[i] < offsets[j] + sizes[j] && offsets[j] < offsets[i] + sizes[i];
      EXPECT_FALSE(meet && overlap) << i << " and " << j;
    }
  }
}

TEST(Planner, RandomLifetimesAreValidAndAtLeastTheLowerBound) {
  std::mt19937 random(7);
  double worst = 0;
  for (int round = 0; round < 300; ++round) {
    size_t count = random() % 60;
    std::vector<int64_t> sizes(count), offsets;
    std::vector<Lifetime> lifetimes(count);
    for (size_t i = 0; i < count; ++i) {
      sizes[i] = random() % 8 ? random() % 5000 : 0;
      lifetimes[i].first = static_cast<int32_t>(random() % 40);
      lifetimes[i].last = lifetimes[i].first + static_cast<int32_t>(random() % 10);
    }
    int64_t arena = plan(sizes, lifetimes, offsets);
    expectValid(sizes, lifetimes, offsets, arena);
    int64_t bound = lowerBound(sizes.data(), lifetimes.data(), static_cast<int32_t>(count));
    EXPECT_GE(arena, bound);
    int64_t smallest = INT64_MAX;
    for (uint32_t number = 0; number < strategyCount; ++number) {
      int64_t other = plan(sizes, lifetimes, offsets, Strategy{number});
      expectValid(sizes, lifetimes, offsets, other);
      smallest = std::min(smallest, other);
    }
    EXPECT_EQ(arena, smallest);
    int64_t sum = 0;
    for (int64_t size : sizes)
      sum += (size + 63) / 64 * 64;
    EXPECT_EQ(plan(sizes, lifetimes, offsets, Strategy::Apart), sum);
    if (bound)
      worst = std::max(worst, static_cast<double>(arena) / static_cast<double>(bound));
  }
  EXPECT_LT(worst, 1.5);
}

TEST(Planner, ChainReusesTwoBuffers) {
  std::vector<int64_t> sizes(10, 1000), offsets;
  std::vector<Lifetime> lifetimes;
  for (int32_t i = 0; i < 10; ++i)
    lifetimes.push_back({i, i + 1});
  EXPECT_EQ(plan(sizes, lifetimes, offsets), 2 * 1024);
}

TEST(Planner, SizesAreRoundedUpInTheLowerBound) {
  int64_t sizes[] = {1, 65};
  Lifetime lifetimes[] = {{0, 0}, {0, 1}};
  EXPECT_EQ(lowerBound(sizes, lifetimes, 2), 64 + 128);
}

TEST(Planner, RefusesNegativeSizesOverflowsAndReversedLifetimes) {
  std::vector<int64_t> offsets;
  EXPECT_EQ(plan({-1}, {{0, 0}}, offsets), -1);
  EXPECT_EQ(plan({INT64_MAX}, {{0, 0}}, offsets), -1);
  EXPECT_EQ(plan({int64_t{1} << 61, int64_t{1} << 61, 1}, {{0, 0}, {0, 0}, {0, 0}}, offsets), -1);
  EXPECT_EQ(plan({8}, {{2, 1}}, offsets), -1);
  EXPECT_EQ(plan({}, {}, offsets), 0);
}
