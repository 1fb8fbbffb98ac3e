//===- Nests.h - queries and rewrites of loops and blocks -------*- C++ -*-===//
//
// Shared by several primitives: where a buffer lives and which blocks write it, which loops run a block's spatial
// iterators, and the construction of new nests.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_NESTS_H
#define PERPEND_TILE_SCHEDULE_NESTS_H

#include "tile/ir/BlockEmitter.h"
#include "tile/ir/KernelIndices.h"

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

/// The statement list in which a buffer lives: that of its tile.alloc, or the kernel's body.
mlir::Block *scopeOf(mlir::Value buffer);
/// The buffer's name for error messages.
std::string bufferName(mlir::Value buffer);
/// The statement of `body` that contains `op`, or null.
mlir::Operation *statementIn(mlir::Block *body, mlir::Operation *op);
/// The outermost blocks that write a buffer, or read it.
llvm::SetVector<mlir::Operation *> writersOf(mlir::func::FuncOp kernel, mlir::Value buffer);
llvm::SetVector<mlir::Operation *> readersOf(mlir::func::FuncOp kernel, mlir::Value buffer);
/// Whether the buffer is alive at the statement `at`, and every element that is ever written has its final value
/// before.
bool isReadyAt(mlir::func::FuncOp kernel, mlir::Value buffer, mlir::Operation *at);
/// Moves the buffer's tile.alloc, if any, before `at` within its statement list; false if `at` is outside that.
bool makeLiveAt(mlir::Value buffer, mlir::Operation *at);
/// Whether elements are reused once nobody reads them any more (rolling_buffer).
bool isRolled(mlir::Value buffer);
/// Makes an access use another buffer of the same rank, at the same indices.
void redirect(const Access &access, mlir::Value buffer);
/// Replaces the indices of an access.
void setIndices(const Access &access, llvm::ArrayRef<SymbolicInt> indices, IndexNames &names);
/// The buffers that a block writes; or those that it reads but does not write.
llvm::SetVector<mlir::Value> buffersOf(BlockOp block, bool isWritten);
/// The ranges of the iterators of all blocks around an operation, by name.
IndexRanges iteratorRanges(mlir::Operation *op, IndexNames &names);

//===----------------------------------------------------------------------===//
// Blocks that store one element at their iterators
//===----------------------------------------------------------------------===//

struct SingleStore {
  StoreOp store;
  mlir::Value buffer;
  /// For each dimension of the buffer, the iterator that is its index: distinct spatial iterators.
  llvm::SmallVector<unsigned> iterators;
};
/// The only store of a block, apart from its init, if every iterator is a dimension or reduced.
std::optional<SingleStore> singleStoreOf(BlockOp block, std::string &why);
/// A reduction by a commutative, associative operation whose init is the neutral element.
struct Combination {
  LoadOp carried;
  mlir::Operation *combine = nullptr;
  mlir::TypedAttr neutral;
  /// The term that an instance combines with the current sum.
  mlir::Value contribution() const {
    return combine->getOperand(combine->getOperand(0) == const_cast<LoadOp &>(carried).getResult() ? 1 : 0);
  }
};
std::optional<Combination> combinationOf(BlockOp block, SingleStore single, std::string &why);
/// The iterators that are the indices, all distinct; nullopt if an index is anything else.
std::optional<llvm::SmallVector<unsigned>> asIterators(BlockOp block, const Access &access);

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// The loops around `op`, outermost first, up to but excluding `outermost` (null: all).
llvm::SmallVector<ForOp> loopsAround(mlir::Operation *op, mlir::Operation *outermost = nullptr);
/// The loops that correspond one to one to the block's iterators, outermost first. Fails if an iterator with more than
/// one value is bound to anything else.
std::optional<llvm::SmallVector<ForOp>> loopsOfIterators(BlockOp block, std::string &why);
bool usesLoop(const SymbolicInt &expression, ForOp loop, IndexNames &names);
/// Whether an expression uses index values, as opposed to symbols of the model only.
bool usesIndices(const SymbolicInt &expression, const IndexNames &names);
/// Whether all its index values are variables of `loop` or of loops around it, as opposed to computed values.
bool isOutside(const SymbolicInt &expression, mlir::Operation *loop, const IndexNames &names);
/// The outermost blocks in `root`.
llvm::SmallVector<BlockOp> blocksInside(mlir::Operation *root);

/// The loops inside `outermost` on which the block's spatial iterators depend, and the conditions that restrict them;
/// nullopt if they cannot be separated from the loops of reduced iterators.
struct SpatialNest {
  llvm::SmallVector<ForOp> loops, reduced;
  Shape conditions;
};
std::optional<SpatialNest> spatialNestOf(BlockOp block, mlir::Operation *outermost, KernelIndices &indices,
                                         std::string &why);
