//===- Shapes.h - symbolic shapes of tensor types ---------------*- C++ -*-===//
//
// Converts between tensor types and lists of symbolic integers, and deduces
// result shapes for the builder and the verifiers.
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

/// The tensor type with these extents: constants as numbers, others as `?` with a #graph.shape encoding.
mlir::RankedTensorType tensorType(llvm::ArrayRef<SymbolicInt> shape, mlir::Type elementType);

inline mlir::Type scalarTypeOf(mlir::Value tensor) { return scalarType(tensorTypeOf(tensor).getElementType()); }

/// An extent for use as a divisor in index computations: 1 instead of 0, because a division hoisted out of an empty
/// loop must not trap.
SymbolicInt asDivisor(const SymbolicInt &extent);

SymbolicInt elementCount(llvm::ArrayRef<SymbolicInt> shape);
/// Row-major strides in elements.
Shape rowMajorStrides(llvm::ArrayRef<SymbolicInt> shape);
/// For example "[n, 3, 4*m]".
std::string toString(llvm::ArrayRef<SymbolicInt> shape);
std::string toString(llvm::ArrayRef<int64_t> numbers);
/// For example "f32 [n, 3]".
std::string typeText(mlir::Value tensor);
/// Whether the extent is provably 1 or 0: broadcasting treats it as 1, as in x - x[:1].
bool isAtMostOne(const SymbolicInt &extent);
/// Whether the extents are provably different.
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
