//===- Staging.h - operands that all cores read ------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_STAGING_H
#define PERPEND_TARGET_QUOIN_COMPILE_STAGING_H

#include "target/quoin/compile/NearMemory.h"
#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

/// Bytes of DDR that the first core of a cluster copies to LLB, so that all cores together read DDR once.
struct Staged {
  unsigned buffer = 0;
  uint64_t from = 0, to = 0, bytes = 0; ///< from: in DDR; to: in LLB
};

/// Buffers in DDR of which all parts of a nest read the same elements, as far as they fit into LLB. The places of these
/// buffers become those of the copies.
std::vector<Staged> stagedOf(llvm::ArrayRef<Nest> parts, llvm::MutableArrayRef<Spot> places, NearMemory near);

/// Fills the section of the first core's stream with the copies.
void emitStaging(llvm::ArrayRef<Staged> staged, Stream &stream);

} // namespace perpend::quoin

#endif
