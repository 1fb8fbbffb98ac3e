//===- Constraints.h - checks shared by several primitives ------*- C++ -*-===//

#ifndef PERPEND_GRAPH_PRIMITIVES_CONSTRAINTS_H
#define PERPEND_GRAPH_PRIMITIVES_CONSTRAINTS_H

#include "graph/Requirements.h"
#include "graph/Shapes.h"

namespace perpend::graph {

/// Emits an error if the result's extents provably differ from `expected`.
mlir::LogicalResult verifyExtents(mlir::Operation *op, llvm::StringRef label, llvm::ArrayRef<SymbolicInt> expected);

/// Adds requirements for what verifyExtents() cannot prove.
void requireExtents(Requirements &requirements, mlir::Value result, llvm::ArrayRef<SymbolicInt> expected);

/// Emits an error if elements of an operand or result are minifloats: arithmetic needs converted values.
mlir::LogicalResult verifyNumbers(mlir::Operation *op, llvm::StringRef label);

bool isStrictlyIncreasing(llvm::ArrayRef<int64_t> dims, int64_t rank);

/// The position of a dimension in a list, if it occurs; and the number of smaller entries.
std::optional<unsigned> positionIn(llvm::ArrayRef<int64_t> dims, int64_t dim);
unsigned countBelow(llvm::ArrayRef<int64_t> dims, int64_t dim);
} // namespace perpend::graph

#endif
