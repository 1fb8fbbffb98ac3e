#include "Pool.h"
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace perpend::runtime;

template <typename Body>
static void parallel(int64_t extent, int64_t grain, int32_t threads, Body body, Pace *pace = nullptr) {
  parallelFor({[](void *context, int64_t begin, int64_t end) { (*static_cast<Body *>(context))(begin, end); }, &body,
               extent, grain, threads, pace});
}

// Long enough that a helper is worth it.
static void work(int64_t begin, int64_t end) {
  std::this_thread::sleep_for(std::chrono::microseconds(50) * (end - begin));
}

// How many threads besides the caller worked; each unit takes `length`.
static size_t helpersOf(int64_t extent, int64_t grain, std::chrono::microseconds length, Pace *pace = nullptr) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  parallel(
      extent, grain, 2,
      [&](int64_t begin, int64_t end) {
        if (length.count() > 0)
          std::this_thread::sleep_for(length * (end - begin));
        std::lock_guard<std::mutex> lock(mutex);
        seen.insert(std::this_thread::get_id());
      },
      pace);
  return seen.size() - seen.count(std::this_thread::get_id());
}

static size_t threadCount() {
  auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Pool, EveryIndexOnceInPartsOfAtLeastGrain) {
  for (int64_t extent : {0, 1, 2, 3, 7, 64, 1000, 1009})
    for (int64_t grain : {-5, -1, 0, 1, 2, 5, 100, 5000})
      for (int32_t threads : {1, 2, 3, 8}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(extent));
        std::atomic<bool> isTooSmall = false;
        parallel(extent, grain, threads, [&](int64_t begin, int64_t end) {
          if (end - begin < std::min(std::abs(grain), extent))
            isTooSmall = true;
          for (int64_t i = begin; i < end; ++i)
            ++seen[static_cast<size_t>(i)];
        });
        for (auto &count : seen)
          EXPECT_EQ(count, 1);
        EXPECT_FALSE(isTooSmall) << extent << " " << grain << " " << threads;
      }
}

TEST(Pool, UsesSeveralThreadsButNotMoreThanAllowed) {
  std::atomic<int> active = 0, most = 0;
  parallel(64, 1, 3, [&](int64_t, int64_t) {
    int now = ++active, before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    --active;
  });
  EXPECT_GE(most, 2);
  EXPECT_LE(most, 3);
}

// Threads of equal speed finish together: 60 units are 30 for each of two, not 32 and 28; 36 in parts of at least 4 are
// 9 for each of four, not 8, 8, 8 and 12.
TEST(Pool, SharesDifferByOneUnitAtMost) {
  for (int64_t extent : {36, 60, 1009})
    for (int64_t grain : {1, 4})
      for (int32_t threads : {2, 3, 4}) {
        std::mutex mutex;
        std::set<int64_t> begins;
        parallel(extent, grain, threads, [&](int64_t begin, int64_t) {
          std::lock_guard<std::mutex> lock(mutex);
          begins.insert(begin);
        });
        for (int32_t share = 0; share < threads; ++share) {
          int64_t begin = *std::next(begins.begin(), share * begins.size() / threads);
          EXPECT_EQ(begin, (extent * share + threads - 1) / threads) << extent << " " << grain << " " << threads;
        }
      }
}

// What a thread wrote in one kernel it reads in the next one.
TEST(Pool, TheCallerTakesTheFirstHalfAndItsHelperTheSecond) {
  std::thread::id caller = std::this_thread::get_id();
  int inOwnHalf = 0, parts = 0;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> own = 0, all = 0;
    parallel(8, 1, 2, [&](int64_t begin, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1)); // both threads find work
      own += (std::this_thread::get_id() == caller) == (begin < 4);
      ++all;
    });
    inOwnHalf += own;
    parts += all;
  }
  EXPECT_GT(inOwnHalf * 4, parts * 3) << inOwnHalf << " of " << parts;
}

static void sleepUntilWorkersDo() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// Of some tries with a worker that sleeps one leaves it alone; where the machine takes the caller's core away, its work
// looks long.
static bool mayStayAlone(int64_t units, int64_t grain) {
  constexpr int tries = 15;
  for (int i = 0; i < tries; ++i) {
    parallel(64, 1, 2, work); // there is a worker
    sleepUntilWorkersDo();
    if (helpersOf(units, grain, std::chrono::microseconds(0)) == 0)
      return true;
  }
  return false;
}

TEST(Pool, SleepingWorkersAreNotWokenForLittleWork) {
  EXPECT_TRUE(mayStayAlone(7, 1));
  EXPECT_TRUE(mayStayAlone(7, 2));
}

// One of 16 units done alone is a ninth of the time of two threads.
TEST(Pool, TheFirstPartIsTriedOnlyOfAnEstimate) {
  for (auto [grain, isAsleep] : {std::pair(1, false), {-1, false}, {1, true}, {-1, true}}) {
    std::atomic<int64_t> firstEnd = 0;
    parallel(64, 1, 2, work); // there is a worker
    if (isAsleep)
      sleepUntilWorkersDo();
    parallel(16, grain, 2, [&](int64_t begin, int64_t end) {
      if (begin == 0)
        firstEnd = end;
      work(begin, end);
    });
    EXPECT_EQ(firstEnd, grain > 0 ? 2 : 1);
  }
}

