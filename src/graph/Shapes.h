//===- Shapes.h - symbolic shapes of tensor types ---------------*- C++ -*-===//
//
// The bridge between tensor types and lists of symbolic integers, and the
// deduction of result shapes that the builder and the verifiers share.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_SHAPES_H
#define PERPEND_GRAPH_SHAPES_H

#include "graph/Graph.h"

namespace perpend::graph {

/// The extents of a tensor value or type. A `?` without encoding is a poison expression.
Shape shapeOf(mlir::RankedTensorType type);
inline Shape shapeOf(mlir::Value value) { return shapeOf(llvm::cast<mlir::RankedTensorType>(value.getType())); }
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// The tensor type with these extents: static ones as numbers, the others as `?` with a #graph.shape encoding.
mlir::RankedTensorType tensorType(llvm::ArrayRef<SymbolicInt> shape, mlir::Type elementType);

/// The signless type that scalar code uses for elements of this type.
mlir::Type scalarType(mlir::Type elementType);
inline mlir::Type scalarTypeOf(mlir::Value tensor) { return scalarType(tensorTypeOf(tensor).getElementType()); }
inline bool isUnsigned(mlir::Type elementType) { return elementType.isUnsignedInteger() || elementType.isInteger(1); }

/// The runtime's name of an element type: f32, bf16, i4, u64, bool, string, sequence ...
std::string nameOf(mlir::Type elementType);

SymbolicInt elementCount(llvm::ArrayRef<SymbolicInt> shape);
/// Row-major strides in elements.
Shape rowMajorStrides(llvm::ArrayRef<SymbolicInt> shape);
/// "[n, 3, 4*m]"
std::string toString(llvm::ArrayRef<SymbolicInt> shape);
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
