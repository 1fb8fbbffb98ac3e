//===- MachineTest.cpp - questions to machines of any memories ------------===//
#include "target/Machine.h"
#include "target/TargetInfo.h"
#include "target/cpu/Architecture.h"

#include <gtest/gtest.h>

using namespace perpend::target;

namespace {
struct Cache {
  uint64_t bytes;
  bool isOwn;
};

/// A machine with these caches, of which each is half as fast as the one inside it.
Machine machineWith(const std::vector<Cache> &caches) {
  Machine machine;
  machine.levels = {{"chip", 2}, {"core"}};
  machine.memories = {{"scratch", 4096, MemoryKind::Addressed, "core"}};
  double bytesPerSecond = 1024;
  for (const Cache &cache : caches)
    machine.memories.push_back({"cache " + std::to_string(cache.bytes), cache.bytes, MemoryKind::Cache,
                                cache.isOwn ? "core" : "chip", 32, bytesPerSecond /= 2});
  machine.memories.push_back({"local"});
  machine.global = {.name = "global", .lineBytes = 128, .bytesPerSecond = 1};
  return machine;
}
} // namespace

TEST(Machine, WithoutCaches) {
  const Machine machine = machineWith({});
  EXPECT_TRUE(machine.caches().empty());
  EXPECT_EQ(machine.nearCacheBytes(), 0u);
  EXPECT_EQ(machine.ownCacheBytes(), 0u);
  EXPECT_EQ(machine.lastCacheBytes(), 0u);
  EXPECT_EQ(machine.lineBytes(), 128u);
  EXPECT_EQ(machine.innermostHolding(0, "core").name, "global");
  EXPECT_EQ(machine.bytesPerSecondOf(1), 1);
}

TEST(Machine, OneCacheThatAllShare) {
  const Machine machine = machineWith({{1 << 20, false}});
  EXPECT_EQ(machine.nearCacheBytes(), 1u << 20);
  EXPECT_EQ(machine.ownCacheBytes(), 0u);
  EXPECT_EQ(machine.lastCacheBytes(), 1u << 20);
  EXPECT_EQ(machine.lineBytes(), 32u);
  EXPECT_EQ(machine.innermostHolding(1 << 20, "core").name, "cache 1048576");
  EXPECT_EQ(machine.innermostHolding((1 << 20) + 1, "core").name, "global");
}

TEST(Machine, FourCaches) {
  const Machine machine = machineWith({{100, true}, {200, true}, {300, false}, {400, false}});
  EXPECT_EQ(machine.caches().size(), 4u);
  EXPECT_EQ(machine.nearCacheBytes(), 100u);
  EXPECT_EQ(machine.ownCacheBytes(), 200u);
  EXPECT_EQ(machine.lastCacheBytes(), 400u);
  const std::pair<double, double> rates[] = {{0, 512}, {100, 512}, {101, 256}, {300, 128}, {400, 64}, {401, 1}};
  for (auto [bytes, rate] : rates)
    EXPECT_EQ(machine.bytesPerSecondOf(bytes), rate) << bytes;
}

/// What all cores of a chip share is in no core's cache, and what all chips share in no chip's.
TEST(Machine, MemoriesOfALevel) {
  const Machine machine = machineWith({{100, true}, {200, true}, {300, false}, {400, false}});
  EXPECT_EQ(machine.innermostHolding(1, "core").name, "cache 100");
  EXPECT_EQ(machine.innermostHolding(150, "core").name, "cache 200");
  EXPECT_EQ(machine.innermostHolding(1, "chip").name, "cache 300");
  EXPECT_EQ(machine.innermostHolding(301, "chip").name, "cache 400");
  EXPECT_EQ(machine.innermostHolding(1, "").name, "global");
}

/// Caches are no memories that a schedule can name, and neither is the caller's.
TEST(Machine, ScopesAreAddressed) {
  const Machine machine = machineWith({{100, true}});
  EXPECT_EQ(machine.scopes(), (std::vector<std::string>{"scratch", "local"}));
  EXPECT_EQ(machine.levelNames(), (std::vector<std::string>{"chip", "core"}));
}

TEST(Machine, DescribesItsParts) {
  Machine machine = machineWith({{1 << 20, true}});
  machine.name = "some";
  machine.units = {{"matrix"}};
  machine.links = {{"global", "scratch"}};
  EXPECT_EQ(machine.describe(),
            "some: no vectors, scratch 4 KiB, CACHE 1048576 1 MiB, unit matrix, link global to scratch, "
            "0 GFLOP/s and 0 GB/s per thread");
}

/// Levels of memories and ends of links are names that the machine has.
TEST(Machine, TargetsAreConsistent) {
  for (llvm::StringRef name : targetNames()) {
    const TargetInfo target = llvm::cantFail(resolveTarget(name));
    EXPECT_EQ(target.levelNames(), std::vector<std::string>{"thread"});
    EXPECT_EQ(target.scopes(), std::vector<std::string>{"local"});
    for (const Memory &memory : target.memories)
      EXPECT_TRUE(memory.level.empty() || memory.level == "thread") << name.str() << " " << memory.name;
    const auto caches = target.caches();
    const bool isWithoutSystem = boardOf(target.code);
    ASSERT_TRUE(isWithoutSystem ? caches.size() <= 1 : caches.size() == 3) << name.str();
    for (size_t level = 0; level < caches.size(); ++level)
      EXPECT_EQ(target.isOwn(*caches[level]), level < 2) << name.str();
    EXPECT_EQ(target.lineBytes(), 64u);
  }
}
