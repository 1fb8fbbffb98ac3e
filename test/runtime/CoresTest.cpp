#include "Cores.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

using namespace perpend::runtime;
namespace fs = std::filesystem;

class Cores : public testing::Test {
protected:
  void SetUp() override { root = fs::path(testing::TempDir()) / ("cores" + std::to_string(getpid())); }
  void TearDown() override { fs::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  fs::path root;
};

TEST_F(Cores, QuotaV2TakesTheTightestOfTheParentsRoundedUp) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
  EXPECT_EQ(quotaCores(root.c_str()), 3);
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(quotaCores(root.c_str()), 1);
}

TEST_F(Cores, QuotaV2OfTheMountWhenTheContainerHidesTheGroup) {
  write("proc/self/cgroup", "0::/docker/123\n");
  write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(quotaCores(root.c_str()), 2);
}

TEST_F(Cores, QuotaV1) {
  write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/x\n0::/\n");
  write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "350000\n");
  write("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quotaCores(root.c_str()), 4);
}

TEST_F(Cores, NoQuota) {
  EXPECT_EQ(quotaCores(root.c_str()), 0);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quotaCores(root.c_str()), 0);
}

/// May use what it could before when it goes.
class Affinity {
public:
  Affinity() { sched_getaffinity(0, sizeof before, &before); }
  ~Affinity() { sched_setaffinity(0, sizeof before, &before); }

  /// To the core where it is now.
  void bind() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  cpu_set_t before;
};

TEST_F(Cores, AffinityLimitsTheCores) {
  Affinity affinity;
  affinity.bind();
  EXPECT_EQ(usableCores(), 1);
}

TEST_F(Cores, AThreadLeavesItsCore) {
  Affinity affinity;
  if (CPU_COUNT(&affinity.before) < 2)
    GTEST_SKIP() << "there is one core";
  int returned = 0; // at once, because the scheduler wants so
  for (int i = 0; i < 20; ++i) {
    int core = sched_getcpu();
    ASSERT_TRUE(leaveCore());
    returned += sched_getcpu() == core;
    cpu_set_t after;
    sched_getaffinity(0, sizeof after, &after);
    EXPECT_TRUE(CPU_EQUAL(&after, &affinity.before)) << "it may come back";
  }
  EXPECT_LT(returned, 5);
}

TEST_F(Cores, AThreadThatMayUseOneCoreStays) {
  Affinity affinity;
  affinity.bind();
  int core = sched_getcpu();
  EXPECT_FALSE(leaveCore());
  EXPECT_EQ(sched_getcpu(), core);
}
