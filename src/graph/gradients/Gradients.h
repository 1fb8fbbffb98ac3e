//===- Gradients.h - reverse-mode differentiation ---------------*- C++ -*-===//
//
// Walks the operators between values backwards, and adds up what
// DifferentiableInterface says of each. The rules of the primitives are in the
// other files of this folder, by kind.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_GRADIENTS_GRADIENTS_H
#define PERPEND_GRAPH_GRADIENTS_GRADIENTS_H

#include "graph/builder/Builder.h"

namespace perpend::graph {

/// What messages call an operator.
using OperatorLabel = llvm::function_ref<std::string(mlir::Operation *)>;

/// The gradients of the sum of y's elements in each of the xs, of their types; 0 where y does not depend on one. The
/// operators in between must be in one block. Errors: an operator in between has no derivative (the result is empty).
llvm::SmallVector<mlir::Value> gradients(Builder &builder, mlir::Value y, Builder::Values xs, OperatorLabel label);
} // namespace perpend::graph

#endif
