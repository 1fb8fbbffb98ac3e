//===- PointProducts.h - products over channels, and enlarged tensors -*- C++ -*-===//
//
// Which products take each position of a tensor by itself, and which tensors
// are weighted sums of elements at other positions of a smaller one, equally
// for all channels. The channels are the last dimension. Both are linear, so
// they may be exchanged.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_POINTPRODUCTS_H
#define PERPEND_GRAPH_POINTPRODUCTS_H

#include "graph/Shapes.h"

#include <optional>

namespace perpend::graph {
class Builder;

/// A product of the vectors along the last dimension with a matrix.
class PointProduct {
public:
  static std::optional<PointProduct> of(mlir::Operation *op);

  mlir::Value input() const { return op->getOperand(0); }
  SymbolicInt resultChannels() const { return shapeOf(op->getResult(0)).back(); }
  /// The product of another tensor with the rows of the matrix from `first` on.
  mlir::Value build(Builder &builder, mlir::Value input, const SymbolicInt &first) const;

private:
  PointProduct(mlir::Operation *op, int64_t matrixDim) : op(op), matrixDim(matrixDim) {}

  mlir::Operation *op;
  int64_t matrixDim; // of the matrix, along which products are added
};

/// A map that adds elements of one tensor, gathered along dimensions before the last one, times numbers that are equal
/// for all channels. Nothing else reads it.
class Enlargement {
public:
  static std::optional<Enlargement> of(mlir::Value value);

  mlir::Value source() const { return tensor; }
  /// The same sum of elements of another tensor, which has other channels.
  mlir::Value build(Builder &builder, mlir::Value other) const;

private:
  explicit Enlargement(mlir::Operation *map) : map(map) {}

  bool isElement(mlir::Value value) const;
  bool isFactor(mlir::Value value) const;
  bool isLinear(mlir::Value value) const;

  mlir::Operation *map;
  mlir::Value tensor;
};

/// The tensors whose channels are those of `value`, one after the other, if nothing else reads it.
mlir::ValueRange partsOfChannels(mlir::Value value);
} // namespace perpend::graph

#endif
