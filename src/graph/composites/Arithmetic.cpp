//===- Arithmetic.cpp - elementwise formulas of two and more tensors ------===//
//
// Operators that shape computations use also follow the contents of small
// integer tensors.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace perpend::graph {

using Known = std::optional<SymbolicInt>;
using Binary = Scalar (*)(Scalar, Scalar);

static Value binary(Builder &b, Value x, Value y, Binary formula, Type resultType = {}) {
  return pointwise(b, {x, y}, [&](ArrayRef<Scalar> v) { return formula(v[0], v[1]); }, resultType);
}

/// Integer division towards zero, where the signs are known.
static Known truncatingDivision(const SymbolicInt &x, const SymbolicInt &y) {
  if (y == SymbolicInt(0))
    return std::nullopt;
  if (std::optional<SymbolicInt> exact = exactDiv(x, y))
    return *exact;
  if (x.knownNonNegative() && y.knownNonNegative())
    return floorDiv(x, y);
  if (x.constant() && y.constant())
    return SymbolicInt(*x.constant() / *y.constant());
  return std::nullopt;
}

Value add(Builder &b, Value x, Value y) {
  return follow(b, {x, y}, binary(b, x, y, operator+), [](ArrayRef<SymbolicInt> v) { return v[0] + v[1]; });
}
Value sub(Builder &b, Value x, Value y) {
  return follow(b, {x, y}, binary(b, x, y, operator-), [](ArrayRef<SymbolicInt> v) { return v[0] - v[1]; });
}
Value mul(Builder &b, Value x, Value y) {
  return follow(b, {x, y}, binary(b, x, y, operator*), [](ArrayRef<SymbolicInt> v) { return v[0] * v[1]; });
}
Value div(Builder &b, Value x, Value y) {
  bool floats = x && isFloat(x);
  return follow(b, {x, y}, binary(b, x, y, operator/), [&](ArrayRef<SymbolicInt> v) -> Known {
    if (!floats)
      return truncatingDivision(v[0], v[1]);
    return v[1] == SymbolicInt(0) ? std::nullopt : exactDiv(v[0], v[1]);
  });
}

Value where(Builder &b, Value condition, Value then, Value otherwise) {
  if (!condition || !then || !otherwise)
    return {};
  if (elementTypeOf(then) != elementTypeOf(otherwise) || !elementTypeOf(condition).isInteger(1))
    return b.fail("where: expected a boolean condition and two tensors of one element type");
  // Of extents that are equal when the model runs, a condition is the one that may be 1 instead: it is often a mask.
  std::optional<Shape> shape = b.broadcastShapes({then, otherwise, condition});
  if (!shape)
    return {};
  Value result =
      b.map({b.broadcastTo(condition, *shape), b.broadcastTo(then, *shape), b.broadcastTo(otherwise, *shape)},
            elementTypeOf(then), [](OpBuilder &builder, Location loc, ValueRange v) {
              return builder.create<arith::SelectOp>(loc, v[0], v[1], v[2]).getResult();
            });
  return follow(b, {condition, then, otherwise}, result, [](ArrayRef<SymbolicInt> v) -> Known {
    if (v[1] == v[2])
      return v[1];
    std::optional<int64_t> chosen = v[0].constant();
    return chosen ? Known(*chosen ? v[1] : v[2]) : std::nullopt;
  });
}

