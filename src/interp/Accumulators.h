//===- Accumulators.h - accumulates elements --------------------*- C++ -*-===//
//
// Reductions, contractions and windows accumulate floating-point elements in double and round once at the end; scans
// and scatters round after each element, because each partial result is an element. Integers are accumulated in
// uint64_t, which wraps like the element type.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_ACCUMULATORS_H
#define PERPEND_INTERP_ACCUMULATORS_H

#include "interp/Environment.h"

namespace perpend::interp {

/// Whether elements are zero-extended.
inline bool hasUnsignedElements(mlir::Type elementType) {
  return elementType.isUnsignedInteger() || elementType.isInteger(1);
}

/// Reads elements [first, first + count) of a tensor, converted to `elementType` (graph::convert), as accumulators.
void widen(const Tensor &tensor, mlir::Type elementType, int64_t first, int64_t count, double *values);
void widen(const Tensor &tensor, mlir::Type elementType, int64_t first, int64_t count, uint64_t *values);

/// Writes elements [first, first + count) of a tensor, rounded to its element type.
void narrow(const double *values, int64_t count, Tensor &tensor, int64_t first);
void narrow(const uint64_t *values, int64_t count, Tensor &tensor, int64_t first);

/// The neutral element of a reduction.
template <typename T> T initialValue(graph::ReductionKind kind, mlir::Type elementType);
template <> double initialValue(graph::ReductionKind kind, mlir::Type elementType);
template <> uint64_t initialValue(graph::ReductionKind kind, mlir::Type elementType);

/// carried[i * carriedStride] = combine(carried[i * carriedStride], next[i * nextStride]).
void combine(graph::ReductionKind kind, mlir::Type elementType, int64_t count, double *carried, int64_t carriedStride,
             const double *next, int64_t nextStride);
void combine(graph::ReductionKind kind, mlir::Type elementType, int64_t count, uint64_t *carried, int64_t carriedStride,
             const uint64_t *next, int64_t nextStride);

/// result[i * columns + j] += sum over k of lhs[lhsRows[i] + lhsDepth[k]] * rhs[rhsDepth[k] + rhsColumns[j]].
template <typename T> struct OffsetProduct {
  const T *lhs, *rhs;
  T *result;
  llvm::ArrayRef<int64_t> lhsRows, lhsDepth, rhsDepth, rhsColumns;
  void run() const;
};
extern template struct OffsetProduct<double>;
extern template struct OffsetProduct<uint64_t>;

/// The offsets of all index tuples of these dimensions, in row-major order.
llvm::SmallVector<int64_t> offsetsOf(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> strides);
} // namespace perpend::interp

#endif
