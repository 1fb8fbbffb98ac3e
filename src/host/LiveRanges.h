//===- LiveRanges.h - when buffers of the arena are in use ------*- C++ -*-===//

#ifndef PERPEND_HOST_LIVERANGES_H
#define PERPEND_HOST_LIVERANGES_H

#include "host/Host.h"

#include "llvm/ADT/MapVector.h"

namespace perpend::host {

/// Steps, inclusive.
struct LiveRange {
  int64_t first = 0, last = 0;
  bool contains(const LiveRange &other) const { return first <= other.first && other.last <= last; }
};

/// A step is an operation of an entry that touches memory, in program order, those of regions included. A buffer lives
/// from the first step that touches it to the last; what a loop touches of values whose places are made before it lives
/// during the whole loop, and so does what it carries. Buffers that nothing touches have no range.
llvm::MapVector<BufferOp, LiveRange> liveRangesOf(EntryOp entry);
} // namespace perpend::host

#endif
