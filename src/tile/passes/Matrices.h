//===- Matrices.h - products as products of matrices -------------*- C++ -*-===//

#ifndef PERPEND_TILE_PASSES_MATRICES_H
#define PERPEND_TILE_PASSES_MATRICES_H

#include "graph/builder/Builder.h"
#include "tile/intrinsics/PanelLayout.h"

namespace perpend::tile {

/// Moves elements between an operator and the product of matrices that it is.
class Matrices {
public:
  /// nullopt: it is none.
  static std::optional<Matrices> of(graph::ProductInterface op);

  ProductExtents extents;
  bool hasBatch() const { return !product.left.batch.empty(); }
  bool hasSum() const { return !product.left.summed.empty(); }
  /// Whether the product reads all of the left operand; else `left` takes what it reads.
  bool readsAll() const { return product.read == leftShape; }
  /// Tensors with the operands' extents as [batch..., rows, depth] and [batch..., depth, columns].
  mlir::Value left(graph::Builder &builder, mlir::Value operand) const;
  mlir::Value right(graph::Builder &builder, mlir::Value operand) const;
  /// What [batch..., rows, columns] is as the result.
  mlir::Value result(graph::Builder &builder, mlir::Value matrix) const;

  /// The right operand as [batch..., columns, depth], and the left one as [batch..., depth, rows].
  mlir::Value transposedRight(graph::Builder &builder, mlir::Value operand) const;
  mlir::Value transposedLeft(graph::Builder &builder, mlir::Value operand) const;
  /// Whether these are what memory has, seen through transposes, so that nothing is moved.
  bool hasTransposedRight(mlir::Value operand) const;
  /// Whether the sum runs along the elements that follow one another in memory.
  bool sumsAlongRight(mlir::Value operand) const;
  /// Bytes of the right operand, and of one of its matrices; of an extent that is not known there is one.
  double bytesOfRight(mlir::Value operand, bool ofMatrix) const;

private:
  /// What the product reads of it.
  mlir::Value partOfLeft(graph::Builder &builder, mlir::Value operand) const;

  graph::MatrixProduct product;
  graph::Shape leftShape, resultShape;
};
} // namespace perpend::tile

#endif
