//===- Repeats.h - inputs that may be 1 where others are not ----*- C++ -*-===//
//
// ONNX repeats a tensor along a dimension that turns out to be 1. Here, extents
// with different symbols that meet are equal. Both hold where repeating an input
// before the run is as good as repeating it inside: then the model declares the
// dimension, and binding repeats it (docs/decisions/0009).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_REPEATS_H
#define PERPEND_GRAPH_REPEATS_H

#include "graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::graph {

/// A dimension of an input that may be 1 in the place of its symbol's value.
struct Repeat {
  unsigned input, dim;
  std::string symbol;
  /// What the extent of the input stands for when it is 1: the first of these that is not 1, if there is one. Each
  /// symbol has the value of its input dimension.
  Shape others;
};

/// Finds them and declares them (graph.repeats of an argument: for each dimension the others, none where it does not
/// repeat). Main is as imported, with the operators that made its shape computations: they say which extents the model
/// uses as numbers.
void inferRepeats(mlir::func::FuncOp main);

/// Whether the declarations name symbols that binding knows. Errors: a diagnostic at main.
mlir::LogicalResult verifyRepeats(mlir::func::FuncOp main);

/// The dimensions that main declares.
std::vector<Repeat> repeatsOf(mlir::func::FuncOp main);
/// Of one input, one bit for each.
uint32_t repeatingDims(llvm::ArrayRef<Repeat> repeats, unsigned input);

/// Takes the declarations back.
void forgetRepeats(mlir::func::FuncOp main);
} // namespace perpend::graph

#endif
