//===- Cores.h - which core computes what -----------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_CORES_H
#define PERPEND_TARGET_QUOIN_COMPILE_CORES_H

#include "target/quoin/compile/Nest.h"

namespace perpend::quoin {

/// Ways to divide a nest among at most `cores` cores: nests which together are this one, ranges of one of its loops, as
/// even as possible. No two of them write to the same line of memory. places: of buffers.
std::vector<std::vector<Nest>> divisionsOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned cores);

} // namespace perpend::quoin

#endif
