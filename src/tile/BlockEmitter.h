//===- BlockEmitter.h - elements of tensors as code in blocks ---*- C++ -*-===//
//
// The ElementEmitter of a kernel that becomes loops around blocks: a tensor that
// lies in a buffer is a load at expressions of the block's iterators; any other
// is computed by its operator, where it is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_BLOCKEMITTER_H
#define PERPEND_TILE_BLOCKEMITTER_H

#include "tile/IndexExpressions.h"
#include "tile/Tile.h"

#include "mlir/IR/Builders.h"

namespace perpend::tile {

class BlockEmitter : public graph::ElementEmitter {
public:
  /// Says that `tensor` lies in `buffer`.
  void setBuffer(mlir::Value tensor, mlir::Value buffer) { buffers[tensor] = buffer; }
  mlir::Value bufferOf(mlir::Value tensor) const { return buffers.lookup(tensor); }

  /// Adds loops around a block that computes all of `tensor` from what it depends on, and stores it into its buffer.
  /// One instance of the block computes an element, or of elements that depend on one another a chunk of lanes.
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
  /// Of the block that is being emitted.
  IndexNames names;
  IndexRanges ranges;
  /// Elements, by their indices.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>>> computed;
};

/// Accesses at expressions of `names`.
mlir::Value createLoad(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
                       llvm::ArrayRef<SymbolicInt> indices, IndexNames &names);
void createStore(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value buffer,
                 llvm::ArrayRef<SymbolicInt> indices, IndexNames &names);
/// Erases what nothing uses, such as index arithmetic that became expressions.
void removeDead(BlockOp block);
/// A loop with an empty body.
ForOp createFor(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &extent, llvm::StringRef name,
                IndexNames &names, LoopKind kind = LoopKind::Serial);
} // namespace perpend::tile

#endif
