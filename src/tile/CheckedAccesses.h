//===- CheckedAccesses.h - how a checked kernel reports ----------*- C++ -*-===//
//
// The contract between VerifyAccesses, which makes kernels checked, and the code
// that calls them. A checked kernel has the attribute tile.checked and one more
// argument, the last: its record, a memref<?xi64>. For each memory that it uses
// the record has two words: whether an access would have left it (0 at first),
// and the position of one such access, in elements. Memory 0 is what the kernel
// allocates itself; then follow its buffers, the symbols, and its scratch
// buffers (Scratch.h). Buffers come with their true extents.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_CHECKEDACCESSES_H
#define PERPEND_TILE_CHECKEDACCESSES_H

#include "tile/Attributes.h"

#include "mlir/IR/Operation.h"

namespace perpend::tile {

inline constexpr int64_t recordWords = 2; ///< of each memory: flag, position

inline bool isChecked(mlir::Operation *kernel) { return kernel->hasAttr(checkedAttribute); }
/// How many memories a kernel with that many buffers, scratch buffers among them, can leave.
constexpr int64_t recordedMemories(int64_t buffers) { return buffers + 2; }
} // namespace perpend::tile

#endif