// The number of grains is only an estimate of the time.
TEST(Pool, SleepingWorkersAreWokenForFewLongUnits) {
  parallel(64, 1, 2, work);
  sleepUntilWorkersDo();
  EXPECT_EQ(helpersOf(4, 1, std::chrono::milliseconds(20)), 1u);
}

TEST(Pool, SleepingWorkersAreNotWokenForManyShortUnits) { EXPECT_TRUE(mayStayAlone(64, -1)); }

TEST(Pool, WhatWasMeasuredDecidesAfterTheFirstTime) {
  using std::chrono::microseconds;
  parallel(64, 1, 2, work); // there is a worker
  Pace quick{};
  for (int round = 0; round < 20; ++round) // the quickest is believed
    helpersOf(64, 1, microseconds(0), &quick);
  EXPECT_LT(quick.unitNs * 64, 100'000);
  quick.unitNs = 10;
  EXPECT_EQ(helpersOf(64, 1, microseconds(0), &quick), 0u); // though a worker is awake
  Pace slow{};
  sleepUntilWorkersDo();
  EXPECT_EQ(helpersOf(64, 32, microseconds(500), &slow), 0u); // two grains
  EXPECT_GT(slow.unitNs, 400'000);
  sleepUntilWorkersDo();
  EXPECT_EQ(helpersOf(64, 32, microseconds(500), &slow), 1u);
  EXPECT_GT(slow.unitNs, 400'000); // the caller's part, by its units
  EXPECT_LT(slow.unitNs, 2'000'000);
}

static void spinFor(std::chrono::microseconds length) {
  auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Of `rounds` little tasks of one caller, `pause` apart, how many had a helper.
static int helpedOf(int rounds, std::chrono::microseconds pause) {
  Pace pace{1000};
  int helped = 0;
  sleepUntilWorkersDo();
  for (int round = 0; round < rounds; ++round) {
    std::atomic<bool> isHelped = false;
    auto caller = std::this_thread::get_id();
    parallel(
        30, 1, 2,
        [&](int64_t begin, int64_t end) {
          spinFor(std::chrono::microseconds(end - begin));
          if (std::this_thread::get_id() != caller)
            isHelped = true;
        },
        &pace);
    pace.unitNs = 1000; // interrupted ones look long
    helped += isHelped;
    spinFor(pause);
  }
  return helped;
}

TEST(Pool, LittleTasksOneAfterTheOtherWakeAWorker) {
  constexpr int tries = 15; // other programs may keep the other core busy
  int most = 0, least = 200;
  for (int i = 0; i < tries && most <= 400; ++i)
    most = std::max(most, helpedOf(4000, std::chrono::microseconds(2)));
  EXPECT_GT(most, 400);
  for (int i = 0; i < tries && least > 0; ++i) // a worker would poll for an eighth of the time
    least = std::min(least, helpedOf(200, std::chrono::microseconds(400)));
  EXPECT_EQ(least, 0);
}

TEST(Pool, NestedAndConcurrentCallsFinish) {
  std::atomic<int64_t> sum = 0;
  auto outer = [&] {
    for (int round = 0; round < 50; ++round)
      parallel(8, 1, 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          parallel(100, 1, 3, [&](int64_t first, int64_t last) {
            sum += last - first;
            auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(1) * (last - first);
            while (std::chrono::steady_clock::now() < end) {
            }
          });
      });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back(outer);
  for (auto &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 50 * 8 * 100);
}

TEST(Pool, IdleWorkersTakeNoTime) {
  parallel(1000, 1, 2, work);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.004);
}

TEST(Pool, WorkersAreStartedOnceAndReused) {
  parallel(100, 1, 9, work);
  size_t threads = threadCount();
  for (int i = 0; i < 20; ++i)
    parallel(100, 1, 9, work);
  EXPECT_EQ(threadCount(), threads);
}

TEST(Pool, ForkedChildGetsItsOwnWorkers) {
  parallel(100, 1, 2, work);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int64_t> sum = 0;
    parallel(100, 1, 2, [&](int64_t begin, int64_t end) {
      sum += end - begin;
      work(begin, end);
    });
    _exit(sum == 100 && threadCount() == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

#if defined(__x86_64__)
TEST(Pool, WorkersHaveDefaultFloatingPointModesAndTheCallerKeepsItsOwn) {
  unsigned before = _mm_getcsr(), flushToZero = before | 0x8040;
  _mm_setcsr(flushToZero);
  auto caller = std::this_thread::get_id();
  std::atomic<int> others = 0, wrong = 0;
  parallel(64, 1, 16, [&](int64_t, int64_t) { // more threads than before: new workers, started from here
    if (std::this_thread::get_id() != caller) {
      ++others;
      wrong += (_mm_getcsr() & 0xffc0) != 0x1f80;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0xffc0, flushToZero & 0xffc0);
  EXPECT_GT(others, 0);
  EXPECT_EQ(wrong, 0);
}
#endif
