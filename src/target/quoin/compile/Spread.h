//===- Spread.h - copies between the loads of loops -------------*- C++ -*-===//
//
// The first core of a cluster copies from DDR to LLB with the unit that also loads for its part of a nest. Behind those
// loads there is little time left, between them there is much: loops of the part take a share of the copy with each
// iteration.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_SPREAD_H
#define PERPEND_TARGET_QUOIN_COMPILE_SPREAD_H

#include "target/quoin/compile/Prefetch.h"
#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

/// Copies beside a section: of some of them a share in each iteration of loops, and the rest behind all.
struct Spread {
  std::vector<LoopItem> shares;
  std::vector<Copy> rest;
  uint64_t cycles = 0; ///< about, of the section with all of it
};

/// The way that takes the least time.
Spread bestSpread(llvm::ArrayRef<Copy> copies, const Section &section, const Config &config, unsigned sharers);

/// Adds the copies to a stream's section in that way.
void addSpread(llvm::ArrayRef<Copy> copies, Stream &stream, const Config &config, unsigned sharers);

/// Adds them behind all.
void addCopies(llvm::ArrayRef<Copy> copies, Stream &stream);

} // namespace perpend::quoin

#endif
