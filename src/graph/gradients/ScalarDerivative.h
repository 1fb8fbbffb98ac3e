//===- ScalarDerivative.h - derivatives of scalar code ----------*- C++ -*-===//
//
// Forward mode: beside each value its tangent, the derivative in one variable.
// So a select chooses between derivatives, and what the branch that is not taken
// gives (infinity, NaN) does no harm.
//
// Where a derivative jumps: that of max(x, c) and min(x, c) with a constant, in the
// code or given as a tensor, is 0 at c (as relu's), that of two equal variables is
// the mean, that of |x| is 0 at 0.
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
  /// Nullopt is a tangent of 0.
  using Tangent = std::optional<Scalar>;

  ScalarDerivative(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// The value is the variable.
  void seed(mlir::Value variable);
  /// The value is no variable, though it is an argument of the code.
  void noteConstant(mlir::Value value) { constants.insert(value); }
  /// Emits the tangent of an operation's result, behind it. Errors: false for an operation that has no rule.
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
