//===- Scratch.h - memory of a kernel beyond the stack -----------*- C++ -*-===//
//
// A kernel may own memory that each thread which runs it has for itself. The
// kernel says how many elements each of these buffers has (scratchAttribute) and
// gets them as arguments (KernelAbi.h); what is in them lasts from one unit to
// the next of the same call, no longer. PlanMemory finds a place for the parts
// of all threads, one behind the other; which part is free is known when a
// thread begins, so the code in front of the kernel takes one there:
//
//   a flag of one byte for each part | 64 bytes for each part in all
//   part 0: buffer 0 | buffer 1 | ...   each from a multiple of 64 bytes on
//   part 1: ...
//
// There are as many parts as threads, but no more than the kernel has units.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCRATCH_H
#define PERPEND_TILE_SCRATCH_H

#include "graph/Graph.h"
#include "tile/Attributes.h"
#include "tile/Tile.h"

#include "perpend_module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::target {
struct TargetInfo;
} // namespace perpend::target

namespace perpend::tile {

/// What the local buffers of a kernel of blocks may take of a thread's stack, together.
inline constexpr int64_t mostStackBytes = 1 << 16;
/// Of each part: where its buffers begin, and its share of the flags.
inline constexpr int64_t scratchAlignment = PERPEND_ALIGNMENT;

/// What a lowered kernel needs of it, over the kernel's symbols.
struct Scratch {
  static Scratch of(mlir::func::FuncOp kernel);

  llvm::SmallVector<graph::SymbolicInt> elements; ///< of each buffer
  llvm::SmallVector<graph::SymbolicInt> offsets;  ///< bytes from the start of a part
  graph::SymbolicInt partBytes = 0;               ///< of a part, its share of the flags left out
  graph::SymbolicInt mostParts = 0;               ///< the kernel's units

  /// What the plan takes for each part.
  graph::SymbolicInt plannedBytes() const { return partBytes + graph::SymbolicInt(scratchAlignment); }
  bool isEmpty() const { return elements.empty(); }
};

/// Which memory of the target is too small for what the buffers of a kernel of blocks (compactBuffers) have in it
/// together: "the memory 'input' of 4096 bytes is too small for 8192". Empty: none.
std::string exceededMemory(mlir::func::FuncOp kernel, const target::TargetInfo &target);

inline bool hasScratch(mlir::Operation *kernel) { return kernel->hasAttr(scratchAttribute); }

/// Where the local buffers of a kernel of blocks lie: on the stack as long as they fit there together, those of a size
/// that symbols give in scratch memory.
struct LocalMemory {
  static LocalMemory of(mlir::func::FuncOp kernel);
  llvm::SmallVector<AllocOp> scratch; ///< in the order of their arguments; the others are on the stack

  /// The elements of each scratch buffer; the position of one of them, nullopt: it is on the stack.
  llvm::SmallVector<graph::SymbolicInt> elements();
  std::optional<unsigned> numberOf(AllocOp alloc) const;
};
} // namespace perpend::tile

#endif
