//===- Pointwise.cpp - elementwise formulas, and helpers for them ---------===//

#include "graph/Scalars.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

Type computeType(Type elementType) {
  auto floating = dyn_cast<FloatType>(elementType);
  bool isNarrow = isMinifloat(elementType) || (floating && floating.getWidth() < 32);
  return isNarrow ? Float32Type::get(elementType.getContext()) : elementType;
}

MinifloatRounding roundingOf(const Attributes &attributes) {
  StringRef direction = attributes.getString("round_mode", "up");
  return {attributes.getInt("saturate", 1) != 0, direction == "nearest" ? MinifloatRounding::Nearest
                                                 : direction == "down"  ? MinifloatRounding::Down
                                                                        : MinifloatRounding::Up};
}

Value pointwise(Builder &builder, Values inputs, Formula formula, Type resultType) {
  if (llvm::is_contained(inputs, Value()))
    return {};
  Type elementType = elementTypeOf(inputs[0]);
  for (Value input : inputs)
    if (elementTypeOf(input) != elementType) {
      std::string types;
      llvm::raw_string_ostream(types) << elementType << " and " << elementTypeOf(input);
      return builder.fail("expected inputs of one element type, got " + types);
    }
  Type compute = computeType(elementType);
  if (!resultType)
    resultType = elementType;
  return builder.mapBroadcast(inputs, resultType, [&](OpBuilder &inner, Location loc, ValueRange arguments) {
    SmallVector<Scalar> scalars;
    for (Value argument : arguments)
      scalars.emplace_back(inner, loc, convert(inner, loc, argument, elementType, compute), isUnsigned(elementType));
    Value result = formula(scalars).value;
    bool isRounded = isMinifloat(resultType) || (isa<FloatType>(resultType) && result.getType() != resultType);
    return isRounded ? convert(inner, loc, result, result.getType(), resultType) : result;
  });
}

/// The linear position in a tensor of shape `from` that a position in the shape `to` broadcasts from.
static int64_t broadcastPosition(int64_t position, ArrayRef<int64_t> to, ArrayRef<int64_t> from) {
  int64_t result = 0, stride = 1;
  for (int64_t i = static_cast<int64_t>(to.size()) - 1, j = static_cast<int64_t>(from.size()) - 1; j >= 0; --i, --j) {
    int64_t index = position % to[i];
    position /= to[i];
    if (from[j] != 1)
      result += index * stride;
    stride *= from[j];
  }
  return result;
}

Value follow(Builder &builder, Values inputs, Value result, ContentsFormula formula) {
  if (!result || !tensorTypeOf(result).hasStaticShape() || tensorTypeOf(result).getNumElements() > 128)
    return result;
  SmallVector<Shape> known;
  for (Value input : inputs) {
    std::optional<Shape> contents = builder.contents(input);
    if (!contents)
      return result;
    known.push_back(*contents);
  }
  Shape values;
  ArrayRef<int64_t> extents = tensorTypeOf(result).getShape();
  for (int64_t i = 0; i < tensorTypeOf(result).getNumElements(); ++i) {
    SmallVector<SymbolicInt> operands;
    for (auto [input, contents] : llvm::zip(inputs, known))
      operands.push_back(contents[broadcastPosition(i, extents, tensorTypeOf(input).getShape())]);
    std::optional<SymbolicInt> value = formula(operands);
    if (!value || value->isPoison())
      return result;
    values.push_back(*value);
  }
  if (isa<IntegerType>(elementTypeOf(result)))
    result = knownIntegers(builder, values, shapeOf(result), elementTypeOf(result));
  builder.recordContents(result, values);
  return result;
}

Value knownIntegers(Builder &builder, ArrayRef<SymbolicInt> values, ArrayRef<SymbolicInt> shape, Type elementType) {
  SmallVector<APInt> numbers;
  for (const SymbolicInt &value : values)
    if (std::optional<int64_t> number = value.constant())
      numbers.emplace_back(elementType.getIntOrFloatBitWidth(), static_cast<uint64_t>(*number), true);
  Value result;
  if (numbers.size() == values.size())
    result = builder.constant(DenseElementsAttr::get(tensorType(shape, elementType), numbers));
  else
    result = builder.cast(builder.reshape(builder.dims(values), shape), elementType);
  builder.recordContents(result, values);
  return result;
}

