//===- Scalars.h - scalar code for reductions and conversions ---*- C++ -*-===//

#ifndef PERPEND_GRAPH_SCALARS_H
#define PERPEND_GRAPH_SCALARS_H

#include "graph/Minifloats.h"

namespace perpend::graph {

/// The neutral element of a reduction over elements of this tensor element type.
mlir::Value initialValue(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind, mlir::Type elementType);

/// Combines `carried` with `next`. Floating-point sums and products may be reassociated.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind, mlir::Type elementType,
                    mlir::Value carried, mlir::Value next);

/// a * b + carried, in the type of `carried`.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b,
                        mlir::Value carried);

/// An element of `tensor`, extended to the scalar type of `elementType`.
mlir::Value extend(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value element, mlir::Value tensor,
                   mlir::Type elementType);

/// A scalar converted from one tensor element type to another: C++ semantics for numbers, != 0 for bool. What ONNX and
/// C++ leave open, integers of NaN and of floats out of range, is what PyTorch and numpy give on most servers: the
/// lowest i32 or i64, of which narrower types take the low bits.
mlir::Value convert(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Type from, mlir::Type to,
                    MinifloatRounding rounding = {});

/// Reinterprets the bits as another element type of the same width. A bool is a byte, of which any nonzero value is
/// true.
mlir::Value reinterpret(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Type from,
                        mlir::Type to);
} // namespace perpend::graph

#endif
