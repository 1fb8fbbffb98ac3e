//===- Segments.h - how much memory a host program needs --------*- C++ -*-===//

#ifndef PERPEND_HOST_SEGMENTS_H
#define PERPEND_HOST_SEGMENTS_H

#include "host/Host.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::host {
/// Of all segments of a module.
int64_t segmentBytesOf(mlir::ModuleOp module);
/// Refuses segments that overlap, or a part of a file that shares a page with another segment, of another part.
mlir::LogicalResult verifySegments(mlir::ModuleOp module);
/// One segment for all constants with the same type and bytes, whatever entries read them.
void shareSegments(mlir::ModuleOp module);
/// Leaves constants where they are if their bytes are those of a mapped file: these segments become parts of it. Small
/// ones stay values.
void keepInFiles(mlir::ModuleOp module);

/// A part of a file that is mapped as one: its segments, and small gaps between them.
struct FilePart {
  std::string path;
  int64_t offset, bytes, position;
};
/// In the order of their positions.
std::vector<FilePart> filePartsOf(mlir::ModuleOp module);

/// Gives segments other places: `offsetOf` the one that memory planning chose.
void moveSegments(mlir::ModuleOp module, llvm::function_ref<int64_t(int64_t)> offsetOf);
} // namespace perpend::host

#endif
