//===- Gradients.h - reverse-mode differentiation ---------------*- C++ -*-===//
//
// Walks backwards through the operators from y to the xs, and adds up the gradients that DifferentiableInterface
// gives. The other files of this folder have the rules of the primitives, by kind.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_GRADIENTS_GRADIENTS_H
#define PERPEND_GRAPH_GRADIENTS_GRADIENTS_H

#include "graph/builder/Builder.h"

namespace perpend::graph {

/// Names an operator in error messages.
using OperatorLabel = llvm::function_ref<std::string(mlir::Operation *)>;

/// The gradients of the sum of y's elements with respect to each of the xs, with their types; 0 if y does not depend on
/// one. The operators between must be in one block. Errors: an operator between has no derivative (the result is
/// empty).
llvm::SmallVector<mlir::Value> gradients(Builder &builder, mlir::Value y, Builder::Values xs, OperatorLabel label);
} // namespace perpend::graph

#endif
