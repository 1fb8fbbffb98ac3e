//===- KernelWork.h - what a kernel has to do, at least ----------*- C++ -*-===//

#ifndef PERPEND_TILE_KERNELWORK_H
#define PERPEND_TILE_KERNELWORK_H

#include "graph/Shapes.h"
#include "tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

/// In the kernel's symbols, whatever its schedule.
struct KernelWork {
  /// Arithmetic operations on elements; a multiplication and an addition are two, a function such as exp is one.
  graph::SymbolicInt operations;
  /// Each operation times the bytes of its elements: where vectors are as long, it takes so much longer.
  graph::SymbolicInt operationBytes;
  /// Bytes of the operands' elements that are read, and of the results, each once.
  graph::SymbolicInt bytes;

  /// tile.work
  static std::optional<KernelWork> of(mlir::Operation *kernel);
  void attachTo(mlir::Operation *kernel) const;
  KernelWork substitute(const llvm::StringMap<graph::SymbolicInt> &symbols) const;
};

/// Of one instance of a block, its init apart.
int64_t operationsOf(BlockOp block);
/// What a reduction computes of elements of a byte, machines compute of bytes, whatever the sum has; anything else is
/// as wide as its widest operand.
int64_t elementBytesOf(BlockOp block);
/// Of a kernel of plain loops around blocks, as BuildBlocks makes it.
KernelWork workOf(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
