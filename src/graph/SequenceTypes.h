//===- SequenceTypes.h - element types of lists -----------------*- C++ -*-===//
//
// A list has the type tensor<!graph.sequence<T>>, where T is the type of its elements: a tensor type whose extents are
// numbers or `?`; an unranked tensor type if the elements' ranks differ; or none if nothing is known of the elements,
// as for an empty list.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_SEQUENCETYPES_H
#define PERPEND_GRAPH_SEQUENCETYPES_H

#include "graph/Shapes.h"

namespace perpend::graph {

inline SequenceType sequenceTypeOf(mlir::Value value) {
  return value ? llvm::dyn_cast<SequenceType>(tensorTypeOf(value).getElementType()) : SequenceType();
}

/// T for lists of this tensor: symbolic extents become `?`.
mlir::Type elementOf(mlir::RankedTensorType type);

/// The most specific T that covers both; null if the element types differ.
mlir::Type joinElements(mlir::Type a, mlir::Type b);

/// The element type of tensors that covers both: lists are joined, other types must be equal (else null).
mlir::Type joinElementTypes(mlir::Type a, mlir::Type b);

/// Whether one type can cover both tensors: their element types can be joined and their ranks are equal.
inline bool sameKind(mlir::Value a, mlir::Value b) {
  mlir::RankedTensorType first = tensorTypeOf(a), second = tensorTypeOf(b);
  return joinElementTypes(first.getElementType(), second.getElementType()) && first.getRank() == second.getRank();
}
} // namespace perpend::graph

#endif
