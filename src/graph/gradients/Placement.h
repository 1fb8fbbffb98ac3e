//===- Placement.h - positions of elements in a gradient --------*- C++ -*-===//
//
// Shared by the rules of several primitives.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_GRADIENTS_PLACEMENT_H
#define PERPEND_GRAPH_GRADIENTS_PLACEMENT_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// Reverses the elements along one dimension.
mlir::Value reversed(Builder &builder, mlir::Value input, int64_t dim);

/// Inserts `step` - 1 zeros after each element along one dimension.
mlir::Value stretched(Builder &builder, mlir::Value input, int64_t dim, int64_t step);

/// Zeros of a given extent, with the elements of `input` at start, start + step, ... along one dimension.
mlir::Value placed(Builder &builder, mlir::Value input, int64_t dim, const SymbolicInt &start, int64_t step,
                   const SymbolicInt &extent);

/// The sum of updates [k...] at each row-major position of a tensor of this shape; positions (i64, [k...]) outside are
/// dropped. Sums of f16 and bf16 are accumulated in f32.
mlir::Value scatterSum(Builder &builder, llvm::ArrayRef<SymbolicInt> shape, mlir::Value positions, mlir::Value updates);
} // namespace perpend::graph

#endif
