//===- Rows.h - chains of operators on rows ---------------------*- C++ -*-===//
//
// A chain of reductions along the same trailing dimensions (softmax, normalisations) can be computed row by row, where
// a row holds these dimensions. So one kernel computes the whole chain and stores only the current row of those
// intermediate values that are worth keeping; it recomputes the others at their uses. Which operators form a chain
// follows from which dimension of an operand becomes which of the result (DimensionFlowInterface), not from their
// names.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ROWS_H
#define PERPEND_GRAPH_ROWS_H

#include "graph/Graph.h"

#include "llvm/ADT/SetVector.h"

namespace perpend::graph {

/// Operators that compute one value row by row. A row is an index of the first `rowDims` dimensions.
struct RowChain {
  mlir::Operation *root = nullptr;
  unsigned rowDims = 0;
  /// All operators except the root.
  llvm::SetVector<mlir::Operation *> members;
  /// The members of which a row is stored; the others are recomputed at their uses.
  llvm::SetVector<mlir::Operation *> kept;

  /// The extents of one row of a value.
  Shape rowOf(mlir::Value value) const;
};

/// Whether contiguous elements of a view are apart in its operand.
bool movesLastDimension(mlir::Operation *op);

/// Whether an operator is a slice of whole rows along the outermost dimension of more than one, so that its elements
/// lie together in its operand. False for null.
bool isOfWholeRows(mlir::Operation *op);

/// Whether the result lies in its operand's memory: reshapes, and slices in place. False for null.
bool isInOperandsMemory(mlir::Operation *op);
/// The element of the operand where the result of such an operator begins.
SymbolicInt firstElementInOperand(mlir::Operation *op);

/// The value behind operators whose result lies in their operand's memory.
mlir::Value originOf(mlir::Value value);

/// The permutation of a transpose that keeps the last dimension: its rows lie where those of its operand do, at other
/// distances. Empty for any other operator, and null.
llvm::ArrayRef<int64_t> orderOfRows(mlir::Operation *op);

/// Whether a value has the rows of a stored one, of at least so many bytes, in another order, and elements in another
/// order than in its rows perhaps: behind transposes, and reshapes that merge no dimensions.
bool viewsRows(mlir::Value value, int64_t rowBytes, llvm::function_ref<bool(mlir::Value)> isStored);

/// A map that costs little more than reading its operand, whose elements have at most a quarter of the bits. This is
/// recomputed on demand, and only a hint for fusion. computedByUsersAttribute is an order, which also keeps operands in
/// memory and constants unfolded.
bool onlyWidens(mlir::Operation *op);

/// Whether an operator does nothing but convert the elements of its operand to floats of more bits.
bool extendsFloats(mlir::Operation *op);

/// Whether only products read a value, directly or behind transposes and reshapes, or behind any views.
bool isMultiplied(mlir::Value value, bool throughViews = false);

/// A sum of products that an intrinsic computes in blocks: rows of its left operand times columns of the right one,
/// which all rows share.
bool isProduct(mlir::Operation *op);

/// Whether elements of a value would be read repeatedly by elementwise users: it has several uses, or one that repeats
/// it, possibly through views.
bool isReadOften(mlir::Value value);

/// Whether a value is worth storing: it combines many elements, or is both costly and read often.
bool isWorthKeeping(mlir::Operation *op);

/// Whether the user combines windows of this operand that have no element in common and do not reach beyond its edges.
bool readsWindowsApart(mlir::OpOperand &use);

/// Whether a value is kept between a reduction and the windows of another one that reads them apart, in the same
/// kernel: the first of the pointwise values with the fewest bits.
bool isKeptForWindows(mlir::Operation *op);

/// The chain that ends in `root`: operators that only the chain uses, as far as rows depend on rows, with at most
/// `mostBytes` of kept rows. Longer rows are recomputed, at most twice in a chain; so are rows whose elements cost no
/// more than a load. The result depends on these operators only, so that the kernel made of them gives the same chain.
/// nullopt: nothing would be read often, or nothing is combined. among: if not null, only these may join.
std::optional<RowChain> rowChainAt(mlir::Operation *root, int64_t mostBytes,
                                   const llvm::SetVector<mlir::Operation *> *among = nullptr);

/// Most bytes of the rows of a chain, so that they stay in a thread's caches; applies to rows of known length.
inline constexpr int64_t mostRowBytes = 1 << 20;
} // namespace perpend::graph

#endif
