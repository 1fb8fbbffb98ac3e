//===- ShareMemory.h - which values share memory ----------------*- C++ -*-===//

#ifndef PERPEND_HOST_SHAREMEMORY_H
#define PERPEND_HOST_SHAREMEMORY_H

#include "host/LiveRanges.h"

namespace perpend::host {
/// Gives the buffers of an entry their lifetimes and offsets, and rooms with disjoint lifetimes one number, except by
/// the strategy `apart`. Errors: the sum of sizes has more than 62 bits.
mlir::LogicalResult shareMemory(EntryOp entry);

/// Chooses offsets anew, by the entry's strategy, in each memory where all sizes are numbers; in others binding does.
mlir::LogicalResult chooseOffsets(EntryOp entry, const LiveRanges &ranges);
} // namespace perpend::host

#endif
