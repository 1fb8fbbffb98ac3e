//===- Placement.h - where elements of a gradient go ------------*- C++ -*-===//
//
// What the rules of several primitives are written with.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_GRADIENTS_PLACEMENT_H
#define PERPEND_GRAPH_GRADIENTS_PLACEMENT_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// The elements of one dimension from last to first.
mlir::Value reversed(Builder &builder, mlir::Value input, int64_t dim);

/// `step` - 1 zeros behind each element of one dimension.
mlir::Value stretched(Builder &builder, mlir::Value input, int64_t dim, int64_t step);

/// Zeros of an extent, with the elements of `input` at start, start + step, ... of one dimension.
mlir::Value placed(Builder &builder, mlir::Value input, int64_t dim, const SymbolicInt &start, int64_t step,
                   const SymbolicInt &extent);

/// The sum of updates [k...] at each row-major position of a tensor of this shape; positions (i64, [k...]) outside are
/// left out. Sums of f16 and bf16 are accumulated in f32.
mlir::Value scatterSum(Builder &builder, llvm::ArrayRef<SymbolicInt> shape, mlir::Value positions, mlir::Value updates);
} // namespace perpend::graph

#endif
