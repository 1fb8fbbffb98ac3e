//===- Cost.h - how long a section takes ------------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_COST_H
#define PERPEND_TARGET_QUOIN_COMPILE_COST_H

#include "target/quoin/compile/Section.h"

namespace perpend::quoin {

/// Cycles if units overlap as far as the section's memory lets them, and if `sharers` cores use DDR in the same way.
uint64_t estimatedCycles(const Section &section, const Config &config, unsigned sharers);

/// Cycles in which a unit works, if it is alone.
uint64_t busyCycles(const Section &section, Unit unit, const Config &config);

} // namespace perpend::quoin

#endif
