//===- Repeats.h - inputs that may be 1 where others are larger -*- C++ -*-===//
//
// ONNX broadcasts a dimension that turns out to be 1 at run time. Perpend requires that different symbolic extents are
// equal if an operator combines them. Both agree if repeating an input before the run gives the same results as
// repeating it inside. The model declares such input dimensions (graph.repeats), and binding the inputs repeats them
// (docs/decisions/0009).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_REPEATS_H
#define PERPEND_GRAPH_REPEATS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::graph {

/// A dimension of an input that may be 1 instead of its symbol's value.
struct Repeat {
  unsigned input, dim;
  std::string symbol;
  /// Candidates for the repeated extent: the first of these that is not 1, if any. Each symbol has the value of its
  /// input dimension.
  Shape others;
};

/// Finds and declares such dimensions (graph.repeats of an argument: for each dimension the other extents, empty if it
/// does not repeat). Main must be as imported, including its shape computations, because they show which extents the
/// model uses as numbers.
void inferRepeats(mlir::func::FuncOp main);

/// Checks that the declarations use symbols that binding knows. Errors: a diagnostic at main.
mlir::LogicalResult verifyRepeats(mlir::func::FuncOp main);

/// The dimensions that main declares.
std::vector<Repeat> repeatsOf(mlir::func::FuncOp main);
/// The repeating dimensions of one input, one bit each.
uint32_t repeatingDims(llvm::ArrayRef<Repeat> repeats, unsigned input);

/// Removes the declarations.
void forgetRepeats(mlir::func::FuncOp main);
} // namespace perpend::graph

#endif
