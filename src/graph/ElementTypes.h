//===- ElementTypes.h - element types of tensors ----------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_ELEMENTTYPES_H
#define PERPEND_GRAPH_ELEMENTTYPES_H

#include "graph/Graph.h"

namespace perpend::graph {

/// The signless type by which scalar code represents elements of this type: i8 (the bits) for a minifloat, i64 for a
/// string or list.
mlir::Type scalarType(mlir::Type elementType);
inline bool isUnsigned(mlir::Type elementType) { return elementType.isUnsignedInteger() || elementType.isInteger(1); }
inline bool isMinifloat(mlir::Type elementType) { return llvm::isa<MinifloatType>(elementType); }
/// Whether an element is the identity of a string or the handle of a list, represented as i64 except at the interface.
inline bool isHandle(mlir::Type elementType) { return llvm::isa<StringType, SequenceType>(elementType); }
/// The significant bits of an element.
unsigned bitWidth(mlir::Type elementType);

/// The runtime's name of an element type: f32, bf16, f8e4m3fn, i4, u64, bool, string, sequence ...; "?" for other
/// types.
std::string nameOf(mlir::Type elementType);
/// The element type with that name; null if there is none, or if the name does not determine it (lists).
mlir::Type elementTypeNamed(mlir::MLIRContext *context, llvm::StringRef name);
} // namespace perpend::graph

#endif
