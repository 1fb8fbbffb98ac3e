//===- LinearCalls.h - gradients of linear library functions ----*- C++ -*-===//

#ifndef PERPEND_GRAPH_GRADIENTS_LINEARCALLS_H
#define PERPEND_GRAPH_GRADIENTS_LINEARCALLS_H

#include "graph/builder/Builder.h"

namespace perpend::graph {

/// Calls a library function that is linear in its first input and that computes its own transposed map (from a gradient
/// of the result's type to one of the input's) with other parameters: `transposed`. The call has a derivative.
mlir::Value callLinear(Builder &builder, llvm::StringRef function, Builder::Values inputs, const CallResult &result,
                       mlir::DictionaryAttr parameters, mlir::DictionaryAttr transposed);

/// Implements DifferentiableInterface for call_library.
void registerLinearCalls(mlir::MLIRContext &context);
} // namespace perpend::graph

#endif
