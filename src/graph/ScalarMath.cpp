//===- ScalarMath.cpp - scalar formulas as C++ expressions ----------------===//

#include "graph/ScalarMath.h"
#include "support/SaturatedInteger.h"

#include <limits>

using namespace mlir;

namespace perpend::graph {

Scalar Scalar::constant(double number) const {
  if (auto floating = dyn_cast<FloatType>(type()))
    return call<arith::ConstantOp>(FloatAttr::get(floating, number));
  return integer(support::saturatedInteger(number));
}

Scalar Scalar::integer(int64_t number) const {
  if (isFloat())
    return constant(static_cast<double>(number));
  return call<arith::ConstantOp>(IntegerAttr::get(type(), number));
}

Scalar Scalar::to(Type target) const {
  Type from = type();
  if (from == target)
    return *this;
  if (isa<IndexType>(from) && !isa<IntegerType>(target))
    return to(builder->getI64Type()).to(target);
  if (isa<IndexType>(target) && isa<FloatType>(from))
    return to(builder->getI64Type()).to(target);
  if (isa<IndexType>(from) || isa<IndexType>(target)) {
    if (noSign)
      return call<arith::IndexCastUIOp>(target, value);
    return call<arith::IndexCastOp>(target, value);
  }
  bool fromFloat = isFloat(), toFloat = isa<FloatType>(target);
  if (fromFloat && toFloat) {
    if (from.getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth())
      return call<arith::ExtFOp>(target, value);
    return call<arith::TruncFOp>(target, value);
  }
  if (fromFloat)
    return call<arith::FPToSIOp>(target, value);
  if (toFloat && noSign)
    return call<arith::UIToFPOp>(target, value);
  if (toFloat)
    return call<arith::SIToFPOp>(target, value);
  if (from.getIntOrFloatBitWidth() > target.getIntOrFloatBitWidth())
    return call<arith::TruncIOp>(target, value);
  if (noSign)
    return call<arith::ExtUIOp>(target, value);
  return call<arith::ExtSIOp>(target, value);
}

/// One operation for floats, one for signed and one for unsigned integers.
template <typename Float, typename Signed, typename Unsigned = Signed> static Scalar binary(Scalar a, Scalar b) {
  if (a.isFloat())
    return a.call<Float>(a.value, b.value);
  if (a.noSign)
    return a.call<Unsigned>(a.value, b.value);
  return a.call<Signed>(a.value, b.value);
}

Scalar operator+(Scalar a, Scalar b) { return binary<arith::AddFOp, arith::AddIOp>(a, b); }
Scalar operator-(Scalar a, Scalar b) { return binary<arith::SubFOp, arith::SubIOp>(a, b); }
Scalar operator*(Scalar a, Scalar b) { return binary<arith::MulFOp, arith::MulIOp>(a, b); }
Scalar operator/(Scalar a, Scalar b) { return binary<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(a, b); }
Scalar operator%(Scalar a, Scalar b) { return binary<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(a, b); }
Scalar max(Scalar a, Scalar b) { return binary<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(a, b); }
Scalar min(Scalar a, Scalar b) { return binary<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(a, b); }

Scalar operator-(Scalar a) {
  if (a.isFloat())
    return a.call<arith::NegFOp>(a.value);
  return a.integer(0) - a;
}

static Scalar compare(Scalar a, Scalar b, arith::CmpFPredicate floats, arith::CmpIPredicate integers) {
  Scalar result =
      a.isFloat() ? a.call<arith::CmpFOp>(floats, a.value, b.value) : a.call<arith::CmpIOp>(integers, a.value, b.value);
  result.noSign = true;
  return result;
}

Scalar operator<(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OLT, a.noSign ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt);
}
Scalar operator<=(Scalar a, Scalar b) {
  return compare(a, b, arith::CmpFPredicate::OLE, a.noSign ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle);
}
Scalar equal(Scalar a, Scalar b) { return compare(a, b, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq); }
Scalar notEqual(Scalar a, Scalar b) { return compare(a, b, arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne); }

