//===- ScalarDerivative.h - derivatives of scalar code ----------*- C++ -*-===//
//
// Forward mode: computes for each value its tangent, the derivative with respect to one variable. A select chooses
// between two tangents, so infinities or NaNs of the side that is not chosen do no harm.
//
// Where a derivative jumps: max(x, c) and min(x, c) with a constant c, in the code or given as a tensor, have
// derivative 0 at x = c (like relu); for two equal variables it is the mean of both; |x| has derivative 0 at 0.
// Rounding functions have derivative 0 everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_GRADIENTS_SCALARDERIVATIVE_H
#define PERPEND_GRAPH_GRADIENTS_SCALARDERIVATIVE_H

#include "graph/ScalarMath.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace perpend::graph {

class ScalarDerivative {
public:
  /// nullopt stands for a tangent of 0.
  using Tangent = std::optional<Scalar>;

  ScalarDerivative(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// Declares the value to be the variable.
  void seed(mlir::Value variable);
  /// Declares the value constant, although it is an argument of the code.
  void noteConstant(mlir::Value value) { constants.insert(value); }
  /// Emits the tangent of an operation's result after it. False if the operation has no rule.
  bool add(mlir::Operation *op);
  Tangent tangentOf(mlir::Value value) const { return tangents.lookup(value); }

private:
  bool isConstant(mlir::Value value) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::DenseMap<mlir::Value, Tangent> tangents;
  llvm::DenseSet<mlir::Value> constants;
};
} // namespace perpend::graph

#endif
