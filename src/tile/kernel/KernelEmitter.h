//===- KernelEmitter.h - prologue of a kernel on buffers --------*- C++ -*-===//
//
// Emits constants, and the values of symbols and extents, which are computed once at the start of a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNEL_KERNELEMITTER_H
#define PERPEND_TILE_KERNEL_KERNELEMITTER_H

#include "graph/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::tile {

class KernelEmitter {
public:
  /// `kernel` is the function to emit into. `symbolNames` is the order of its %symbols buffer.
  KernelEmitter(mlir::func::FuncOp kernel, mlir::Value symbols, llvm::ArrayRef<llvm::StringRef> symbolNames);

  mlir::Value constant(int64_t value);
  /// Emits the value of an expression over symbols.
  mlir::Value extent(mlir::Location loc, const graph::SymbolicInt &value);

private:
  mlir::Value symbol(llvm::StringRef name);

  /// Inserts at the start of the kernel.
  mlir::OpBuilder prologue;
  mlir::Value symbols;
  llvm::ArrayRef<llvm::StringRef> symbolNames;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::StringMap<mlir::Value> extents;
};

/// The type of the buffer of a tensor: memref<?xT>, where bool is stored as i8.
mlir::MemRefType bufferType(mlir::Type elementType);
} // namespace perpend::tile

#endif
