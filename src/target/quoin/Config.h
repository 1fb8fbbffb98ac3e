//===- Config.h - sizes and speeds of one Quoin device ----------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_CONFIG_H
#define PERPEND_TARGET_QUOIN_CONFIG_H

#include "target/quoin/Isa.h"

#include <string>

namespace perpend::quoin {

/// All that programs and cycles depend on. A test may change any number.
struct Config {
  std::string name;
  unsigned clusters = 1;
  unsigned coresPerCluster = 1;

  uint64_t ddrBytes = 0; ///< of a cluster
  uint64_t llbBytes = 0; ///< of a cluster
  uint64_t l1Bytes = 0;  ///< of a core, as are the next three
  uint64_t l0aBytes = 0;
  uint64_t l0bBytes = 0;
  uint64_t l0cBytes = 0;

  unsigned l1Banks = 16;
  unsigned llbBanks = 16;
  unsigned queueDepth = 16;

  unsigned ddrBytesPerCycle = 32; ///< of a cluster, reads and writes together
  unsigned llbBytesPerCycle = 64; ///< of a core, in each direction
  unsigned ddrLatency = 200;      ///< in cycles, as is the next
  unsigned llbLatency = 30;
  unsigned l1Latency = 2;

  unsigned numCores() const { return clusters * coresPerCluster; }
  unsigned clusterOf(unsigned core) const { return core / coresPerCluster; }
  /// Bytes of one instance of the memory.
  uint64_t bytesOf(Space space) const;
  /// A checksum of all numbers. A program runs only on the configuration for which it was made.
  uint64_t hash() const;
  /// The violated rule, such as "0 cores"; empty: the device can exist.
  std::string problem() const;
};

inline constexpr unsigned maxCores = 32;
inline constexpr unsigned numFlagIds = 16;    ///< of each ordered pair of units
inline constexpr unsigned maxTokens = 15;     ///< of a flag
inline constexpr unsigned numLoops = 8;       ///< hardware loops of a core
inline constexpr unsigned numGenerators = 63; ///< address generators of a core, 1 to 63
inline constexpr unsigned numSRegs = 64;
inline constexpr unsigned numBarriers = 16;
inline constexpr unsigned numSemaphores = 64;
inline constexpr unsigned fractalBytes = 512; ///< of L0A and L0B: 16 rows or columns of 32 bytes
inline constexpr unsigned tileBytes = 1024;   ///< of L0C: 16 x 16 elements of 4 bytes

/// "qn-t1", "qn-c1", "qn-c8" or "qn-c32".
std::optional<Config> configNamed(llvm::StringRef name);
llvm::ArrayRef<llvm::StringLiteral> configNames();

} // namespace perpend::quoin

#endif
