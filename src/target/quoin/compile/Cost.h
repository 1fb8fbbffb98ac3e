//===- Cost.h - how long a section takes ------------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_COST_H
#define PERPEND_TARGET_QUOIN_COMPILE_COST_H

#include "target/quoin/compile/Section.h"

namespace perpend::quoin {

/// Cycles if units overlap: those of the busiest unit, or of DDR, which `sharers` cores use in the same way, or of
/// units that use a room with one slot in turns; and one pass through all instructions, in which nothing overlaps.
uint64_t estimatedCycles(const Section &section, const Config &config, unsigned sharers);

} // namespace perpend::quoin

#endif
