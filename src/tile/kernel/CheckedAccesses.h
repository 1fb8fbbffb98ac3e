//===- CheckedAccesses.h - records of out-of-bounds accesses ----*- C++ -*-===//
//
// The contract between VerifyAccesses, which adds checks to kernels, and the
// code that calls them. A checked kernel has the attribute tile.checked and one
// more argument, the last: its record, a memref<?xi64>. The record has two words
// for each memory that the kernel uses: a flag, set when an access would have
// been out of bounds, and the position of one such access, in elements. Memory 0
// stands for the kernel's own allocations; then follow its buffers, the symbols,
// and its scratch buffers (Scratch.h). Buffers are passed with their true
// extents.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNEL_CHECKEDACCESSES_H
#define PERPEND_TILE_KERNEL_CHECKEDACCESSES_H

#include "tile/Attributes.h"

#include "mlir/IR/Operation.h"

namespace perpend::tile {

inline constexpr int64_t recordWords = 2; ///< per memory: flag, position

inline bool isChecked(mlir::Operation *kernel) { return kernel->hasAttr(checkedAttribute); }
/// Number of memories in the record of a kernel with so many buffers, scratch buffers included.
constexpr int64_t recordedMemories(int64_t buffers) { return buffers + 2; }
} // namespace perpend::tile

#endif