Value number(Builder &builder, const SymbolicInt &value, Type elementType) {
  if (std::optional<int64_t> constant = value.constant())
    return builder.scalar(static_cast<double>(*constant), elementType);
  return builder.cast(builder.dims(value, /*isScalar=*/true), elementType);
}

std::optional<double> constantNumber(Value tensor) {
  while (tensor && isa_and_nonnull<BroadcastOp, ReshapeOp>(tensor.getDefiningOp()))
    tensor = tensor.getDefiningOp()->getOperand(0);
  auto constant = tensor ? tensor.getDefiningOp<ConstantOp>() : ConstantOp();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat() || isa<StringType>(dense.getElementType()))
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType())) {
    bool losesInfo;
    APFloat value = dense.getSplatValue<APFloat>();
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }
  APInt value = dense.getSplatValue<APInt>();
  return isUnsigned(dense.getElementType()) ? static_cast<double>(value.getZExtValue())
                                            : static_cast<double>(value.getSExtValue());
}

using Unary = Scalar (*)(Scalar);

static Results unary(Builder &builder, Values in, llvm::function_ref<Scalar(Scalar)> formula, Type resultType = {}) {
  return {pointwise(builder, in.take_front(), [&](ArrayRef<Scalar> x) { return formula(x[0]); }, resultType)};
}

/// As unary(), for formulas that only floating-point numbers have.
static Results floating(Builder &builder, Values in, llvm::function_ref<Scalar(Scalar)> formula, Type resultType = {}) {
  if (isFloat(in[0]) || isMinifloat(elementTypeOf(in[0])))
    return unary(builder, in, formula, resultType);
  std::string type;
  llvm::raw_string_ostream(type) << elementTypeOf(in[0]);
  return {builder.fail("expected floating-point elements, got " + type)};
}

template <typename Op> static Scalar apply(Scalar x) { return x.call<Op>(x.value); }

static Scalar logistic(Scalar x) { return 1.0 / (1.0 + exp(-x)); }
/// max(x, 0) + log1p(exp(-|x|)), by selects, such that the derivatives at 0 add up to the right one.
static Scalar softplusOf(Scalar x) {
  Scalar isPositive = x > 0;
  return select(isPositive, x, x.constant(0)) + log1p(exp(select(isPositive, -x, x)));
}
static Scalar expm1Of(Scalar x) { return apply<math::ExpM1Op>(x); }

