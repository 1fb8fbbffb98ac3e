//===- Order.h - what units know of each other's work -----------*- C++ -*-===//
//
// A unit runs its instructions in order, and learns what another unit has done from the tokens that it takes. Two
// accesses of one place, of which one writes, are ordered if the unit of the later one knows of the earlier one.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_ORDER_H
#define PERPEND_TARGET_QUOIN_COMPILE_ORDER_H

#include "target/quoin/compile/Section.h"

namespace perpend::quoin {

/// Numbers of instructions that units have run.
using Knowledge = std::array<uint32_t, numUnits>;

inline void join(Knowledge &clock, const Knowledge &other) {
  for (unsigned unit = 0; unit < numUnits; ++unit)
    clock[unit] = std::max(clock[unit], other[unit]);
}

/// The last accesses of a range of memory by each unit; 0: none.
struct Cell {
  Space space = Space::None;
  uint64_t begin = 0, end = 0;
  Knowledge written = {}, read = {};

  bool overlaps(const Cell &other) const { return space == other.space && begin < other.end && other.begin < end; }
};

class Order {
public:
  std::array<Knowledge, numUnits> known = {}; ///< of each unit
  std::vector<Cell> past;                     ///< accesses of earlier sections
  /// Flags that earlier sections have used, of each pair of units.
  std::array<std::array<uint32_t, numUnits>, numUnits> flags = {};

  /// A unit whose access of the cell `unit` does not know of, although it must; nullopt: the access is ordered.
  std::optional<Unit> unknown(Unit unit, const Cell &cell, bool isWrite) const;
  /// All units know what `unit` knows.
  void publish(Unit unit);
  void publishAll();
  /// Forgets past accesses that all units know of.
  void forgetKnown();
  /// Past accesses side by side in memory of the core that one unit alone has made become one: values that stay in it.
  void joinNeighbours();
  /// Whether `unit` knows of all past accesses of DDR and LLB.
  bool knowsFar(Unit unit) const;
};

} // namespace perpend::quoin

#endif
