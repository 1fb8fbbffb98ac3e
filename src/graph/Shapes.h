//===- Shapes.h - symbolic shapes of tensor types ---------------*- C++ -*-===//
//
// The bridge between tensor types and lists of symbolic integers, and the
// deduction of result shapes that the builder and the verifiers share.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_SHAPES_H
#define PERPEND_GRAPH_SHAPES_H

#include "graph/ElementTypes.h"

namespace perpend::graph {

/// The extents of a tensor value or type. A `?` without encoding is a poison expression.
Shape shapeOf(mlir::RankedTensorType type);
inline Shape shapeOf(mlir::Value value) { return shapeOf(llvm::cast<mlir::RankedTensorType>(value.getType())); }
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// The tensor type with these extents: static ones as numbers, the others as `?` with a #graph.shape encoding.
mlir::RankedTensorType tensorType(llvm::ArrayRef<SymbolicInt> shape, mlir::Type elementType);

inline mlir::Type scalarTypeOf(mlir::Value tensor) { return scalarType(tensorTypeOf(tensor).getElementType()); }

/// What code divides by where it computes indices: 1 for an extent of 0, which has no index, because a division that
/// is moved out of an empty loop must not trap.
SymbolicInt asDivisor(const SymbolicInt &extent);

SymbolicInt elementCount(llvm::ArrayRef<SymbolicInt> shape);
/// Row-major strides in elements.
Shape rowMajorStrides(llvm::ArrayRef<SymbolicInt> shape);
/// "[n, 3, 4*m]"
std::string toString(llvm::ArrayRef<SymbolicInt> shape);
std::string toString(llvm::ArrayRef<int64_t> numbers);
/// "f32 [n, 3]"
std::string typeText(mlir::Value tensor);
/// Provably 1, or 0: what broadcasting takes for 1, as in x - x[:1].
bool isAtMostOne(const SymbolicInt &extent);
/// Provably different; equal or unknown extents are not.
bool provablyDiffer(const SymbolicInt &a, const SymbolicInt &b);
inline Shape dropDims(llvm::ArrayRef<SymbolicInt> shape, llvm::ArrayRef<int64_t> dims) {
  Shape kept;
  for (auto [index, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(index)))
      kept.push_back(extent);
  return kept;
}
} // namespace perpend::graph

#endif
