//===- BlockEmitter.h - emits elements of tensors into blocks ---*- C++ -*-===//
//
// The ElementEmitter for kernels that become loops around blocks. A tensor that
// has a buffer is loaded, at expressions of the block's iterators; any other
// tensor is computed by its operator at the point of use.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_IR_BLOCKEMITTER_H
#define PERPEND_TILE_IR_BLOCKEMITTER_H

#include "tile/ir/IndexExpressions.h"
#include "tile/ir/Tile.h"

#include "mlir/IR/Builders.h"

namespace perpend::tile {

class BlockEmitter : public graph::ElementEmitter {
public:
  /// Registers `buffer` as the storage of `tensor`.
  void setBuffer(mlir::Value tensor, mlir::Value buffer) { buffers[tensor] = buffer; }
  mlir::Value bufferOf(mlir::Value tensor) const { return buffers.lookup(tensor); }

  /// Emits loops around a block that computes `tensor` from tensors with buffers and stores it. One instance of the
  /// block computes one element or, for sequences, a chunk of independent lanes.
  void emitBlock(mlir::OpBuilder &builder, mlir::Value tensor, llvm::StringRef name);

  mlir::Value element(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                      mlir::ValueRange index) override;
  mlir::Value extent(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &value) override;
  mlir::Value loop(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &count, mlir::Value initial,
                   LoopBody body) override;

private:
  friend class BlockSequence;
  mlir::Value newElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor, mlir::ValueRange index);
  struct Dimension {
    SymbolicInt extent;
    IteratorKind kind;
    std::string name;
  };
  llvm::SmallVector<Dimension> dimensionsOf(mlir::Value tensor);
  BlockOp emitNest(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Dimension> dimensions,
                   llvm::StringRef name);
  void emitBody(BlockOp block, mlir::Value tensor);
  void addRange(mlir::Value variable);
  void makeReadable(BlockOp block);
  Shape expressions(mlir::ValueRange index);
  SymbolicInt expression(mlir::Value index);

  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// Index values of the block being emitted.
  IndexNames names;
  IndexRanges ranges;
  /// Elements computed so far, by their indices.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>>> computed;
};

/// Loads and stores at expressions over `names`.
mlir::Value createLoad(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
                       llvm::ArrayRef<SymbolicInt> indices, IndexNames &names);
void createStore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value buffer,
                 llvm::ArrayRef<SymbolicInt> indices, IndexNames &names);
/// Erases unused operations, such as index arithmetic that has become expressions.
void removeDead(BlockOp block);
/// Creates a loop with an empty body.
ForOp createFor(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &extent, llvm::StringRef name,
                IndexNames &names, LoopKind kind = LoopKind::Serial);
} // namespace perpend::tile

#endif
