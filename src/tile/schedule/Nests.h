//===- Nests.h - what primitives ask of loops and blocks --------*- C++ -*-===//
//
// Parts that several primitives share: where a buffer lives and who writes it,
// the loops that a block's spatial iterators stand for, and new nests.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_NESTS_H
#define PERPEND_TILE_SCHEDULE_NESTS_H

#include "tile/BlockEmitter.h"
#include "tile/KernelIndices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace perpend::tile {

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The sequence of statements in which a buffer lives: that of its tile.alloc, or the kernel's.
mlir::Block *scopeOf(mlir::Value buffer);
/// What a refusal calls it.
std::string bufferName(mlir::Value buffer);
/// The statement of the sequence around `op`, or null.
mlir::Operation *statementIn(mlir::Block *body, mlir::Operation *op);
/// The blocks (outermost ones) that write a buffer, or read it.
llvm::SetVector<mlir::Operation *> writersOf(mlir::func::FuncOp kernel, mlir::Value buffer);
llvm::SetVector<mlir::Operation *> readersOf(mlir::func::FuncOp kernel, mlir::Value buffer);
/// Whether every element that is ever written to the buffer has its last value before the statement `at` runs, and the
/// buffer lives there.
bool isReadyAt(mlir::func::FuncOp kernel, mlir::Value buffer, mlir::Operation *at);
/// Reads and writes another buffer, of the same rank, at the same indices.
void redirect(const Access &access, mlir::Value buffer);

//===----------------------------------------------------------------------===//
// Blocks that store one element at their iterators
//===----------------------------------------------------------------------===//

struct SingleStore {
  StoreOp store;
  mlir::Value buffer;
  /// Of each dimension of the buffer, the iterator that is its index; all of them different and spatial.
  llvm::SmallVector<unsigned> iterators;
};
/// The one store of a block, outside of its init; all iterators are dimensions, or reduced.
std::optional<SingleStore> singleStoreOf(BlockOp block, std::string &why);
/// The iterators that are the indices, all of them different; nullopt where an index is anything else.
std::optional<llvm::SmallVector<unsigned>> asIterators(BlockOp block, const Access &access);

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// The loops around `op`, from the outermost, inside of `outermost` (null: all).
llvm::SmallVector<ForOp> loopsAround(mlir::Operation *op, mlir::Operation *outermost = nullptr);
bool usesLoop(const SymbolicInt &expression, ForOp loop, IndexNames &names);

/// The loops inside of `outermost` that the block's spatial iterators depend on, and the conditions that say which of
/// their iterations there are; nullopt where they cannot be told from those of the reduced iterators.
struct SpatialNest {
  llvm::SmallVector<ForOp> loops, reduced;
  Shape conditions;
};
std::optional<SpatialNest> spatialNestOf(BlockOp block, mlir::Operation *outermost, KernelIndices &indices,
                                         std::string &why);
/// New serial loops like these; `builder` moves inside. Replacements: old variables, by their names in `names`.
llvm::StringMap<SymbolicInt> copyLoops(mlir::OpBuilder &builder, llvm::ArrayRef<ForOp> loops, IndexNames &names);

/// What a new block says of itself.
struct BlockHead {
  std::string name;
  llvm::SmallVector<IteratorKind> kinds;
  Shape domain, bindings, conditions;
  llvm::SmallVector<std::string> iteratorNames;
  void add(IteratorKind kind, const SymbolicInt &extent, const SymbolicInt &binding, llvm::StringRef iteratorName);
  void add(BlockOp like, unsigned iterator, const SymbolicInt &binding);
};
/// With an empty body.
BlockOp createBlock(mlir::OpBuilder &builder, mlir::Location loc, const BlockHead &head, IndexNames &names);
void setBindings(BlockOp block, llvm::ArrayRef<SymbolicInt> bindings, llvm::ArrayRef<SymbolicInt> conditions,
                 IndexNames &names);
/// A loop for each dimension (none for an extent of 1); `builder` moves inside. Returns their variables.
Shape createLoops(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<SymbolicInt> extents,
                  llvm::StringRef stem, IndexNames &names);
/// Copies all of a buffer into one of the same shape.
BlockOp createCopy(mlir::OpBuilder builder, mlir::Location loc, mlir::Value from, mlir::Value to, llvm::StringRef name);
/// A name that neither a block nor a buffer of the kernel has.
std::string uniqueName(mlir::func::FuncOp kernel, llvm::StringRef stem);

/// Every use of an index value becomes the expression; operations that hold no expressions get its value, computed at
/// `builder`.
void replaceIndex(mlir::Value index, const SymbolicInt &replacement, IndexNames &names, mlir::OpBuilder builder);

/// The nest that holds the block and nothing else.
mlir::Operation *nestOf(mlir::Operation *block);

/// The init of the block as a nest before `loop`, which is around the block and all that its reduced iterators depend
/// on. Errors: null, nothing changed.
BlockOp decomposeReduction(mlir::func::FuncOp kernel, BlockOp block, ForOp loop, std::string &why);
/// Whether there may be no instance at all of a reduction, so that none runs its init.
bool mayBeEmpty(BlockOp reduction);
} // namespace perpend::tile

#endif
