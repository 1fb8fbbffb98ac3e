//===- KernelEmitter.h - what code on buffers is made of --------*- C++ -*-===//
//
// Constants, symbols and extents at the start of a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNELEMITTER_H
#define PERPEND_TILE_KERNELEMITTER_H

#include "graph/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace perpend::tile {

class KernelEmitter {
public:
  /// `kernel` gets the loops. `symbolNames` is the order of its %symbols buffer.
  KernelEmitter(mlir::func::FuncOp kernel, mlir::Value symbols, llvm::ArrayRef<llvm::StringRef> symbolNames);

  mlir::Value constant(int64_t value);
  /// The value of an expression over symbols.
  mlir::Value extent(mlir::Location loc, const graph::SymbolicInt &value);

private:
  mlir::Value symbol(llvm::StringRef name);

  /// Code at the start of the kernel.
  mlir::OpBuilder prologue;
  mlir::Value symbols;
  llvm::ArrayRef<llvm::StringRef> symbolNames;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::StringMap<mlir::Value> extents;
};

/// The type of a buffer that holds a tensor: memref<?xT>, T = i8 for bool.
mlir::MemRefType bufferType(mlir::Type elementType);
} // namespace perpend::tile

#endif
