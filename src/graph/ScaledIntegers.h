//===- ScaledIntegers.h - real numbers made of integers ----------*- C++ -*-===//
//
// A quantised tensor is integers with explicit arithmetic around them: each is
// widened, a number is taken away, and the rest is multiplied by a scale. What
// of a graph is written so is found here, whatever operator of a model made it.
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

/// The constants that a tensor, or a constant that it repeats, is made of. Equal ones are one.
std::optional<Parameter> parameterOf(mlir::Value tensor);
/// As parameterOf(), of a scalar in the body of a map.
std::optional<Parameter> parameterOf(MapOp map, mlir::Value scalar);
/// A tensor of f32 made of it.
mlir::Value tensorOf(Builder &builder, const Parameter &parameter, llvm::ArrayRef<SymbolicInt> shape);

/// Neither subnormal nor such that sums of products with integers might be infinite.
bool areNormal(const Parameter &parameter);
/// Element by element, rounded to f32; nullopt where they vary along different dimensions, or leave the normal numbers.
std::optional<Parameter> times(const Parameter &a, const Parameter &b);
std::optional<Parameter> over(const Parameter &a, float divisor);

/// (integers - zero) * scale, in f32. Integers have at most 8 bits and a zero point, or are sums of i32 without one.
struct ScaledIntegers {
  mlir::Value integers;
  Parameter zero, scale;
  /// What repeats the numbers, from the inside out; parameters are those behind it.
  llvm::SmallVector<BroadcastOp, 1> repeats = {};
};

/// nullopt: the value is computed in another way.
std::optional<ScaledIntegers> scaledIntegersOf(mlir::Value value);
/// The integers, repeated as the numbers are.
mlir::Value repeatedIntegers(Builder &builder, const ScaledIntegers &numbers);
/// The numbers as f32, in one operator.
mlir::Value realNumbers(Builder &builder, const ScaledIntegers &numbers);
/// integers - zero, as products take it: i16, but the integers themselves where the zero point is 0 and they are bytes
/// or i32.
mlir::Value withoutZeroPoint(Builder &builder, const ScaledIntegers &numbers);

/// What no element of a tensor of integers, or of integers - zero, exceeds in magnitude; infinity where that is not
/// known.
double largestMagnitude(mlir::Value integers);
double largestMagnitude(const ScaledIntegers &numbers);
/// As largestMagnitude(), of a sum over these extents of what is no larger than `largest`.
double largestSum(const Shape &summed, double largest);
} // namespace perpend::graph

#endif
