//===- KernelEmitter.h - elements of tensors as code on buffers -*- C++ -*-===//
//
// The ElementEmitter of a kernel that is being lowered to loops: a tensor that
// is a kernel input is a load from its 1-D buffer; any other is computed by its
// operator, recursively. Values already computed at the same index are reused.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNELEMITTER_H
#define PERPEND_TILE_KERNELEMITTER_H

#include "graph/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <map>

namespace perpend::tile {

class KernelEmitter : public graph::ElementEmitter {
public:
  /// `kernel` gets the loops. `symbolNames` is the order of its %symbols buffer.
  KernelEmitter(mlir::func::FuncOp kernel, mlir::Value symbols, llvm::ArrayRef<llvm::StringRef> symbolNames);

  /// Says that `tensor` lies in `buffer`.
  void setBuffer(mlir::Value tensor, mlir::Value buffer) { buffers[tensor] = buffer; }
  mlir::Value bufferOf(mlir::Value tensor) const { return buffers.lookup(tensor); }
  /// Elements of `tensor` come from `source` instead (a tile in scratch memory). Forgets values computed so far.
  using Source = std::function<mlir::Value(mlir::OpBuilder &, mlir::ValueRange index)>;
  void setSource(mlir::Value tensor, Source source);
  void clearSource(mlir::Value tensor);

  mlir::Value element(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                      mlir::ValueRange index) override;
  mlir::Value extent(mlir::OpBuilder &builder, mlir::Location loc, const graph::SymbolicInt &value) override;
  mlir::Value elementAtPosition(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                                mlir::Value position) override;
  mlir::Value loop(mlir::OpBuilder &builder, mlir::Location loc, const graph::SymbolicInt &count, mlir::Value initial,
                   LoopBody body) override;

  /// Row-major position of an index.
  mlir::Value position(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<graph::SymbolicInt> shape,
                       mlir::ValueRange index);
  /// Index of the dimensions `shape` at a row-major position.
  llvm::SmallVector<mlir::Value> delinearize(mlir::OpBuilder &builder, mlir::Location loc,
                                             llvm::ArrayRef<graph::SymbolicInt> shape, mlir::Value position);
  /// Loads a scalar from a buffer (bool is one byte).
  mlir::Value loadFrom(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer, mlir::Value position,
                       mlir::Type scalar);
  /// Stores a scalar of a tensor's element type (bool as one byte).
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Value buffer,
             mlir::Value position);

  mlir::Value constant(int64_t value);

private:
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor, mlir::Value position);
  mlir::Value symbol(llvm::StringRef name);

  using ElementKey = std::pair<mlir::Value, llvm::SmallVector<mlir::Value, 4>>;
  struct KeyOrder {
    bool operator()(const ElementKey &a, const ElementKey &b) const;
  };
  /// Code at the start of the kernel: constants, symbols, symbolic extents.
  mlir::OpBuilder prologue;
  mlir::Value symbols;
  llvm::ArrayRef<llvm::StringRef> symbolNames;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, Source> sources;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::StringMap<mlir::Value> extents;
  std::map<ElementKey, mlir::Value, KeyOrder> computed;
  /// How often the code being emitted is repeated by unrolled loops around it.
  int64_t unrolledIterations = 1;
};

/// The type of a buffer that holds a tensor: memref<?xT>, T = i8 for bool.
mlir::MemRefType bufferType(mlir::Type elementType);
} // namespace perpend::tile

#endif
