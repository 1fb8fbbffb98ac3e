//===- Segments.h - how much memory a host program needs --------*- C++ -*-===//

#ifndef PERPEND_HOST_SEGMENTS_H
#define PERPEND_HOST_SEGMENTS_H

#include "host/Host.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::host {
/// Where the next segment may begin, in bytes from the start of all segments.
int64_t endOf(SegmentOp segment);
/// Of all segments of a module.
int64_t segmentBytesOf(mlir::ModuleOp module);
/// Gives segments other places: `offsetOf` the one that memory planning chose.
void moveSegments(mlir::ModuleOp module, llvm::function_ref<int64_t(int64_t)> offsetOf);

/// Of the host's memory, for an entry whose buffers all have an offset.
int64_t arenaBytesOf(EntryOp entry);
} // namespace perpend::host

#endif
