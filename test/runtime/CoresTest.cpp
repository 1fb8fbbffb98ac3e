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

TEST_F(Cores, AffinityLimitsTheCores) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before))
    ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usableCores(), 1);
  sched_setaffinity(0, sizeof before, &before);
}