/// Whether left < right is certain for `op` in the common first iteration of all these loops.
bool holdsAtFirst(const SymbolicInt &left, const SymbolicInt &right, llvm::ArrayRef<ForOp> loops, mlir::Operation *op,
                  KernelIndices &indices);
/// Creates serial loops like these and moves `builder` inside. Returns the new variables, by the names of the old ones.
llvm::StringMap<SymbolicInt> copyLoops(mlir::OpBuilder &builder, llvm::ArrayRef<ForOp> loops, IndexNames &names);

/// The parts of a new block apart from its body.
struct BlockHead {
  std::string name;
  llvm::SmallVector<IteratorKind> kinds;
  Shape domain, bindings, conditions;
  llvm::SmallVector<std::string> iteratorNames;
  void add(IteratorKind kind, const SymbolicInt &extent, const SymbolicInt &binding, llvm::StringRef iteratorName);
  void add(BlockOp like, unsigned iterator, const SymbolicInt &binding);
};
/// Creates a block with an empty body.
BlockOp createBlock(mlir::OpBuilder &builder, mlir::Location loc, const BlockHead &head, IndexNames &names);
void setBindings(BlockOp block, llvm::ArrayRef<SymbolicInt> bindings, llvm::ArrayRef<SymbolicInt> conditions,
                 IndexNames &names);
/// Lets the iterator count from `start`: adds `start` wherever the body uses it. Bindings and domain stay.
void shiftIterator(BlockOp block, unsigned iterator, const SymbolicInt &start);
/// Creates a loop for each dimension of extent other than 1, and moves `builder` inside. Returns their variables.
Shape createLoops(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<SymbolicInt> extents,
                  llvm::StringRef stem, IndexNames &names);
/// Computes the element at `index`, given by the block's iterators.
using ElementBody =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, BlockOp, llvm::ArrayRef<SymbolicInt> index, IndexNames &)>;
/// A nest that fills a whole buffer.
BlockOp createFill(mlir::OpBuilder builder, mlir::Location loc, mlir::Value to, llvm::StringRef name,
                   ElementBody element);
/// A nest that copies from a buffer of at least the same size.
BlockOp createCopy(mlir::OpBuilder builder, mlir::Location loc, mlir::Value from, mlir::Value to, llvm::StringRef name);
/// A name that no block or buffer of the kernel has yet.
std::string uniqueName(mlir::func::FuncOp kernel, llvm::StringRef stem);

/// Replaces all uses of an index value by the expression. Operations that do not hold expressions get its value,
/// computed at `builder`.
void replaceIndex(mlir::Value index, const SymbolicInt &replacement, IndexNames &names, mlir::OpBuilder builder);

/// Clones the block's computation of the element at these iterators to `builder`, leaving out operations in `mapping`.
/// Returns the value that the block would store.
mlir::Value cloneBody(mlir::OpBuilder &builder, BlockOp block, StoreOp store, llvm::ArrayRef<SymbolicInt> iterators,
                      IndexNames &names, mlir::IRMapping mapping = {});

/// The iterations of a surrounding loop at which the result of a comparison changes; empty if it never changes, nullopt
/// if unknown.
std::optional<llvm::SmallVector<SymbolicInt>> changesAlong(mlir::arith::CmpIOp comparison, ForOp loop,
                                                           KernelIndices &indices);
/// The iteration of a surrounding loop before which a comparison holds, and from which on it does not, if there is one:
/// it may lie outside of the loop's range. nullopt if unknown.
std::optional<SymbolicInt> endAlong(mlir::arith::CmpIOp comparison, ForOp loop, KernelIndices &indices);
/// Replaces a choice in a block by one of its branches.
void takeBranch(mlir::scf::IfOp choice, bool holds);
/// Replaces choices by iterator whose outcome is the same in the whole domain of the block.
void takeDecidedChoices(BlockOp block);

/// The outermost nest that contains only this block.
mlir::Operation *nestOf(mlir::Operation *block);

/// The choice in a block that leaves elements unchanged (stores what it loaded) unless a condition holds. The condition
/// must consist of comparisons `0 <= a < b` of expressions of iterators; an init does not matter. Null: the block has
/// another form.
mlir::scf::IfOp choiceToChange(BlockOp block);
/// Makes that condition a condition of the block, unless the block has an init.
void skipUnchanged(BlockOp block);

/// Moves the block's init to a nest before `loop`, which must enclose the block and all loops that its reduced
/// iterators depend on. On failure returns null, with a reason, and changes nothing.
BlockOp decomposeReduction(mlir::func::FuncOp kernel, BlockOp block, ForOp loop, std::string &why);
/// Whether a reduction may have no instance at all, so that its init never runs.
bool mayBeEmpty(BlockOp reduction);
} // namespace perpend::tile

#endif
