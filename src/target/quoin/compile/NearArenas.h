//===- NearArenas.h - where arenas lie in LLB -------------------*- C++ -*-===//
//
// What changes how long values live, or how large they are, plans LLB again.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_NEARARENAS_H
#define PERPEND_TARGET_QUOIN_COMPILE_NEARARENAS_H

#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

/// Offsets of the arenas that are in LLB, by their sizes and lifetimes; 0 for others. nullopt: LLB does not hold them.
std::optional<std::vector<int64_t>> planNear(const MainProgram &main, const Config &config);

/// These arenas go there, and the values in them.
void moveNear(MainProgram &main, const Config &config, llvm::ArrayRef<int64_t> offsets);

} // namespace perpend::quoin

#endif
