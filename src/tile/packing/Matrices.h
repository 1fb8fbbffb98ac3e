//===- Matrices.h - contractions as matrix products -------------*- C++ -*-===//

#ifndef PERPEND_TILE_PACKING_MATRICES_H
#define PERPEND_TILE_PACKING_MATRICES_H

#include "graph/builder/Builder.h"
#include "tile/intrinsics/PanelLayout.h"

namespace perpend::tile {

/// Converts operands and results between an operator and its equivalent matrix product.
class Matrices {
public:
  /// nullopt if it is no matrix product.
  static std::optional<Matrices> of(graph::ProductInterface op);

  ProductExtents extents;
  bool hasBatch() const { return !product.left.batch.empty(); }
  bool hasSum() const { return !product.left.summed.empty(); }
  /// Whether the product reads all of the left operand; if not, `left` slices it.
  bool readsAll() const { return product.read == leftShape; }
  /// The operands as [batch..., rows, depth] and [batch..., depth, columns].
  mlir::Value left(graph::Builder &builder, mlir::Value operand) const;
  mlir::Value right(graph::Builder &builder, mlir::Value operand) const;
  /// Converts [batch..., rows, columns] to the operator's result.
  mlir::Value result(graph::Builder &builder, mlir::Value matrix) const;

  /// The right operand as [batch..., columns, depth], and the left one as [batch..., depth, rows].
  mlir::Value transposedRight(graph::Builder &builder, mlir::Value operand) const;
  mlir::Value transposedLeft(graph::Builder &builder, mlir::Value operand) const;
  /// Whether memory has that order already, seen through transposes, so that nothing needs to be moved.
  bool hasTransposedRight(mlir::Value operand) const;
  /// Whether the right operand is contiguous along the sum: its last dimension in memory is summed.
  bool sumsAlongRight(mlir::Value operand) const;
  /// Bytes of the right operand, or of one of its matrices; unknown extents count as 1.
  double bytesOfRight(mlir::Value operand, bool ofMatrix) const;

private:
  /// The part of the left operand that the product reads.
  mlir::Value partOfLeft(graph::Builder &builder, mlir::Value operand) const;

  graph::MatrixProduct product;
  graph::Shape leftShape, resultShape;
};
} // namespace perpend::tile

#endif
