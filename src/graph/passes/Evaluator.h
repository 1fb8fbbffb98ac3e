//===- Evaluator.h - how constant folding computes ---------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_PASSES_EVALUATOR_H
#define PERPEND_GRAPH_PASSES_EVALUATOR_H

#include "mlir/IR/Operation.h"

namespace perpend::graph {
/// Computes the results of one operator with static shapes from its constant operands.
using Evaluator = mlir::LogicalResult (*)(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                                          llvm::SmallVectorImpl<mlir::Attribute> &results);
} // namespace perpend::graph

#endif