namespace composites {
Results identity(Builder &, Values in, const Attributes &) { return {in[0]}; }
Results neg(Builder &b, Values in, const Attributes &) {
  Results result = unary(b, in, [](Scalar x) { return -x; });
  return {follow(b, in, result[0], [](ArrayRef<SymbolicInt> x) { return -x[0]; })};
}
Results abs(Builder &b, Values in, const Attributes &) {
  Results result = unary(b, in, [](Scalar x) { return graph::abs(x); });
  return {follow(b, in, result[0], [](ArrayRef<SymbolicInt> x) { return max(x[0], -x[0]); })};
}
Results sign(Builder &b, Values in, const Attributes &) {
  return unary(b, in, [](Scalar x) {
    Scalar zero = x.isFloat() ? select(equal(x, 0), x.constant(0), x) : x; // +0 of both; NaN stays
    Scalar positive = select(x > 0, x.constant(1), zero);
    return x.noSign ? positive : select(x < 0, x.constant(-1), positive);
  });
}
Results reciprocal(Builder &b, Values in, const Attributes &) {
  return floating(b, in, [](Scalar x) { return 1.0 / x; });
}
Results sqrt(Builder &b, Values in, const Attributes &) { return floating(b, in, graph::sqrt); }
Results rsqrt(Builder &b, Values in, const Attributes &) {
  return floating(b, in, [](Scalar x) { return 1.0 / graph::sqrt(x); });
}
Results exp(Builder &b, Values in, const Attributes &) { return floating(b, in, graph::exp); }
Results log(Builder &b, Values in, const Attributes &) { return floating(b, in, graph::log); }
Results exp2(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::Exp2Op>); }
Results log2(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::Log2Op>); }
Results log10(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::Log10Op>); }
Results log1p(Builder &b, Values in, const Attributes &) { return floating(b, in, graph::log1p); }
Results expm1(Builder &b, Values in, const Attributes &) { return floating(b, in, expm1Of); }
Results erf(Builder &b, Values in, const Attributes &) { return floating(b, in, graph::erf); }
Results sin(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::SinOp>); }
Results cos(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::CosOp>); }
Results tan(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::TanOp>); }
Results asin(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::AsinOp>); }
Results acos(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::AcosOp>); }
Results atan(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::AtanOp>); }
Results sinh(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::SinhOp>); }
Results cosh(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::CoshOp>); }
Results tanh(Builder &b, Values in, const Attributes &) { return floating(b, in, graph::tanh); }
Results asinh(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::AsinhOp>); }
Results acosh(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::AcoshOp>); }
Results atanh(Builder &b, Values in, const Attributes &) { return floating(b, in, apply<math::AtanhOp>); }

/// The tracked contents of a float tensor are integers, which rounding does not change.
static Results rounded(Builder &b, Values in, llvm::function_ref<Scalar(Scalar)> formula) {
  Results result = unary(b, in, formula);
  return {follow(b, in, result[0], [](ArrayRef<SymbolicInt> x) { return x[0]; })};
}
Results ceil(Builder &b, Values in, const Attributes &) { return rounded(b, in, graph::ceil); }
Results floor(Builder &b, Values in, const Attributes &) { return rounded(b, in, graph::floor); }
Results trunc(Builder &b, Values in, const Attributes &) { return rounded(b, in, graph::trunc); }
Results round(Builder &b, Values in, const Attributes &) { return rounded(b, in, graph::roundEven); }

