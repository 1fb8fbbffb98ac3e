//===- KernelWork.h - least work of a kernel --------------------*- C++ -*-===//

#ifndef PERPEND_TILE_KERNEL_KERNELWORK_H
#define PERPEND_TILE_KERNEL_KERNELWORK_H

#include "graph/Shapes.h"
#include "tile/ir/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

/// Independent of the schedule; in the kernel's symbols.
struct KernelWork {
  /// Arithmetic operations on elements. A multiply-add counts as two, a function such as exp as one.
  graph::SymbolicInt operations;
  /// Operations weighted by element size: at equal vector length, an element twice as large takes twice as long.
  graph::SymbolicInt operationBytes;
  /// Bytes of the operand elements that are read and of the results, each counted once.
  graph::SymbolicInt bytes;

  /// Reads the attribute tile.work.
  static std::optional<KernelWork> of(mlir::Operation *kernel);
  void attachTo(mlir::Operation *kernel) const;
  KernelWork substitute(const llvm::StringMap<graph::SymbolicInt> &symbols) const;
};

/// Operations of one instance of a block, without its init.
int64_t operationsOf(BlockOp block);
/// The element size that counts for the block's arithmetic: the widest operand. Reductions over bytes count as byte
/// arithmetic, however wide the sum.
int64_t elementBytesOf(BlockOp block);
/// The work of a kernel of unscheduled blocks, as BuildBlocks makes it.
KernelWork workOf(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
