//===- Division.h - divides extents into equal parts ------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_COMPOSITES_DIVISION_H
#define PERPEND_GRAPH_COMPOSITES_DIVISION_H

#include "support/SymbolicInt.h"

namespace perpend::graph {

/// `extent` divided into `parts` equal parts, for a reshape. If symbols leave the remainder open, the quotient is
/// rounded down, and the reshape's requirement refuses inputs with a remainder. nullopt: there is always a remainder,
/// or no part.
inline std::optional<support::SymbolicInt> divideEvenly(const support::SymbolicInt &extent,
                                                        const support::SymbolicInt &parts) {
  std::optional<support::SymbolicInt> quotient = exactDiv(extent, parts);
  bool isNumber = extent.isConstant() && parts.isConstant();
  if (quotient || isNumber || parts == support::SymbolicInt(0))
    return quotient;
  return floorDiv(extent, parts);
}
} // namespace perpend::graph

#endif