Results relu(Builder &b, Values in, const Attributes &) {
  return unary(b, in, [](Scalar x) { return max(x, 0); });
}
Results leaky_relu(Builder &b, Values in, const Attributes &attributes) {
  double alpha = attributes.getFloat("alpha", 0.01);
  return floating(b, in, [=](Scalar x) { return select(x < 0, x * alpha, x); });
}
Results elu(Builder &b, Values in, const Attributes &attributes) {
  double alpha = attributes.getFloat("alpha", 1);
  return floating(b, in, [=](Scalar x) { return select(x < 0, alpha * expm1Of(x), x); });
}
Results selu(Builder &b, Values in, const Attributes &attributes) {
  double alpha = attributes.getFloat("alpha", 1.67326319217681884765625);
  double gamma = attributes.getFloat("gamma", 1.05070102214813232421875);
  return floating(b, in, [=](Scalar x) { return gamma * select(x < 0, alpha * expm1Of(x), x); });
}
Results celu(Builder &b, Values in, const Attributes &attributes) {
  double alpha = attributes.getFloat("alpha", 1);
  return floating(b, in, [=](Scalar x) { return select(x < 0, alpha * expm1Of(x / alpha), x); });
}
Results sigmoid(Builder &b, Values in, const Attributes &) { return floating(b, in, logistic); }
static Scalar hardSigmoid(Scalar x, double alpha, double beta) { return min(max(x * alpha + beta, 0), 1); }
Results hard_sigmoid(Builder &b, Values in, const Attributes &attributes) {
  double alpha = attributes.getFloat("alpha", 0.2), beta = attributes.getFloat("beta", 0.5);
  return floating(b, in, [=](Scalar x) { return hardSigmoid(x, alpha, beta); });
}
Results hard_swish(Builder &b, Values in, const Attributes &) {
  return floating(b, in, [](Scalar x) { return x * hardSigmoid(x, 1.0 / 6, 0.5); });
}
Results silu(Builder &b, Values in, const Attributes &attributes) {
  double alpha = attributes.getFloat("alpha", 1);
  return floating(b, in, [=](Scalar x) { return x * logistic(alpha == 1 ? x : x * alpha); });
}
Results swiglu(Builder &b, Values in, const Attributes &attributes) {
  Value gate = silu(b, in[0], attributes)[0];
  return {gate ? graph::mul(b, gate, in[1]) : gate};
}
Results mish(Builder &b, Values in, const Attributes &) {
  return floating(b, in, [](Scalar x) { return x * graph::tanh(softplusOf(x)); });
}
Results softplus(Builder &b, Values in, const Attributes &) { return floating(b, in, softplusOf); }
Results softsign(Builder &b, Values in, const Attributes &) {
  return floating(b, in, [](Scalar x) { return x / (1.0 + graph::abs(x)); });
}
Results gelu(Builder &b, Values in, const Attributes &attributes) {
  if (attributes.getString("approximate", "none") == "tanh")
    return floating(b, in, [](Scalar x) { // (1 + tanh(y)) / 2 = logistic(2 y), which keeps its digits where y < 0
      return x * logistic(1.5957691216057308 * (x + 0.044715 * (x * x * x)));
    });
  return floating(b, in, [](Scalar x) { return 0.5 * x * (1.0 + graph::erf(x * 0.7071067811865476)); });
}
Results threshold(Builder &b, Values in, const Attributes &attributes) {
  double alpha = attributes.getFloat("threshold", 1), value = attributes.getFloat("value", 0);
  return unary(b, in, [=](Scalar x) { return select(x <= alpha, x.constant(value), x); });
}
Results shrink(Builder &b, Values in, const Attributes &attributes) {
  double lambda = attributes.getFloat("lambd", 0.5), bias = attributes.getFloat("bias", 0);
  Value x = b.cast(in[0], isFloat(in[0]) ? elementTypeOf(in[0]) : b.operations.getF64Type());
  Value result = floating(
      b, x, [=](Scalar x) { return select(x < -lambda, x + bias, select(x > lambda, x - bias, x.constant(0))); })[0];
  return {result ? b.cast(result, elementTypeOf(in[0])) : result};
}
Results logical_not(Builder &b, Values in, const Attributes &) {
  Results result = unary(b, in, [](Scalar x) { return equal(x, 0); }, b.operations.getI1Type());
  return {follow(b, in, result[0], [](ArrayRef<SymbolicInt> x) -> std::optional<SymbolicInt> {
    if (std::optional<int64_t> value = x[0].constant())
      return SymbolicInt(*value == 0);
    return std::nullopt;
  })};
}
Results bitwise_not(Builder &b, Values in, const Attributes &) {
  return unary(b, in, [](Scalar x) { return ~x; });
}
Results isnan(Builder &b, Values in, const Attributes &) {
  return unary(b, in, [](Scalar x) { return notEqual(x, x); }, b.operations.getI1Type());
}
Results isinf(Builder &b, Values in, const Attributes &attributes) {
  bool positive = attributes.getInt("detect_positive", 1), negative = attributes.getInt("detect_negative", 1);
  return unary(
      b, in,
      [=](Scalar x) {
        if (!x.isFloat())
          return notEqual(x, x);
        double infinity = std::numeric_limits<double>::infinity();
        Scalar wanted = positive && negative ? graph::abs(x) : negative ? -x : x;
        return positive || negative ? equal(wanted, infinity) : notEqual(x.constant(0), 0);
      },
      b.operations.getI1Type());
}
/// saturate and round_mode (nearest, up, down) are of minifloats.
Results cast(Builder &b, Values in, const Attributes &attributes) {
  Type to = attributes.getType("to");
  return {to ? b.roundingCast(in[0], to, roundingOf(attributes)) : b.fail("cast: the attribute 'to' is missing")};
}
} // namespace composites
} // namespace perpend::graph
