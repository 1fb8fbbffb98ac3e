//===- ScalarDerivative.cpp - derivatives of scalar code ------------------===//

#include "graph/gradients/ScalarDerivative.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

using namespace mlir;

namespace perpend::graph {
using Tangent = ScalarDerivative::Tangent;

/// The derivative at x of a function of one variable with the value y. nullopt: there is no rule.
static std::optional<Scalar> slope(Operation *op, Scalar x, Scalar y) {
  constexpr double twoOverRootPi = 1.1283791670955126;
  using Slope = std::optional<Scalar>;
  return llvm::TypeSwitch<Operation *, Slope>(op)
      .Case([&](arith::NegFOp) { return x.constant(-1); })
      .Case([&](math::AbsFOp) { return select(x > 0, x.constant(1), select(x < 0, x.constant(-1), x.constant(0))); })
      .Case([&](math::ExpOp) { return y; })
      .Case([&](math::Exp2Op) { return y * std::numbers::ln2; })
      .Case([&](math::ExpM1Op) { return exp(x); })
      .Case([&](math::LogOp) { return 1.0 / x; })
      .Case([&](math::Log2Op) { return 1.0 / (x * std::numbers::ln2); })
      .Case([&](math::Log10Op) { return 1.0 / (x * std::numbers::ln10); })
      .Case([&](math::Log1pOp) { return 1.0 / (1.0 + x); })
      .Case([&](math::SqrtOp) { return 0.5 / y; })
      .Case([&](math::ErfOp) { return twoOverRootPi * exp(-(x * x)); })
      .Case([&](math::SinOp) { return x.call<math::CosOp>(x.value); })
      .Case([&](math::CosOp) { return -x.call<math::SinOp>(x.value); })
      .Case([&](math::TanOp) { return 1.0 + y * y; })
      .Case([&](math::AsinOp) { return 1.0 / sqrt((1.0 - x) * (1.0 + x)); })
      .Case([&](math::AcosOp) { return -1.0 / sqrt((1.0 - x) * (1.0 + x)); })
      .Case([&](math::AtanOp) { return 1.0 / (1.0 + x * x); })
      .Case([&](math::SinhOp) { return x.call<math::CoshOp>(x.value); })
      .Case([&](math::CoshOp) { return x.call<math::SinhOp>(x.value); })
      .Case([&](math::TanhOp) { return (1.0 - y) * (1.0 + y); })
      .Case([&](math::AsinhOp) { return 1.0 / sqrt(x * x + 1.0); })
      .Case([&](math::AcoshOp) { return 1.0 / sqrt((x - 1.0) * (x + 1.0)); })
      .Case([&](math::AtanhOp) { return 1.0 / ((1.0 - x) * (1.0 + x)); })
      .Default([](Operation *) { return Slope(); });
}

namespace {
/// An operation of two operands with their tangents, of which at least one is not 0.
struct Pair {
  Scalar a, b, result;
  Tangent ta, tb;
  bool hasConstant;

