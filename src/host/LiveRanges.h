//===- LiveRanges.h - when buffers and rooms are in use ---------*- C++ -*-===//

#ifndef PERPEND_HOST_LIVERANGES_H
#define PERPEND_HOST_LIVERANGES_H

#include "host/Host.h"

#include "llvm/ADT/MapVector.h"

namespace perpend::host {

/// Steps, inclusive.
struct LiveRange {
  int64_t first = 0, last = 0;
  bool contains(const LiveRange &other) const { return first <= other.first && other.last <= last; }
  bool meets(const LiveRange &other) const { return first <= other.last && other.first <= last; }
};

struct LiveRanges {
  llvm::MapVector<BufferOp, LiveRange> buffers;
  llvm::MapVector<RoomOp, LiveRange> rooms; ///< but those of outputs
};

/// A step is an operation of an entry that touches memory, in program order, those of regions included. A buffer or a
/// room lives from the first step that touches it to the last; during the whole loop if the loop carries it, or touches
/// a value in it that was there before an iteration. In order of first use; what nothing touches has no range.
LiveRanges liveRangesOf(EntryOp entry);
} // namespace perpend::host

#endif
