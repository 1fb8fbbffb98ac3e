//===- Schedule.h - transformations of a kernel, and their trace -*- C++ -*-===//
//
// A schedule holds a kernel of loops around blocks, and the trace of what was
// done to it. Its methods are the primitives (Primitives.def): each checks that
// it keeps the meaning of the kernel, transforms it and appends one instruction
// to the trace; or it changes nothing and says what is in the way.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_SCHEDULE_H
#define PERPEND_TILE_SCHEDULE_SCHEDULE_H

#include "tile/KernelIndices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {

/// One instruction: `%f = fuse %i0, %i1`.
struct TraceInstruction {
  llvm::StringRef primitive;
  llvm::SmallVector<std::string, 2> results;
  /// Values (%name) and literals, as they are written.
  llvm::SmallVector<std::string, 4> operands;
  std::string str() const;
};

class KernelSchedule {
public:
  explicit KernelSchedule(mlir::func::FuncOp kernel) : kernel(kernel) {}

  /// A number that stands for a block or a loop; valid until a primitive consumes it.
  struct Block {
    unsigned id;
  };
  struct Loop {
    unsigned id;
  };

  // Queries
  mlir::FailureOr<Block> getBlock(llvm::StringRef name);
  /// None, and a refusal, if the block has been consumed.
  llvm::SmallVector<Loop> getLoops(Block block);
  mlir::FailureOr<llvm::SmallVector<Block>> getChildBlocks(Loop loop);
  mlir::FailureOr<llvm::SmallVector<Block>> getChildBlocks(Block block);
  mlir::FailureOr<llvm::SmallVector<Block>> getProducers(Block block);
  mlir::FailureOr<llvm::SmallVector<Block>> getConsumers(Block block);
  llvm::SmallVector<Block> getOutputBlocks();

  // Loops
  /// One factor at most is free (nullopt).
  mlir::FailureOr<llvm::SmallVector<Loop>> split(Loop loop, llvm::ArrayRef<std::optional<int64_t>> factors);
  /// i becomes i0 * factor + i1.
  mlir::FailureOr<std::pair<Loop, Loop>> split(Loop loop, int64_t factor);
  mlir::FailureOr<Loop> fuse(llvm::ArrayRef<Loop> loops);
  mlir::LogicalResult reorder(llvm::ArrayRef<Loop> loops);
  mlir::FailureOr<Loop> addUnitLoop(Loop loop);
  mlir::FailureOr<Loop> addUnitLoop(Block block);
  mlir::LogicalResult parallel(Loop loop);
  mlir::LogicalResult vectorize(Loop loop);
  mlir::LogicalResult unroll(Loop loop);

  // Where blocks run
  mlir::LogicalResult computeAt(Block block, Loop loop);
  mlir::LogicalResult reverseComputeAt(Block block, Loop loop);
  mlir::LogicalResult computeInline(Block block);
  mlir::LogicalResult reverseComputeInline(Block block);

  // Memory
  mlir::FailureOr<Block> cacheRead(Block block, unsigned buffer, llvm::StringRef scope);
  mlir::FailureOr<Block> cacheWrite(Block block, llvm::StringRef scope);
  mlir::LogicalResult setScope(Block block, llvm::StringRef scope);

  // Reductions
  mlir::FailureOr<Block> decomposeReduction(Block block, Loop loop);
  mlir::FailureOr<Block> rfactor(Loop loop, unsigned axis);

  // Annotations
  mlir::LogicalResult annotate(Loop loop, llvm::StringRef key, mlir::Attribute value);
  mlir::LogicalResult annotate(Block block, llvm::StringRef key, mlir::Attribute value);
  mlir::LogicalResult unannotate(Loop loop, llvm::StringRef key);
  mlir::LogicalResult unannotate(Block block, llvm::StringRef key);

  llvm::ArrayRef<TraceInstruction> trace() const { return instructions; }
  /// Why the last primitive was refused.
  llvm::StringRef refusal() const { return reason; }
  /// The operations that handles stand for; null when they have been consumed.
  BlockOp operation(Block block) const;
  ForOp operation(Loop loop) const;

private:
  mlir::LogicalResult refuse(const llvm::Twine &text);
  mlir::FailureOr<ForOp> find(Loop loop);
  mlir::FailureOr<BlockOp> find(Block block);
  unsigned addHandle(mlir::Operation *op, llvm::StringRef stem);
  std::string nameOf(Loop loop) const { return "%" + handleNames[loop.id]; }
  std::string nameOf(Block block) const { return "%" + handleNames[block.id]; }
  void record(llvm::StringRef primitive, llvm::ArrayRef<std::string> results, llvm::ArrayRef<std::string> operands);
  mlir::LogicalResult setKind(Loop handle, LoopKind kind, llvm::StringRef primitive);
  mlir::LogicalResult checkIndependent(ForOp loop);
  mlir::FailureOr<llvm::SmallVector<Block>> recordBlocks(llvm::StringRef primitive,
                                                         llvm::ArrayRef<mlir::Operation *> blocks,
                                                         llvm::ArrayRef<std::string> operands);
  mlir::FailureOr<Loop> addUnitLoop(mlir::Operation *op, const std::string &name);
  mlir::LogicalResult annotate(mlir::Operation *op, const std::string &name, llvm::StringRef key,
                               mlir::Attribute value);
  mlir::LogicalResult unannotate(mlir::Operation *op, const std::string &name, llvm::StringRef key);
  /// Erases what no handle stands for any more.
  void erase(mlir::Operation *op);

  mlir::func::FuncOp kernel;
  llvm::SmallVector<mlir::Operation *> handles;
  llvm::SmallVector<std::string> handleNames;
  llvm::StringMap<unsigned> usedNames;
  llvm::SmallVector<TraceInstruction> instructions;
  std::string reason;
};

/// Writes a loop's body in terms of other loops: every expression in it that uses `variable` gets `replacement`, an
/// expression of `names`.
void replaceVariable(mlir::Value variable, const SymbolicInt &replacement, IndexNames &names);

/// Shrinks a local buffer to what one iteration around it touches.
void compactBuffer(AllocOp alloc);
} // namespace perpend::tile

#endif
