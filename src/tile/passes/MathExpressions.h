//===- MathExpressions.h - arithmetic on SSA values -------------*- C++ -*-===//
//
// Real and Integer are SSA values, scalars or vectors, with the operators of C++, so that the functions of
// MathFunctions.cpp read as formulas. Every operation is emitted without fast-math flags: the formulas depend on the
// order of roundings.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_PASSES_MATHEXPRESSIONS_H
#define PERPEND_TILE_PASSES_MATHEXPRESSIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

namespace perpend::tile {

struct MathEmitter {
  mlir::ImplicitLocOpBuilder builder;
  bool fma; // the target has fused multiply-add
  /// Multiplies (x, n) -> x * 2^n for f32 and vectors of it, with one rounding; null if there is no instruction for it.
  llvm::function_ref<mlir::func::FuncOp(mlir::Type)> scaling;
  bool hasF64 = true;          ///< if not, functions of f32 are computed in f32, as far as their digits allow
  bool keepsLogarithm = false; ///< the target has an instruction for it

  /// `scalar`, or a vector of it with the shape of `shape`.
  static mlir::Type like(mlir::Type shape, mlir::Type scalar) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(shape))
      return vector.clone(scalar);
    return scalar;
  }
  mlir::Value constant(mlir::Type type, mlir::TypedAttr scalar) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return builder.create<mlir::arith::ConstantOp>(mlir::DenseElementsAttr::get(vector, mlir::Attribute(scalar)));
    return builder.create<mlir::arith::ConstantOp>(scalar);
  }
};

/// A value, and the emitter for further operations.
struct Expression {
  MathEmitter *emitter;
  mlir::Value value;

  mlir::Type type() const { return value.getType(); }
  unsigned width() const { return mlir::getElementTypeOrSelf(type()).getIntOrFloatBitWidth(); }
  template <typename Op, typename... Args> mlir::Value create(Args &&...args) const {
    return emitter->builder.create<Op>(std::forward<Args>(args)...);
  }
};

struct Condition : Expression {
  Condition operator&(Condition other) const { return {emitter, create<mlir::arith::AndIOp>(value, other.value)}; }
  Condition operator|(Condition other) const { return {emitter, create<mlir::arith::OrIOp>(value, other.value)}; }
  Condition operator!() const {
    auto isTrue = emitter->builder.getIntegerAttr(emitter->builder.getI1Type(), 1);
    return {emitter, create<mlir::arith::XOrIOp>(value, emitter->constant(type(), isTrue))};
  }
};

/// i32 beside f32, i64 beside f64. Arithmetic wraps.
struct Integer : Expression {
  Integer constant(int64_t number) const {
    mlir::Type element = mlir::getElementTypeOrSelf(type());
    return {emitter,
            emitter->constant(type(), emitter->builder.getIntegerAttr(element, llvm::APInt(width(), number, true)))};
  }
  Integer operator+(Integer other) const { return {emitter, create<mlir::arith::AddIOp>(value, other.value)}; }
  Integer operator-(Integer other) const { return {emitter, create<mlir::arith::SubIOp>(value, other.value)}; }
  Integer operator^(Integer other) const { return {emitter, create<mlir::arith::XOrIOp>(value, other.value)}; }
  Integer operator+(int64_t number) const { return *this + constant(number); }
  Integer operator-(int64_t number) const { return *this - constant(number); }
  Integer operator&(int64_t number) const {
    return {emitter, create<mlir::arith::AndIOp>(value, constant(number).value)};
  }
  Integer operator<<(int64_t number) const {
    return {emitter, create<mlir::arith::ShLIOp>(value, constant(number).value)};
  }
  Integer shiftRightUnsigned(int64_t number) const {
    return {emitter, create<mlir::arith::ShRUIOp>(value, constant(number).value)};
  }
  Integer shiftRightSigned(int64_t number) const {
    return {emitter, create<mlir::arith::ShRSIOp>(value, constant(number).value)};
  }
  Condition operator==(int64_t number) const {
    return {emitter, create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, value, constant(number).value)};
  }
  /// Of numbers without sign.
  Condition isAtLeast(uint64_t number) const {
    return {emitter, create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::uge, value,
                                                 constant(static_cast<int64_t>(number)).value)};
  }
  /// The low 32 bits.
  Integer narrow() const {
    return {emitter, create<mlir::arith::TruncIOp>(MathEmitter::like(type(), emitter->builder.getI32Type()), value)};
  }
};

