//===- ScaledIntegers.h - quantised values in a graph -----------*- C++ -*-===//
//
// A quantised tensor is (integers - zero point) * scale, written as separate operators: a widening cast, a
// subtraction, a multiplication. This file recognises that form, whichever operators of the model produced it.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_SCALEDINTEGERS_H
#define PERPEND_GRAPH_SCALEDINTEGERS_H

#include "graph/builder/Builder.h"

namespace perpend::graph {

/// Constants: one for all elements of a tensor, or one for each index of a dimension.
struct Parameter {
  llvm::SmallVector<double> values;
  std::optional<int64_t> dim;

  static Parameter of(double value) { return {{value}, std::nullopt}; }
  bool isOne() const { return !dim; }
  bool is(double value) const { return isOne() && values.front() == value; }
  bool operator==(const Parameter &) const = default;
};

/// The constants of a tensor, or of a constant that it broadcasts. Equal ones count as one.
std::optional<Parameter> parameterOf(mlir::Value tensor);
/// Like parameterOf(), for a scalar in the body of a map.
std::optional<Parameter> parameterOf(MapOp map, mlir::Value scalar);
/// Makes an f32 tensor of it.
mlir::Value tensorOf(Builder &builder, const Parameter &parameter, llvm::ArrayRef<SymbolicInt> shape);

/// Whether all are normal, and small enough that sums of products with integers cannot overflow.
bool areNormal(const Parameter &parameter);
/// The product, element by element, rounded to f32; nullopt if they vary along different dimensions, or a result is not
/// normal.
std::optional<Parameter> times(const Parameter &a, const Parameter &b);
std::optional<Parameter> over(const Parameter &a, float divisor);

/// (integers - zero) * scale, in f32. Integers have at most 8 bits and a zero point, or are sums in i32 without one.
struct ScaledIntegers {
  mlir::Value integers;
  Parameter zero, scale;
  /// Broadcasts of the integers, innermost first; zero and scale apply to the broadcast result.
  llvm::SmallVector<BroadcastOp, 1> repeats = {};
};

/// nullopt: the value is computed in another way.
std::optional<ScaledIntegers> scaledIntegersOf(mlir::Value value);
/// The integers after the broadcasts.
mlir::Value repeatedIntegers(Builder &builder, const ScaledIntegers &numbers);
/// The values as f32, in one operator.
mlir::Value realNumbers(Builder &builder, const ScaledIntegers &numbers);
/// integers - zero, as products read it: i16; if the zero point is 0, integers of 8 or 32 bits stay as they are.
mlir::Value withoutZeroPoint(Builder &builder, const ScaledIntegers &numbers);

/// An upper bound of the magnitude of a tensor of integers, or of integers - zero; infinity if unknown.
double largestMagnitude(mlir::Value integers);
double largestMagnitude(const ScaledIntegers &numbers);
/// A bound like largestMagnitude(), for a sum over these extents of terms up to `largest`.
double largestSum(const Shape &summed, double largest);
} // namespace perpend::graph

#endif
