//===- NearMemory.h - what is taken of LLB ----------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_NEARMEMORY_H
#define PERPEND_TARGET_QUOIN_COMPILE_NEARMEMORY_H

#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

/// Ranges of LLB, which begin at lines.
class NearMemory {
public:
  explicit NearMemory(uint64_t bytes = 0) : bytes(bytes) {}

  void take(const Range &range) { taken.push_back(range); }
  void take(llvm::ArrayRef<Range> ranges) { taken.insert(taken.end(), ranges.begin(), ranges.end()); }
  /// The lowest place that is free, from an address on, which is taken then. nullopt: there is none.
  std::optional<uint64_t> takeLowest(uint64_t size, uint64_t from = 0);
  /// The highest place that is free.
  std::optional<uint64_t> highest(uint64_t size) const;
  bool isFree(const Range &range) const;

private:
  uint64_t bytes;
  std::vector<Range> taken;
};

} // namespace perpend::quoin

#endif