  Scalar zero() const { return result.constant(0); }
};
} // namespace

static Scalar sum(const Tangent &a, const Tangent &b) { return a && b ? *a + *b : a ? *a : *b; }
static Tangent sumOf(const Tangent &a, const Tangent &b) { return a || b ? Tangent(sum(a, b)) : std::nullopt; }
static Tangent times(const Tangent &tangent, Scalar factor) {
  return tangent ? Tangent(*tangent * factor) : std::nullopt;
}

/// If the divisor has overflowed to infinity, the quotient is 0 and stays 0: avoids inf / inf in the derivative, as in
/// 1 / (1 + exp(-x)).
static Scalar quotientRule(const Pair &p) {
  if (!p.tb)
    return *p.ta / p.b;
  Scalar change = sum(p.ta, times(p.tb, -p.result)) / p.b;
  return select(equal(abs(p.b), std::numeric_limits<double>::infinity()), p.zero(), change);
}

static Scalar powerRule(const Pair &p) {
  Tangent base, exponent;
  if (p.ta) // a^0 is constant, also at 0
    base = select(equal(p.b, 0), p.zero(), p.b * pow(p.a, p.b - 1.0) * *p.ta);
  if (p.tb) // so is 0^b
    exponent = select(equal(p.a, 0), p.zero(), p.result * log(p.a) * *p.tb);
  return sum(base, exponent);
}

/// Of the angle of (b, a).
static Scalar angleRule(const Pair &p) {
  Scalar square = p.a * p.a + p.b * p.b;
  return sum(times(p.ta, p.b / square), times(p.tb, -p.a / square));
}

static Scalar remainderRule(const Pair &p) {
  if (!p.tb)
    return *p.ta;
  Scalar count = (p.a - p.result) / p.b; // an integer up to rounding
  return sum(p.ta, times(p.tb, -roundEven(count)));
}

/// `first`: a is the result; `second`: b is the result.
static Scalar extremumRule(const Pair &p, Scalar first, Scalar second) {
  Scalar ta = p.ta.value_or(p.zero()), tb = p.tb.value_or(p.zero());
  Scalar tie = p.hasConstant ? p.zero() : 0.5 * (ta + tb);
  return select(first, ta, select(second, tb, tie));
}

static std::optional<Scalar> binaryRule(Operation *op, const Pair &p) {
  using Rule = std::optional<Scalar>;
  return llvm::TypeSwitch<Operation *, Rule>(op)
      .Case([&](arith::AddFOp) { return sum(p.ta, p.tb); })
      .Case([&](arith::SubFOp) { return sum(p.ta, p.tb ? Tangent(-*p.tb) : p.tb); })
      .Case([&](arith::MulFOp) { return sum(times(p.ta, p.b), times(p.tb, p.a)); })
      .Case([&](arith::DivFOp) { return quotientRule(p); })
      .Case([&](arith::RemFOp) { return remainderRule(p); })
      .Case([&](math::PowFOp) { return powerRule(p); })
      .Case([&](math::Atan2Op) { return angleRule(p); })
      .Case([&](math::CopySignOp) { return p.ta ? select(equal(p.a, p.result), *p.ta, -*p.ta) : p.zero(); })
      .Case([&](arith::MaximumFOp) { return extremumRule(p, p.a > p.b, p.a < p.b); })
      .Case([&](arith::MinimumFOp) { return extremumRule(p, p.a<p.b, p.a> p.b); })
      .Default([](Operation *) { return Rule(); });
}

bool ScalarDerivative::isConstant(Value value) const {
  return constants.contains(value) || matchPattern(value, m_Constant());
}

void ScalarDerivative::seed(Value variable) { tangents.insert({variable, Scalar(builder, loc, variable).constant(1)}); }

bool ScalarDerivative::add(Operation *op) {
  auto hasTangent = [&](Value operand) { return tangentOf(operand).has_value(); };
  if (llvm::none_of(op->getOperands(), hasTangent))
    return true;
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || isa<arith::BitcastOp>(op))
    return false;
  Scalar result(builder, loc, op->getResult(0));
  if (!result.isFloat() ||
      isa<math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp>(op)) // constant almost everywhere
    return true;
  auto scalar = [&](unsigned i) { return Scalar(builder, loc, op->getOperand(i)); };
  auto tangent = [&](unsigned i) { return tangentOf(op->getOperand(i)); };
  Tangent found;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    found = tangent(0)->to(result.type());
  else if (isa<arith::SelectOp>(op))
    found = select(scalar(0), tangent(1).value_or(result.constant(0)), tangent(2).value_or(result.constant(0)));
  else if (isa<math::FmaOp>(op))
    found = sumOf(sumOf(times(tangent(0), scalar(1)), times(tangent(1), scalar(0))), tangent(2));
  else if (op->getNumOperands() == 1)
    found = times(slope(op, scalar(0), result), *tangent(0));
  else if (op->getNumOperands() == 2)
    found = binaryRule(op, {scalar(0), scalar(1), result, tangent(0), tangent(1),
                            llvm::any_of(op->getOperands(), [&](Value operand) { return isConstant(operand); })});
  tangents.insert({op->getResult(0), found});
  return found.has_value();
}
} // namespace perpend::graph
