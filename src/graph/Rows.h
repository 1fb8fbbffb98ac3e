//===- Rows.h - values that are needed row by row ---------------*- C++ -*-===//
//
// A chain of reductions over the same rows (softmax, normalisations) asks of each
// value only the row that it is at, so one kernel can do them all, with a row of
// each intermediate value in the cache. Which operators those are follows from
// how far dimensions go (DimensionFlowInterface), not from what they are.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_ROWS_H
#define PERPEND_GRAPH_ROWS_H

#include "graph/Graph.h"

#include "llvm/ADT/SetVector.h"

namespace perpend::graph {

/// Operators that compute one value, row by row: a row is an index of the first `rowDims` dimensions.
struct RowChain {
  mlir::Operation *root = nullptr;
  unsigned rowDims = 0;
  /// Without the root.
  llvm::SetVector<mlir::Operation *> members;
  /// Those of the members of which a row is kept; the others are computed where they are used.
  llvm::SetVector<mlir::Operation *> kept;

  /// The extents of one row of a value.
  Shape rowOf(mlir::Value value) const;
};

/// A view of whose elements neighbours lie apart.
bool movesLastDimension(mlir::Operation *op);

/// A map of which an element costs little more than to read it, from an operand of a quarter of its bits at most. This
/// is seen anew after each change, and leaves fusion the choice; computedByUsersAttribute is an order, which also keeps
/// operands in memory and constants unfolded.
bool onlyWidens(mlir::Operation *op);

/// A sum of products that an intrinsic computes in blocks: rows of its left operand times columns of the other, which
/// is the same for all rows.
bool isProduct(mlir::Operation *op);

/// Whether elements of a value are read again and again where its users are computed element by element: it has several
/// uses, or one that repeats it, be it behind views.
bool isReadOften(mlir::Value value);

/// Whether a value is worth keeping: it combines many elements, or costs something and is read often.
bool isWorthKeeping(mlir::Operation *op);

/// The chain that ends in `root`: what only it uses, as far as rows follow rows, with at most `mostBytes` of rows that
/// are kept. Rows that are known to be longer are computed again, which a chain does at most twice; so are those of
/// which an element costs no more than to read it. It depends on nothing but its own operators, so that it is found
/// again in their kernel. nullopt: nothing would be read often, or nothing combines elements.
std::optional<RowChain> rowChainAt(mlir::Operation *root, int64_t mostBytes);

/// What the rows of a chain may take of a thread's caches, where that is known.
inline constexpr int64_t mostRowBytes = 1 << 20;
} // namespace perpend::graph

#endif
