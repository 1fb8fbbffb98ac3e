//===- NodeNames.h - names of the model's nodes -----------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_NODENAMES_H
#define PERPEND_GRAPH_NODENAMES_H

#include "mlir/IR/Operation.h"

namespace perpend::graph {

/// The nodes of the model from which an operation was made, without duplicates, the most important first.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location location);
/// The first of them; empty if none is known.
llvm::StringRef nodeName(mlir::Operation *op);
} // namespace perpend::graph

#endif
