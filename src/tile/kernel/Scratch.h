//===- Scratch.h - scratch memory of kernels --------------------*- C++ -*-===//
//
// A kernel may use scratch buffers: memory that each thread owns while it runs the kernel. An attribute of the kernel
// (scratchAttribute) says how many elements each buffer has, and the kernel takes them as arguments (KernelAbi.h).
// Their contents last from one unit to the next within a call. Memory planning reserves parts for all threads, one
// after another. Which part is free is known only when a thread starts, so code in front of the kernel claims one:
//
//   flags: one byte per part, in 64 reserved bytes per part
//   part 0: buffer 0 | buffer 1 | ...   each aligned to 64 bytes
//   part 1: ...
//
// There are as many parts as threads, but at most as many as the kernel has units (iterations of its parallel loop).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNEL_SCRATCH_H
#define PERPEND_TILE_KERNEL_SCRATCH_H

#include "graph/Graph.h"
#include "tile/Attributes.h"
#include "tile/ir/Tile.h"

#include "perpend_module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::target {
struct Machine;
} // namespace perpend::target

namespace perpend::tile {

/// Stack space for all local buffers of a kernel of blocks together.
inline constexpr int64_t mostStackBytes = 1 << 16;
/// Of each part: where its buffers begin, and its share of the flags.
inline constexpr int64_t scratchAlignment = PERPEND_ALIGNMENT;

/// The scratch memory of a lowered kernel, in terms of the kernel's symbols.
struct Scratch {
  static Scratch of(mlir::func::FuncOp kernel);

  llvm::SmallVector<graph::SymbolicInt> elements; ///< number of elements of each buffer
  llvm::SmallVector<graph::SymbolicInt> offsets;  ///< offset of each buffer in a part, in bytes
  graph::SymbolicInt partBytes = 0;               ///< size of a part without its flags
  graph::SymbolicInt mostParts = 0;               ///< the number of the kernel's units

  /// Bytes per part in the memory plan.
  graph::SymbolicInt plannedBytes() const { return partBytes + graph::SymbolicInt(scratchAlignment); }
  bool isEmpty() const { return elements.empty(); }
};

/// Checks the target's memories against the buffers that a kernel of blocks (compactBuffers) has in them. Returns for
/// example "the memory 'input' of 4096 bytes is too small for 8192"; empty if all fit.
std::string exceededMemory(mlir::func::FuncOp kernel, const target::Machine &target);

inline bool hasScratch(mlir::Operation *kernel) { return kernel->hasAttr(scratchAttribute); }

/// Decides where the local buffers of a kernel of blocks lie: on the stack while they fit there together; the others,
/// and those of symbolic size, in scratch memory.
struct LocalMemory {
  static LocalMemory of(mlir::func::FuncOp kernel);
  llvm::SmallVector<AllocOp> scratch; ///< in the order of the arguments; all others are on the stack

  /// The number of elements of each scratch buffer, and the index of a buffer among them; nullopt if it is on the
  /// stack.
  llvm::SmallVector<graph::SymbolicInt> elements();
  std::optional<unsigned> numberOf(AllocOp alloc) const;
};
} // namespace perpend::tile

#endif
