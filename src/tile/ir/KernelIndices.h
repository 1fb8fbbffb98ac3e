//===- KernelIndices.h - indices of a kernel in terms of its loops -*- C++ -*-===//
//
// Inside a block accesses are at expressions of iterators; iterators are bound
// to expressions of loop variables. This class composes the two, to answer
// which elements a loop reads and writes.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_IR_KERNELINDICES_H
#define PERPEND_TILE_IR_KERNELINDICES_H

#include "tile/ir/IndexExpressions.h"
#include "tile/ir/Tile.h"

namespace perpend::tile {

/// A load or a store of a buffer.
struct Access {
  mlir::Operation *op = nullptr;
  mlir::Value buffer() const;
  bool isStore() const { return mlir::isa<StoreOp>(op); }
  graph::ShapeAttr indices() const;
  mlir::ValueRange variables() const;
};

/// All accesses below `root`, itself included, in order; only those of `buffer` if given.
llvm::SmallVector<Access> accessesIn(mlir::Operation *root, mlir::Value buffer = {});

/// The first access whose position cannot be expressed (numbers too large, or expression too long); null if there is
/// none.
mlir::Operation *accessWithoutPlace(mlir::Operation *kernel);

class KernelIndices {
public:
  IndexNames names;

  /// Rewrites expressions of an operation in terms of loop variables and computed values.
  Shape resolve(graph::ShapeAttr expressions, mlir::ValueRange variables);
  Shape indicesOf(const Access &access) { return resolve(access.indices(), access.variables()); }
  Shape bindingsOf(BlockOp block) { return resolve(block.getBindings(), block.getVariables()); }
  SymbolicInt extentOf(ForOp loop) { return resolve(loop.getExtent(), loop.getVariables()).front(); }
  /// The element's position in its row-major buffer.
  SymbolicInt positionOf(const Access &access);
  /// Like positionOf, but not simplified by the ranges of loops.
  SymbolicInt sumOf(const Access &access);
  /// As a function of the loop's iteration; `expression` belongs to the operation `at` inside the loop.
  IndexAlong along(const SymbolicInt &expression, ForOp loop, mlir::Operation *at) {
    return tile::along(expression, names.nameOf(loop.variable()), rangesAround(at));
  }
  /// The ranges of the loops around `op`, up to but excluding `outermost`; all if that is null.
  IndexRanges rangesAround(mlir::Operation *op, mlir::Operation *outermost = nullptr);

  /// The expression in the last iteration of the loops around `op`; poison if one of them may be empty.
  SymbolicInt inLastIteration(SymbolicInt expression, mlir::Operation *op);

  /// Rewrites an expression of iterators.
  SymbolicInt resolve(const SymbolicInt &expression);

private:
  llvm::StringMap<SymbolicInt> iterators;
  /// Cache of resolved lists, by expressions and variables.
  llvm::DenseMap<graph::ShapeAttr, llvm::SmallVector<std::pair<llvm::SmallVector<mlir::Value>, Shape>, 1>> resolved;
};
} // namespace perpend::tile

#endif
