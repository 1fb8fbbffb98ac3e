//===- Config.cpp - sizes and speeds of one Quoin device -------------------===//

#include "target/quoin/Config.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {
namespace {
constexpr uint64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;
constexpr llvm::StringLiteral names[] = {"qn-t1", "qn-c1", "qn-c8", "qn-c32"};

Config defaultConfig() {
  Config config;
  config.name = "qn-c8";
  config.coresPerCluster = 8;
  config.ddrBytes = 4 * gib;
  config.llbBytes = 8 * mib;
  config.l1Bytes = mib;
  config.l0aBytes = config.l0bBytes = 64 * kib;
  config.l0cBytes = 256 * kib;
  return config;
}

/// So small that every program needs tiles.
Config testConfig() {
  Config config = defaultConfig();
  config.name = "qn-t1";
  config.coresPerCluster = 1;
  config.llbBytes = 256 * kib;
  config.l1Bytes = 64 * kib;
  config.l0aBytes = config.l0bBytes = 4 * kib;
  config.l0cBytes = 16 * kib;
  return config;
}
} // namespace

uint64_t Config::bytesOf(Space space) const {
  const uint64_t sizes[numSpaces] = {0, ddrBytes, llbBytes, l1Bytes, l0aBytes, l0bBytes, l0cBytes, numSRegs * 8};
  return sizes[unsigned(space)];
}

uint64_t Config::hash() const {
  const uint64_t numbers[] = {clusters,         coresPerCluster, ddrBytes,   llbBytes, l1Bytes,    l0aBytes,
                              l0bBytes,         l0cBytes,        l1Banks,    llbBanks, queueDepth, ddrBytesPerCycle,
                              llbBytesPerCycle, ddrLatency,      llbLatency, l1Latency};
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a on words
  for (uint64_t number : numbers) {
    hash = (hash ^ number) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash;
}

std::string Config::problem() const {
  const std::pair<const char *, uint64_t> positive[] = {{"clusters", clusters},
                                                        {"coresPerCluster", coresPerCluster},
                                                        {"ddrBytes", ddrBytes},
                                                        {"llbBytes", llbBytes},
                                                        {"l1Bytes", l1Bytes},
                                                        {"l0aBytes", l0aBytes},
                                                        {"l0bBytes", l0bBytes},
                                                        {"l0cBytes", l0cBytes},
                                                        {"l1Banks", l1Banks},
                                                        {"llbBanks", llbBanks},
                                                        {"queueDepth", queueDepth},
                                                        {"ddrBytesPerCycle", ddrBytesPerCycle},
                                                        {"llbBytesPerCycle", llbBytesPerCycle}};
  for (auto [name, value] : positive)
    if (value == 0)
      return std::string(name) + " is 0";
  if (uint64_t(clusters) * coresPerCluster > maxCores)
    return "it has " + std::to_string(numCores()) + " cores, at most " + std::to_string(maxCores) + " are possible";
  if (ddrBytes > 64 * gib || llbBytes > gib || l1Bytes > 256 * mib || l0aBytes > 16 * mib || l0bBytes > 16 * mib ||
      l0cBytes > 16 * mib)
    return "a memory is larger than 64 GiB (DDR), 1 GiB (LLB), 256 MiB (L1) or 16 MiB (L0)";
  if (l1Bytes % 64 || llbBytes % 64 || ddrBytes % 64)
    return "a memory is not a whole number of lines of 64 bytes";
  return "";
}

std::optional<Config> configNamed(llvm::StringRef name) {
  if (name == "qn-t1")
    return testConfig();
  Config config = defaultConfig();
  config.name = name.str();
  if (name == "qn-c1")
    config.coresPerCluster = 1;
  else if (name == "qn-c32")
    config.clusters = 4;
  else if (name != "qn-c8")
    return std::nullopt;
  return config;
}

llvm::ArrayRef<llvm::StringLiteral> configNames() { return names; }

} // namespace perpend::quoin
