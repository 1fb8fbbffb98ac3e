//===- NodeNames.h - what the model's author calls an operator ---*- C++ -*-===//

#ifndef PERPEND_GRAPH_NODENAMES_H
#define PERPEND_GRAPH_NODENAMES_H

#include "mlir/IR/Operation.h"

namespace perpend::graph {

/// The nodes of the model that an operation came from, each once; the most important first.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location location);
/// The first of them; empty: none is known.
llvm::StringRef nodeName(mlir::Operation *op);
} // namespace perpend::graph

#endif
