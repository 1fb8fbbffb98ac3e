//===- Counters.h - where the cycles of a run went --------------*- C++ -*-===//
//
// All cycles are those of a model that we made ourselves (Timed.cpp), not of hardware.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_COUNTERS_H
#define PERPEND_TARGET_QUOIN_COUNTERS_H

#include "target/quoin/Program.h"

namespace perpend::quoin {

/// Why a unit does nothing while it has an instruction, or has none.
enum class Stall : uint8_t {
  Flag,      ///< waits for tokens
  Empty,     ///< the queue is empty
  Bandwidth, ///< a transfer is slower than alone, because others use the same DDR
};
inline constexpr unsigned numStalls = 3;

struct Interval {
  uint64_t begin = 0, end = 0;
  uint32_t instruction = 0;
};

struct UnitCounters {
  uint64_t instructions = 0;
  uint64_t busy = 0;                     ///< with an instruction; contains Stall::Bandwidth
  std::array<uint64_t, numStalls> stalls = {};
  std::vector<Interval> intervals;       ///< one for each instruction, in order
};

struct CoreCounters {
  std::array<UnitCounters, numUnits> units;
  uint64_t products = 0;                             ///< multiply-accumulates of elements that exist
  std::array<uint64_t, numSpaces> bytesRead = {}, bytesWritten = {};
  std::array<uint64_t, numSpaces> highWater = {};    ///< last byte that an operand has, plus 1
  uint64_t end = 0;                                  ///< when it halted
};

struct Counters {
  uint64_t cycles = 0;
  std::vector<CoreCounters> cores;
};

/// Cycles of two sorted lists of intervals in which both are busy.
uint64_t overlapOf(llvm::ArrayRef<Interval> left, llvm::ArrayRef<Interval> right);

/// "Where the cycles went": utilisation, stalls, overlaps, traffic, and the instructions that took most.
std::string reportText(const Counters &counters, const Program &program);
/// The same as JSON.
std::string reportJson(const Counters &counters, const Program &program);
/// For chrome://tracing: cores are processes, units are threads, a cycle is a microsecond.
std::string chromeTrace(const Counters &counters, const Program &program);

} // namespace perpend::quoin

#endif
