//===- ScalarMath.h - scalar formulas as C++ expressions --------*- C++ -*-===//
//
// A Scalar is an SSA value inside the body of map or generate. Its operators
// emit arith and math operations, so that a body reads as its formula:
//
//     1.0 / (1.0 + exp(-x))
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_SCALARMATH_H
#define PERPEND_GRAPH_SCALARMATH_H

#include "graph/Graph.h"

#include "mlir/IR/Builders.h"

namespace perpend::graph {

/// A scalar value (float, signless integer or index) and where to emit the code that uses it.
class Scalar {
public:
  Scalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, bool isUnsigned = false)
      : value(value), noSign(isUnsigned), builder(&builder), loc(loc) {}

  mlir::Value value;
  /// Whether comparisons, division and shifts of this integer are unsigned.
  bool noSign;

  mlir::Type type() const { return value.getType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type()); }
  /// A number of this scalar's type.
  Scalar constant(double number) const;
  Scalar integer(int64_t number) const;
  mlir::OpBuilder &emitter() const { return *builder; }
  mlir::Location location() const { return loc; }
  Scalar with(mlir::Value result) const { return Scalar(*builder, loc, result, noSign); }
  /// Index or signless integer to another integer type, or float conversions by value.
  Scalar to(mlir::Type type) const;

  template <typename Op, typename... Operands> Scalar call(Operands &&...operands) const {
    return with(builder->create<Op>(loc, std::forward<Operands>(operands)...));
  }

private:
  mlir::OpBuilder *builder;
  mlir::Location loc;
};

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
/// Integers: towards zero.
Scalar operator/(Scalar a, Scalar b);
Scalar operator%(Scalar a, Scalar b);
Scalar operator-(Scalar a);
inline Scalar operator+(Scalar a, double b) { return a + a.constant(b); }
inline Scalar operator+(double a, Scalar b) { return b.constant(a) + b; }
inline Scalar operator-(Scalar a, double b) { return a - a.constant(b); }
inline Scalar operator-(double a, Scalar b) { return b.constant(a) - b; }
inline Scalar operator*(Scalar a, double b) { return a * a.constant(b); }
inline Scalar operator*(double a, Scalar b) { return b.constant(a) * b; }
inline Scalar operator/(Scalar a, double b) { return a / a.constant(b); }
inline Scalar operator/(double a, Scalar b) { return b.constant(a) / b; }

// Comparisons: false when an operand is NaN, except notEqual.
Scalar operator<(Scalar a, Scalar b);
Scalar operator<=(Scalar a, Scalar b);
inline Scalar operator>(Scalar a, Scalar b) { return b < a; }
inline Scalar operator>=(Scalar a, Scalar b) { return b <= a; }
inline Scalar operator<(Scalar a, double b) { return a < a.constant(b); }
inline Scalar operator<=(Scalar a, double b) { return a <= a.constant(b); }
inline Scalar operator>(Scalar a, double b) { return a.constant(b) < a; }
inline Scalar operator>=(Scalar a, double b) { return a.constant(b) <= a; }
Scalar equal(Scalar a, Scalar b);
Scalar notEqual(Scalar a, Scalar b);
inline Scalar equal(Scalar a, double b) { return equal(a, a.constant(b)); }
inline Scalar notEqual(Scalar a, double b) { return notEqual(a, a.constant(b)); }

Scalar operator&(Scalar a, Scalar b);
Scalar operator|(Scalar a, Scalar b);
Scalar operator^(Scalar a, Scalar b);
Scalar operator~(Scalar a);
Scalar select(Scalar condition, Scalar then, Scalar otherwise);

/// NaN when an operand is.
Scalar max(Scalar a, Scalar b);
Scalar min(Scalar a, Scalar b);
inline Scalar max(Scalar a, double b) { return max(a, a.constant(b)); }
inline Scalar min(Scalar a, double b) { return min(a, a.constant(b)); }
Scalar abs(Scalar a);
/// Rounded towards minus infinity; modulo with the sign of the divisor. Of floats as Python has them: the quotient is
/// the whole number that the remainder leaves, which a / b may round up to the next, and NaN of an infinite dividend.
Scalar floorDiv(Scalar a, Scalar b);
Scalar floorMod(Scalar a, Scalar b);

// Functions of floats.
Scalar exp(Scalar a);
Scalar log(Scalar a);
Scalar log1p(Scalar a);
Scalar sqrt(Scalar a);
Scalar tanh(Scalar a);
Scalar erf(Scalar a);
Scalar floor(Scalar a);
Scalar ceil(Scalar a);
Scalar trunc(Scalar a);
Scalar roundEven(Scalar a);
Scalar copySign(Scalar magnitude, Scalar sign);
/// Of integers modulo 2^width; a negative exponent gives 1 / a rounded towards zero (0 for a = 0).
Scalar pow(Scalar a, Scalar b);
} // namespace perpend::graph

#endif
