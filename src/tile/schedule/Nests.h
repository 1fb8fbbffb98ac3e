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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::scf {
class IfOp;
} // namespace mlir::scf

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
/// Moves the buffer's tile.alloc, if there is one, before `at`, in its own sequence; false where `at` is outside of
/// that.
bool makeLiveAt(mlir::Value buffer, mlir::Operation *at);
/// Whether elements are written again when nobody reads them any more (rolling_buffer).
bool isRolled(mlir::Value buffer);
/// Reads and writes another buffer, of the same rank, at the same indices.
void redirect(const Access &access, mlir::Value buffer);
/// Reads and writes at other indices.
void setIndices(const Access &access, llvm::ArrayRef<SymbolicInt> indices, IndexNames &names);
/// The buffers that a block writes; or those that it reads and does not write.
llvm::SetVector<mlir::Value> buffersOf(BlockOp block, bool isWritten);
/// The ranges of the iterators of the blocks around an operation, by their names.
IndexRanges iteratorRanges(mlir::Operation *op, IndexNames &names);

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
/// A reduction by one commutative and associative operation whose neutral element is the init.
struct Combination {
  LoadOp carried;
  mlir::Operation *combine = nullptr;
  mlir::TypedAttr neutral;
  /// What an instance adds to the sum so far.
  mlir::Value contribution() const {
    return combine->getOperand(combine->getOperand(0) == const_cast<LoadOp &>(carried).getResult() ? 1 : 0);
  }
};
std::optional<Combination> combinationOf(BlockOp block, SingleStore single, std::string &why);
/// The iterators that are the indices, all of them different; nullopt where an index is anything else.
std::optional<llvm::SmallVector<unsigned>> asIterators(BlockOp block, const Access &access);

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// The loops around `op`, from the outermost, inside of `outermost` (null: all).
llvm::SmallVector<ForOp> loopsAround(mlir::Operation *op, mlir::Operation *outermost = nullptr);
/// The loops that are the block's iterators, one for one, from the outermost; no iterator of more than one iteration is
/// bound otherwise.
std::optional<llvm::SmallVector<ForOp>> loopsOfIterators(BlockOp block, std::string &why);
bool usesLoop(const SymbolicInt &expression, ForOp loop, IndexNames &names);
/// Whether an expression uses index values (and not symbols of the model alone).
bool usesIndices(const SymbolicInt &expression, const IndexNames &names);
/// Whether the index values in it are variables of `loop` and of loops around it (and not, say, loaded).
bool isOutside(const SymbolicInt &expression, mlir::Operation *loop, const IndexNames &names);
/// The blocks in `root`, and none that is in another.
llvm::SmallVector<BlockOp> blocksInside(mlir::Operation *root);

/// The loops inside of `outermost` that the block's spatial iterators depend on, and the conditions that say which of
/// their iterations there are; nullopt where they cannot be told from those of the reduced iterators.
struct SpatialNest {
  llvm::SmallVector<ForOp> loops, reduced;
  Shape conditions;
};
std::optional<SpatialNest> spatialNestOf(BlockOp block, mlir::Operation *outermost, KernelIndices &indices,
                                         std::string &why);
/// Whether left < right certainly holds in the first iteration of all these loops together, for `op` inside of them.
bool holdsAtFirst(const SymbolicInt &left, const SymbolicInt &right, llvm::ArrayRef<ForOp> loops, mlir::Operation *op,
                  KernelIndices &indices);
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
/// The iterator counts from `start` on: what the body computes with is `start` more. Bindings and domain stay.
void shiftIterator(BlockOp block, unsigned iterator, const SymbolicInt &start);
/// A loop for each dimension (none for an extent of 1); `builder` moves inside. Returns their variables.
Shape createLoops(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<SymbolicInt> extents,
                  llvm::StringRef stem, IndexNames &names);
/// The value of the element at `index`, which the block's iterators are.
using ElementBody =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, BlockOp, llvm::ArrayRef<SymbolicInt> index, IndexNames &)>;
/// A nest that fills all of a buffer.
BlockOp createFill(mlir::OpBuilder builder, mlir::Location loc, mlir::Value to, llvm::StringRef name,
                   ElementBody element);
/// From a buffer that is as large, or larger.
BlockOp createCopy(mlir::OpBuilder builder, mlir::Location loc, mlir::Value from, mlir::Value to, llvm::StringRef name);
/// A name that neither a block nor a buffer of the kernel has.
std::string uniqueName(mlir::func::FuncOp kernel, llvm::StringRef stem);

/// Every use of an index value becomes the expression; operations that hold no expressions get its value, computed at
/// `builder`.
void replaceIndex(mlir::Value index, const SymbolicInt &replacement, IndexNames &names, mlir::OpBuilder builder);

/// The block's code for the element at these iterators, at `builder`, without what is in `mapping`; returns what it
/// would store.
mlir::Value cloneBody(mlir::OpBuilder &builder, BlockOp block, StoreOp store, llvm::ArrayRef<SymbolicInt> iterators,
                      IndexNames &names, mlir::IRMapping mapping = {});

/// Where what a comparison says changes along a loop around it: numbers of iterations. nullopt: not known; none:
/// nowhere.
std::optional<llvm::SmallVector<SymbolicInt>> changesAlong(mlir::arith::CmpIOp comparison, ForOp loop,
                                                           KernelIndices &indices);
/// The block as it is where the condition of a choice in it holds, or does not.
void takeBranch(mlir::scf::IfOp choice, bool holds);
/// Where a block chooses by its iterators, and it is the same side in all of its domain, that side stays.
void takeDecidedChoices(BlockOp block);

/// The nest that holds the block and nothing else.
mlir::Operation *nestOf(mlir::Operation *block);

/// The choice of a block that stores what it loads from there where a condition does not hold, which is of comparisons
/// `0 <= a < b` of expressions of iterators, an init aside; null: it is no such block.
mlir::scf::IfOp choiceToChange(BlockOp block);
/// Makes that condition the block's, unless it has an init.
void skipUnchanged(BlockOp block);

/// The init of the block as a nest before `loop`, which is around the block and all that its reduced iterators depend
/// on. Errors: null, nothing changed.
BlockOp decomposeReduction(mlir::func::FuncOp kernel, BlockOp block, ForOp loop, std::string &why);
/// Whether there may be no instance at all of a reduction, so that none runs its init.
bool mayBeEmpty(BlockOp reduction);
} // namespace perpend::tile

#endif
