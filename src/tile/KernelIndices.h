//===- KernelIndices.h - indices of a kernel in terms of its loops -*- C++ -*-===//
//
// Blocks hide their inside: an access is at expressions of iterators, which are
// bound to expressions of loops' variables. Here the two are put together, for
// whoever asks which elements a loop reads and writes.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_KERNELINDICES_H
#define PERPEND_TILE_KERNELINDICES_H

#include "tile/IndexExpressions.h"
#include "tile/Tile.h"

namespace perpend::tile {

/// An access to a buffer: a load or a store.
struct Access {
  mlir::Operation *op = nullptr;
  mlir::Value buffer() const;
  bool isStore() const { return mlir::isa<StoreOp>(op); }
  graph::ShapeAttr indices() const;
  mlir::ValueRange variables() const;
};

/// The accesses below an operation (itself included), in order; of one buffer, if one is given.
llvm::SmallVector<Access> accessesIn(mlir::Operation *root, mlir::Value buffer = {});

/// An access whose place no expression says: its numbers are too large, or it is too long. Null: none.
mlir::Operation *accessWithoutPlace(mlir::Operation *kernel);

class KernelIndices {
public:
  IndexNames names;

  /// Expressions of an operation, in variables of loops and values that are neither.
  Shape resolve(graph::ShapeAttr expressions, mlir::ValueRange variables);
  Shape indicesOf(const Access &access) { return resolve(access.indices(), access.variables()); }
  Shape bindingsOf(BlockOp block) { return resolve(block.getBindings(), block.getVariables()); }
  SymbolicInt extentOf(ForOp loop) { return resolve(loop.getExtent(), loop.getVariables()).front(); }
  /// Where the element lies when its buffer is row-major.
  SymbolicInt positionOf(const Access &access);
  /// As positionOf, but what the ranges of the loops decide is not simplified.
  SymbolicInt sumOf(const Access &access);
  /// In terms of the loop's iterations; `expression` is one of the operation `at`, inside of the loop.
  IndexAlong along(const SymbolicInt &expression, ForOp loop, mlir::Operation *at) {
    return tile::along(expression, names.nameOf(loop.variable()), rangesAround(at));
  }
  /// The ranges of the loops around `op`, up to `outermost` (itself not), or all.
  IndexRanges rangesAround(mlir::Operation *op, mlir::Operation *outermost = nullptr);

  /// The expression in the last iteration of the loops around `op`; poison where one of them may have none.
  SymbolicInt inLastIteration(SymbolicInt expression, mlir::Operation *op);

  /// An expression of iterators.
  SymbolicInt resolve(const SymbolicInt &expression);

private:
  llvm::StringMap<SymbolicInt> iterators;
  /// Lists of expressions, of each list of variables.
  llvm::DenseMap<graph::ShapeAttr, llvm::SmallVector<std::pair<llvm::SmallVector<mlir::Value>, Shape>, 1>> resolved;
};
} // namespace perpend::tile

#endif
