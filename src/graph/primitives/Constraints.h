//===- Constraints.h - checks that several primitives make ------*- C++ -*-===//

#ifndef PERPEND_GRAPH_PRIMITIVES_CONSTRAINTS_H
#define PERPEND_GRAPH_PRIMITIVES_CONSTRAINTS_H

#include "graph/Requirements.h"
#include "graph/Shapes.h"

namespace perpend::graph {

/// Emits an error unless the result's extents are `expected` (as far as known).
mlir::LogicalResult verifyExtents(mlir::Operation *op, llvm::StringRef label, llvm::ArrayRef<SymbolicInt> expected);

/// What verifyExtents() cannot prove.
void requireExtents(Requirements &requirements, mlir::Value result, llvm::ArrayRef<SymbolicInt> expected);

/// Emits an error where an operand or a result has elements that are minifloats: arithmetic is done on what they are
/// converted to.
mlir::LogicalResult verifyNumbers(mlir::Operation *op, llvm::StringRef label);

bool isStrictlyIncreasing(llvm::ArrayRef<int64_t> dims, int64_t rank);

/// Where a list of dimensions has this one, if it does; and how many of the list are less.
std::optional<unsigned> positionIn(llvm::ArrayRef<int64_t> dims, int64_t dim);
unsigned countBelow(llvm::ArrayRef<int64_t> dims, int64_t dim);
} // namespace perpend::graph

#endif