namespace composites {
Results add(Builder &b, Values in, const Attributes &) { return {graph::add(b, in[0], in[1])}; }
Results sub(Builder &b, Values in, const Attributes &) { return {graph::sub(b, in[0], in[1])}; }
Results mul(Builder &b, Values in, const Attributes &) { return {graph::mul(b, in[0], in[1])}; }
Results div(Builder &b, Values in, const Attributes &) { return {graph::div(b, in[0], in[1])}; }

Results floor_div(Builder &b, Values in, const Attributes &) {
  return {follow(b, in, binary(b, in[0], in[1], graph::floorDiv), [](ArrayRef<SymbolicInt> v) -> Known {
    return v[1] == SymbolicInt(0) ? Known() : floorDiv(v[0], v[1]);
  })};
}
Results mod(Builder &b, Values in, const Attributes &) {
  return {follow(b, in, binary(b, in[0], in[1], floorMod), [](ArrayRef<SymbolicInt> v) -> Known {
    return v[1] == SymbolicInt(0) ? Known() : support::mod(v[0], v[1]);
  })};
}
Results fmod(Builder &b, Values in, const Attributes &) { return {binary(b, in[0], in[1], operator%)}; }

/// Of integers, in the wider one of two types; the exponent keeps its sign, or that it has none.
static Value integerPower(Builder &b, Value base, Value exponent) {
  Type type = elementTypeOf(base), exponentType = elementTypeOf(exponent);
  bool isNarrower = bitWidth(type) < bitWidth(exponentType), hasNoSign = isUnsigned(exponentType);
  Type wide = scalarType(isNarrower ? exponentType : type);
  return b.mapBroadcast({base, exponent}, type, [&](OpBuilder &builder, Location loc, ValueRange x) {
    Scalar first(builder, loc, x[0], isUnsigned(type)), second(builder, loc, x[1], hasNoSign);
    return graph::pow(first.to(wide), second.to(wide)).to(scalarType(type)).value;
  });
}

/// What a power with a floating-point number is computed in: f64 where f32 does not have all numbers of an operand.
static Type powerType(Builder &b, Value base, Value exponent, std::optional<double> constant) {
  auto fitsSingle = [](Type type) { return bitWidth(type) <= 16 || type.isF32(); };
  bool isExact = constant && static_cast<double>(static_cast<float>(*constant)) == *constant;
  bool isSingle = fitsSingle(elementTypeOf(base)) && (isExact || fitsSingle(elementTypeOf(exponent)));
  return isSingle ? b.f32() : Type(b.operations.getF64Type());
}

/// The exponent may have another element type.
Results pow(Builder &b, Values in, const Attributes &) {
  Value base = in[0], exponent = in[1];
  std::optional<double> constant = constantNumber(exponent);
  if (constant && *constant == 2)
    return {graph::mul(b, base, base)};
  if (constant && *constant == 0.5 && isFloat(base))
    return applyComposite(b, "sqrt", base);
  if (isa<IntegerType>(elementTypeOf(base)) && isa<IntegerType>(elementTypeOf(exponent)))
    return {integerPower(b, base, exponent)};
  Type compute = powerType(b, base, exponent, constant);
  Value result = binary(b, b.cast(base, compute), b.cast(exponent, compute), graph::pow);
  return {b.cast(result, elementTypeOf(base))};
}

/// Of (x, y); it has the sign of y, and that of x decides where both are 0 or infinite.
Results atan2(Builder &b, Values in, const Attributes &) {
  if (!isFloat(in[0]))
    return {b.fail("atan2: expected floating-point numbers, got " + nameOf(elementTypeOf(in[0])))};
  return {binary(b, in[0], in[1], [](Scalar y, Scalar x) { return y.call<math::Atan2Op>(y.value, x.value); })};
}

/// Neither squares that overflow nor such as are too small: f64 has those of f32, and is scaled by powers of two
/// itself.
static Scalar hypotenuse(Scalar x, Scalar y) {
  double infinity = std::numeric_limits<double>::infinity();
  Type wide = x.emitter().getF64Type();
  Scalar a = graph::abs(x).to(wide), b = graph::abs(y).to(wide), factor = a.constant(1);
  if (x.type() == wide) {
    Scalar larger = graph::max(a, b);
    factor = select(larger < 0x1p-500, a.constant(0x1p600), factor);
    factor = select(larger > 0x1p500, a.constant(0x1p-600), factor);
  }
  Scalar first = a * factor, second = b * factor, length = graph::sqrt(first * first + second * second) / factor;
  return select(equal(a, infinity) | equal(b, infinity), a.constant(infinity), length).to(x.type());
}
/// Infinite beside NaN, too.
Results hypot(Builder &b, Values in, const Attributes &) {
  if (!isFloat(in[0]))
    return {b.fail("hypot: expected floating-point numbers, got " + nameOf(elementTypeOf(in[0])))};
  return {binary(b, in[0], in[1], hypotenuse)};
}

static Results fold(Builder &b, Values in, Value (*combine)(Builder &, Value, Value)) {
  Value result = in[0];
  for (Value next : in.drop_front())
    result = combine(b, result, next);
  return {result};
}
static Value maximum(Builder &b, Value x, Value y) {
  return follow(b, {x, y}, binary(b, x, y, graph::max), [](ArrayRef<SymbolicInt> v) { return max(v[0], v[1]); });
}
static Value minimum(Builder &b, Value x, Value y) {
  return follow(b, {x, y}, binary(b, x, y, graph::min), [](ArrayRef<SymbolicInt> v) { return min(v[0], v[1]); });
}
Results max(Builder &b, Values in, const Attributes &) { return fold(b, in, maximum); }
Results min(Builder &b, Values in, const Attributes &) { return fold(b, in, minimum); }
Results sum(Builder &b, Values in, const Attributes &) { return fold(b, in, graph::add); }
Results mean(Builder &b, Values in, const Attributes &) {
  Value total = fold(b, in, graph::add)[0];
  return {total ? graph::div(b, total, b.scalar(static_cast<double>(in.size()), elementTypeOf(total))) : total};
}

/// max(x, low), and its derivative on the bound is that of x. NaN in either gives NaN.
static Value atLeast(Builder &b, Value x, Value low) {
  auto formula = [](Scalar x, Scalar low) { return select((x < low) | notEqual(low, low), low, x); };
  return follow(b, {x, low}, binary(b, x, low, formula), [](ArrayRef<SymbolicInt> v) { return max(v[0], v[1]); });
}
/// min(x, high), likewise.
static Value atMost(Builder &b, Value x, Value high) {
  auto formula = [](Scalar x, Scalar high) { return select((x > high) | notEqual(high, high), high, x); };
  return follow(b, {x, high}, binary(b, x, high, formula), [](ArrayRef<SymbolicInt> v) { return min(v[0], v[1]); });
}
Results clip(Builder &b, Values in, const Attributes &) {
  Value result = in[0];
  if (Value low = optionalInput(in, 1))
    result = atLeast(b, result, low);
  if (Value high = optionalInput(in, 2))
    result = atMost(b, result, high);
  return {result};
}
Results prelu(Builder &b, Values in, const Attributes &) {
  return {binary(b, in[0], in[1], [](Scalar x, Scalar slope) { return select(x < 0, x * slope, x); })};
}
Results where(Builder &b, Values in, const Attributes &) { return {graph::where(b, in[0], in[1], in[2])}; }

/// A comparison, with its outcome for integers that are known.
static Results comparison(Builder &b, Values in, Binary formula,
                          std::optional<bool> (*known)(SymbolicInt, SymbolicInt)) {
  return {
      follow(b, in, binary(b, in[0], in[1], formula, b.operations.getI1Type()), [&](ArrayRef<SymbolicInt> v) -> Known {
        std::optional<bool> outcome = known(v[0], v[1]);
        return outcome ? Known(SymbolicInt(*outcome)) : std::nullopt;
      })};
}

/// The same of one pair of integers that symbols decide: the difference of the first and the second says how.
static Results comparison(Builder &b, Values in, Binary formula, std::optional<bool> (*known)(SymbolicInt, SymbolicInt),
                          Comparison (*meaning)(SymbolicInt)) {
  Results result = comparison(b, in, formula, known);
  std::optional<Shape> left = b.contents(in[0]), right = b.contents(in[1]);
  if (result[0] && left && right && left->size() == 1 && right->size() == 1 && !b.contents(result[0]))
    b.recordComparison(result[0], meaning(left->front() - right->front()));
  return result;
}
static Comparison isZero(SymbolicInt x) { return {{x, -x}, {x - 1, -x - 1}}; }
static Comparison isNegative(SymbolicInt x) { return {{-x - 1}, {x}}; }
static Comparison isPositive(SymbolicInt x) { return isNegative(-x); }
static std::optional<bool> negation(std::optional<bool> value) { return value ? std::optional(!*value) : value; }
static std::optional<bool> knownEqual(SymbolicInt x, SymbolicInt y) {
  if (x == y)
    return true;
  return provablyDiffer(x, y) ? std::optional(false) : std::nullopt;
}
static std::optional<bool> knownLess(SymbolicInt x, SymbolicInt y) { return compareLess(x, y); }

Results equal(Builder &b, Values in, const Attributes &) { return comparison(b, in, graph::equal, knownEqual, isZero); }
Results not_equal(Builder &b, Values in, const Attributes &) {
  return comparison(b, in, graph::notEqual, [](SymbolicInt x, SymbolicInt y) { return negation(knownEqual(x, y)); });
}
Results less(Builder &b, Values in, const Attributes &) { return comparison(b, in, operator<, knownLess, isNegative); }
Results less_equal(Builder &b, Values in, const Attributes &) {
  return comparison(b, in, operator<=, [](SymbolicInt x, SymbolicInt y) { return negation(knownLess(y, x)); });
}
Results greater(Builder &b, Values in, const Attributes &) {
  return comparison(b, in, operator>, [](SymbolicInt x, SymbolicInt y) { return knownLess(y, x); }, isPositive);
}
Results greater_equal(Builder &b, Values in, const Attributes &) {
  return comparison(b, in, operator>=, [](SymbolicInt x, SymbolicInt y) { return negation(knownLess(x, y)); });
}

static Results integral(Builder &b, Values in, Binary formula) {
  if (isFloat(in[0]))
    return {b.fail("expected integers or booleans, got floating-point elements")};
  return {binary(b, in[0], in[1], formula)};
}
Results logical_and(Builder &b, Values in, const Attributes &) { return integral(b, in, operator&); }
Results logical_or(Builder &b, Values in, const Attributes &) { return integral(b, in, operator|); }
Results logical_xor(Builder &b, Values in, const Attributes &) { return integral(b, in, operator^); }
Results bitwise_and(Builder &b, Values in, const Attributes &) { return integral(b, in, operator&); }
Results bitwise_or(Builder &b, Values in, const Attributes &) { return integral(b, in, operator|); }
Results bitwise_xor(Builder &b, Values in, const Attributes &) { return integral(b, in, operator^); }

/// Shifting by the width or more gives 0 (left, unsigned) or the sign (right).
template <typename Op> static Scalar shiftOrZero(Scalar x, Scalar amount) {
  Scalar width = x.integer(x.type().getIntOrFloatBitWidth());
  Scalar outside = amount.call<arith::CmpIOp>(arith::CmpIPredicate::uge, amount.value, width.value);
  Scalar safe = select(outside, x.integer(0), amount);
  return select(outside, x.integer(0), x.call<Op>(x.value, safe.value));
}
Results shift_left(Builder &b, Values in, const Attributes &) { return integral(b, in, shiftOrZero<arith::ShLIOp>); }
Results shift_right(Builder &b, Values in, const Attributes &) {
  return integral(b, in, [](Scalar x, Scalar amount) {
    if (x.noSign)
      return shiftOrZero<arith::ShRUIOp>(x, amount);
    Scalar last = x.integer(x.type().getIntOrFloatBitWidth() - 1);
    Scalar clamped = x.call<arith::MinUIOp>(amount.value, last.value);
    return x.call<arith::ShRSIOp>(x.value, clamped.value);
  });
}
} // namespace composites
} // namespace perpend::graph