Scalar operator&(Scalar a, Scalar b) { return a.call<arith::AndIOp>(a.value, b.value); }
Scalar operator|(Scalar a, Scalar b) { return a.call<arith::OrIOp>(a.value, b.value); }
Scalar operator^(Scalar a, Scalar b) { return a.call<arith::XOrIOp>(a.value, b.value); }
Scalar operator~(Scalar a) { return a ^ a.integer(-1); }
Scalar select(Scalar condition, Scalar then, Scalar otherwise) {
  return then.call<arith::SelectOp>(condition.value, then.value, otherwise.value);
}

Scalar abs(Scalar a) {
  if (a.isFloat())
    return a.call<math::AbsFOp>(a.value);
  return a.noSign ? a : a.call<math::AbsIOp>(a.value);
}

Scalar floorMod(Scalar a, Scalar b) {
  Scalar remainder = a % b;
  if (!a.isFloat() && a.noSign)
    return remainder;
  Scalar wrongSign = notEqual(remainder, 0) & ((remainder < 0) ^ (b < 0));
  Scalar shifted = select(wrongSign, remainder + b, remainder);
  if (!a.isFloat())
    return shifted;
  Scalar zero = select(b < 0, b.constant(-0.0), b.constant(0));
  return select(equal(remainder, 0), zero, shifted);
}

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of numbers of at most 24 bits. A quotient in f64 is as far below a whole number as it should be, as long as f32 has
/// the whole numbers around it.
static Scalar floorDivOfSingles(Scalar a, Scalar b) {
  Type wide = a.emitter().getF64Type();
  Scalar isEndless = equal(abs(b), infinity), whole = floor(a.to(wide) / b.to(wide)).to(a.type());
  whole = select(isEndless & (a * b < 0), a.constant(-1), whole);
  return select(equal(abs(a), infinity) & notEqual(b, 0), a.constant(std::numeric_limits<double>::quiet_NaN()), whole);
}

static Scalar floorDivOfDoubles(Scalar a, Scalar b) {
  Scalar rest = a % b, quotient = (a - rest) / b; // a whole number, but for rounding
  quotient = select(notEqual(rest, 0) & ((rest < 0) ^ (b < 0)), quotient - 1.0, quotient);
  Scalar whole = floor(quotient), simple = a / b;
  whole = select(quotient - whole > 0.5, whole + 1.0, whole);
  whole = select(equal(quotient, 0), copySign(quotient.constant(0), simple), whole);
  return select(equal(b, 0), simple, whole);
}

Scalar floorDiv(Scalar a, Scalar b) {
  if (a.isFloat())
    return a.type().isF64() ? floorDivOfDoubles(a, b) : floorDivOfSingles(a, b);
  if (a.noSign)
    return a / b;
  return a.call<arith::FloorDivSIOp>(a.value, b.value);
}

Scalar exp(Scalar a) { return a.call<math::ExpOp>(a.value); }
Scalar log(Scalar a) { return a.call<math::LogOp>(a.value); }
Scalar log1p(Scalar a) { return a.call<math::Log1pOp>(a.value); }
Scalar sqrt(Scalar a) { return a.call<math::SqrtOp>(a.value); }
Scalar tanh(Scalar a) { return a.call<math::TanhOp>(a.value); }
Scalar erf(Scalar a) { return a.call<math::ErfOp>(a.value); }
Scalar floor(Scalar a) { return a.isFloat() ? a.call<math::FloorOp>(a.value) : a; }
Scalar ceil(Scalar a) { return a.isFloat() ? a.call<math::CeilOp>(a.value) : a; }
Scalar trunc(Scalar a) { return a.isFloat() ? a.call<math::TruncOp>(a.value) : a; }
Scalar roundEven(Scalar a) { return a.isFloat() ? a.call<math::RoundEvenOp>(a.value) : a; }
Scalar copySign(Scalar magnitude, Scalar sign) { return magnitude.call<math::CopySignOp>(magnitude.value, sign.value); }
Scalar pow(Scalar a, Scalar b) {
  if (a.isFloat())
    return a.call<math::PowFOp>(a.value, b.value);
  if (!b.noSign)
    return a.call<math::IPowIOp>(a.value, b.value);
  // Half of an exponent without a sign is one with a sign: a^b = (a^(b / 2))^2 a^(b mod 2).
  Scalar half = b.call<arith::ShRUIOp>(b.value, b.integer(1).value), root = a.call<math::IPowIOp>(a.value, half.value);
  Scalar square = root * root;
  return select(equal(b & b.integer(1), 0), square, square * a);
}
} // namespace perpend::graph