/// f32 or f64. Comparisons are false for NaN.
struct Real : Expression {
  Real constant(double number) const {
    mlir::Type element = mlir::getElementTypeOrSelf(type());
    return {emitter, emitter->constant(type(), emitter->builder.getFloatAttr(element, number))};
  }
  Real operator+(Real other) const { return {emitter, create<mlir::arith::AddFOp>(value, other.value)}; }
  Real operator-(Real other) const { return {emitter, create<mlir::arith::SubFOp>(value, other.value)}; }
  Real operator*(Real other) const { return {emitter, create<mlir::arith::MulFOp>(value, other.value)}; }
  Real operator/(Real other) const { return {emitter, create<mlir::arith::DivFOp>(value, other.value)}; }
  Real operator-() const { return {emitter, create<mlir::arith::NegFOp>(value)}; }
  Real operator+(double number) const { return *this + constant(number); }
  Real operator-(double number) const { return *this - constant(number); }
  Real operator*(double number) const { return *this * constant(number); }
  Condition compare(mlir::arith::CmpFPredicate predicate, Real other) const {
    return {emitter, create<mlir::arith::CmpFOp>(predicate, value, other.value)};
  }
  Condition operator==(Real other) const { return compare(mlir::arith::CmpFPredicate::OEQ, other); }
  Condition operator<(Real other) const { return compare(mlir::arith::CmpFPredicate::OLT, other); }
  Condition operator==(double number) const { return *this == constant(number); }
  Condition operator<(double number) const { return *this < constant(number); }
  Condition operator>(double number) const { return constant(number) < *this; }

  Integer bits() const {
    mlir::Type integer = emitter->builder.getIntegerType(width());
    return {emitter, create<mlir::arith::BitcastOp>(MathEmitter::like(type(), integer), value)};
  }
  /// The number of this type that has these bits.
  Real fromBits(Integer bits) const { return {emitter, create<mlir::arith::BitcastOp>(type(), bits.value)}; }
  Real absolute() const { return {emitter, create<mlir::math::AbsFOp>(value)}; }
  Real integerPart() const { return {emitter, create<mlir::math::TruncOp>(value)}; }
  Real squareRoot() const { return {emitter, create<mlir::math::SqrtOp>(value)}; }
  Real withSignOf(Real other) const { return {emitter, create<mlir::math::CopySignOp>(value, other.value)}; }
  /// Converts to f64, and back to f32.
  Real widen() const {
    return {emitter, create<mlir::arith::ExtFOp>(MathEmitter::like(type(), emitter->builder.getF64Type()), value)};
  }
  Real narrow() const {
    return {emitter, create<mlir::arith::TruncFOp>(MathEmitter::like(type(), emitter->builder.getF32Type()), value)};
  }
};

inline Real select(Condition condition, Real ifTrue, Real ifFalse) {
  return {ifTrue.emitter, condition.create<mlir::arith::SelectOp>(condition.value, ifTrue.value, ifFalse.value)};
}

inline Real multiplyAdd(Real x, Real y, Real z) {
  if (x.emitter->fma)
    return {x.emitter, x.create<mlir::math::FmaOp>(x.value, y.value, z.value)};
  return x * y + z;
}

/// Coefficients start with the lowest power; `powers` caches x, x^2, x^4 and so on. Long polynomials are split at the
/// highest of these (Estrin's scheme), to keep dependent chains of multiply-adds short.
inline Real polynomial(llvm::ArrayRef<double> coefficients, llvm::SmallVectorImpl<Real> &powers) {
  constexpr size_t mostInChain = 6;
  Real x = powers.front();
  if (coefficients.size() <= mostInChain) {
    Real sum = x.constant(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = multiplyAdd(sum, x, x.constant(coefficient));
    return sum;
  }
  size_t level = llvm::Log2_64_Ceil(coefficients.size()) - 1, split = size_t(1) << level;
  while (powers.size() <= level)
    powers.push_back(powers.back() * powers.back());
  Real low = polynomial(coefficients.take_front(split), powers);
  return multiplyAdd(polynomial(coefficients.drop_front(split), powers), powers[level], low);
}

inline Real polynomial(llvm::ArrayRef<double> coefficients, Real x) {
  llvm::SmallVector<Real> powers{x};
  return polynomial(coefficients, powers);
}

} // namespace perpend::tile

#endif
