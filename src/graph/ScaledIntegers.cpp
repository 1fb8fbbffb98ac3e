//===- ScaledIntegers.cpp - quantised values in a graph -------------------===//

#include "graph/ScaledIntegers.h"

#include "graph/Rows.h"
#include "graph/ScalarMath.h"
#include "graph/Scalars.h"
#include "graph/composites/Formulas.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

#include <cfloat>

using namespace mlir;

namespace perpend::graph {

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Parameters have one number per channel; larger constants are weights, and not read.
static constexpr int64_t mostParameters = 1 << 16;

template <typename T> static void appendNumbers(ArrayRef<char> bytes, SmallVector<double> &numbers) {
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + i, sizeof(T));
    numbers.push_back(static_cast<double>(number));
  }
}

static std::optional<SmallVector<double>> numbersOfResource(DenseResourceElementsAttr resource) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  Type type = resource.getElementType();
  SmallVector<double> numbers;
  if (type.isF32())
    appendNumbers<float>(blob->getData(), numbers);
  else if (type.isUnsignedInteger(8))
    appendNumbers<uint8_t>(blob->getData(), numbers);
  else if (type.isSignlessInteger(8))
    appendNumbers<int8_t>(blob->getData(), numbers);
  else if (type.isSignlessInteger(32))
    appendNumbers<int32_t>(blob->getData(), numbers);
  else
    return std::nullopt;
  return numbers;
}

static double asDouble(const APInt &value, Type type) {
  return isUnsigned(type) ? static_cast<double>(value.getZExtValue()) : static_cast<double>(value.getSExtValue());
}

static std::optional<SmallVector<double>> numbersOf(ConstantOp constant) {
  auto type = tensorTypeOf(constant.getResult());
  if (!type.getElementType().isIntOrFloat() || type.getNumElements() > mostParameters)
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue()))
    return numbersOfResource(resource);
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense)
    return std::nullopt;
  if (!isa<FloatType>(type.getElementType()))
    return llvm::map_to_vector(dense.getValues<APInt>(),
                               [&](const APInt &value) { return asDouble(value, type.getElementType()); });
  return llvm::map_to_vector(dense.getValues<APFloat>(), [](const APFloat &value) { return value.convertToDouble(); });
}

/// Numbers along the only dimension of the shape that is not 1; `dims` maps dimensions to those of the result.
static std::optional<Parameter> along(SmallVector<double> numbers, const Shape &shape, ArrayRef<int64_t> dims) {
  if (!numbers.empty() && llvm::all_equal(numbers))
    return Parameter::of(numbers.front());
  std::optional<int64_t> only;
  for (auto [extent, dim] : llvm::zip(shape, dims)) {
    if (extent == SymbolicInt(1))
      continue;
    if (only)
      return std::nullopt;
    only = dim;
  }
  return only ? std::optional(Parameter{std::move(numbers), only}) : std::nullopt;
}

std::optional<Parameter> parameterOf(Value tensor) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(tensor).getRank()));
  if (auto broadcast = tensor.getDefiningOp<BroadcastOp>()) {
    dims.assign(broadcast.getDims().begin(), broadcast.getDims().end());
    tensor = broadcast.getInput();
  }
  Shape shape = shapeOf(tensor);
  auto constant = originOf(tensor).getDefiningOp<ConstantOp>();
  std::optional<SmallVector<double>> numbers = constant ? numbersOf(constant) : std::nullopt;
  return numbers ? along(std::move(*numbers), shape, dims) : std::nullopt;
}

template <typename T> static DenseElementsAttr denseOf(const Parameter &parameter, RankedTensorType type) {
  SmallVector<T> numbers(parameter.values.begin(), parameter.values.end());
  return DenseElementsAttr::get(type, ArrayRef<T>(numbers));
}

/// Makes a constant of f32 or i16.
static Value constantOf(Builder &builder, const Parameter &parameter, Type element) {
  Shape shape;
  if (parameter.dim)
    shape.emplace_back(static_cast<int64_t>(parameter.values.size()));
  auto type = tensorType(shape, element);
  return builder.constant(element.isF32() ? denseOf<float>(parameter, type) : denseOf<int16_t>(parameter, type));
}

static Value repeated(Builder &builder, const Parameter &parameter, ArrayRef<SymbolicInt> shape, Type element) {
  SmallVector<int64_t> dims;
  if (parameter.dim)
    dims.push_back(*parameter.dim);
  return builder.broadcast(constantOf(builder, parameter, element), dims, shape);
}

Value tensorOf(Builder &builder, const Parameter &parameter, ArrayRef<SymbolicInt> shape) {
  return repeated(builder, parameter, shape, builder.f32());
}

bool areNormal(const Parameter &parameter) {
  constexpr double most = 0x1p64;
  return llvm::all_of(parameter.values,
                      [](double number) { return std::abs(number) >= FLT_MIN && std::abs(number) <= most; });
}

/// Combines two parameters element by element, rounded to f32; nullopt if they vary along different dimensions, or a
/// result is not a normal number.
static std::optional<Parameter> combined(const Parameter &a, const Parameter &b,
                                         llvm::function_ref<float(float, float)> formula) {
  if (a.dim && b.dim && (a.dim != b.dim || a.values.size() != b.values.size()))
    return std::nullopt;
  const Parameter &longer = a.dim ? a : b;
  Parameter result{{}, longer.dim};
  for (size_t i = 0; i < longer.values.size(); ++i)
    result.values.push_back(formula(static_cast<float>(a.values[a.dim ? i : 0]), //
                                    static_cast<float>(b.values[b.dim ? i : 0])));
  return areNormal(result) ? std::optional(result) : std::nullopt;
}

std::optional<Parameter> times(const Parameter &a, const Parameter &b) {
  return combined(a, b, [](float x, float y) { return x * y; });
}
std::optional<Parameter> over(const Parameter &a, float divisor) {
  return combined(a, Parameter::of(divisor), [](float x, float y) { return x / y; });
}

//===----------------------------------------------------------------------===//
// Finding scaled integers
//===----------------------------------------------------------------------===//

std::optional<Parameter> parameterOf(MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return parameterOf(map.getInputs()[argument.getArgNumber()]);
  Operation *op = scalar.getDefiningOp();
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return isa<FloatAttr>(constant) ? std::optional(Parameter::of(cast<FloatAttr>(constant).getValueAsDouble()))
                                    : std::nullopt;
  if (!isa<arith::SIToFPOp, arith::UIToFPOp, arith::ExtFOp>(op))
    return std::nullopt;
  APInt integer;
  if (!matchPattern(op->getOperand(0), m_ConstantInt(&integer)))
    return parameterOf(map, op->getOperand(0));
  return Parameter::of(isa<arith::UIToFPOp>(op) ? static_cast<double>(integer.getZExtValue())
                                                : static_cast<double>(integer.getSExtValue()));
}

/// The argument that a scalar converts to f32, with the signedness of its tensor.
static Value convertedIntegers(MapOp map, Value scalar) {
  Operation *conversion = scalar.getDefiningOp();
  auto argument = isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(conversion)
                      ? dyn_cast<BlockArgument>(conversion->getOperand(0))
                      : BlockArgument();
  if (!argument)
    return {};
  Value tensor = map.getInputs()[argument.getArgNumber()];
  Type type = tensorTypeOf(tensor).getElementType();
  bool isKnown = isa<IntegerType>(type) && !type.isInteger(1) && (bitWidth(type) <= 8 || type.isSignlessInteger(32));
  return isKnown && isUnsigned(type) == isa<arith::UIToFPOp>(conversion) ? tensor : Value();
}

/// Whether the constant is a zero point: a number in the range of the bytes from which it is subtracted.
static bool isZeroPoint(const Parameter &zero, Value integers) {
  Type type = tensorTypeOf(integers).getElementType();
  unsigned bits = bitWidth(type);
  double range = std::exp2(bits), least = isUnsigned(type) ? 0 : -range / 2;
  return bits <= 8 && llvm::all_of(zero.values, [&](double number) {
           return number == std::nearbyint(number) && number >= least && number < least + range;
         });
}

static std::optional<ScaledIntegers> scaledIntegersOf(MapOp map, Value whole, Value scale) {
  std::optional<Parameter> factor = parameterOf(map, scale);
  if (!factor)
    return std::nullopt;
  auto difference = whole.getDefiningOp<arith::SubFOp>();
  Value integers = convertedIntegers(map, difference ? difference.getLhs() : whole);
  std::optional<Parameter> zero = difference ? parameterOf(map, difference.getRhs()) : Parameter::of(0);
  if (!integers || !zero || (!zero->is(0) && !isZeroPoint(*zero, integers)))
    return std::nullopt;
  return ScaledIntegers{integers, *zero, *factor};
}

std::optional<ScaledIntegers> scaledIntegersOf(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    std::optional<ScaledIntegers> numbers = scaledIntegersOf(broadcast.getInput());
    if (!numbers)
      return std::nullopt;
    for (Parameter *parameter : {&numbers->zero, &numbers->scale})
      if (parameter->dim)
        parameter->dim = broadcast.getDims()[*parameter->dim];
    numbers->repeats.push_back(broadcast);
    return numbers;
  }
  auto map = value.getDefiningOp<MapOp>();
  if (!map || !tensorTypeOf(value).getElementType().isF32())
    return std::nullopt;
  auto product = map.getBody().front().getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  std::optional<ScaledIntegers> numbers = scaledIntegersOf(map, product.getLhs(), product.getRhs());
  return numbers ? numbers : scaledIntegersOf(map, product.getRhs(), product.getLhs());
}

//===----------------------------------------------------------------------===//
// Building them
//===----------------------------------------------------------------------===//

namespace {
/// A parameter in the body of a map: a number, or an element of an operand.
class ParameterOperand {
public:
  ParameterOperand(Builder &builder, SmallVector<Value> &inputs, const Parameter &parameter, Type element)
      : parameter(parameter), position(inputs.size()) {
    if (!parameter.isOne())
      inputs.push_back(repeated(builder, parameter, shapeOf(inputs.front()), element));
  }
  Scalar in(ValueRange arguments, Scalar like) const {
    return parameter.isOne() ? like.constant(parameter.values.front()) : like.with(arguments[position]);
  }

private:
  const Parameter &parameter;
  size_t position;
};
} // namespace

Value repeatedIntegers(Builder &builder, const ScaledIntegers &numbers) {
  Value integers = numbers.integers;
  for (BroadcastOp repeat : numbers.repeats)
    integers = builder.broadcast(integers, repeat.getDims(), shapeOf(repeat.getResult()));
  return integers;
}

Value realNumbers(Builder &builder, const ScaledIntegers &numbers) {
  SmallVector<Value> inputs{repeatedIntegers(builder, numbers)};
  ParameterOperand zero(builder, inputs, numbers.zero, builder.f32());
  ParameterOperand scale(builder, inputs, numbers.scale, builder.f32());
  Type type = elementTypeOf(numbers.integers);
  return builder.map(inputs, builder.f32(), [&](OpBuilder &b, Location loc, ValueRange v) {
    Scalar whole(b, loc, convert(b, loc, v[0], type, b.getF32Type()));
    if (!numbers.zero.is(0))
      whole = whole - zero.in(v, whole);
    return (whole * scale.in(v, whole)).value;
  });
}

Value withoutZeroPoint(Builder &builder, const ScaledIntegers &numbers) {
  Type type = elementTypeOf(numbers.integers), wide = builder.operations.getI16Type();
  SmallVector<Value> inputs{repeatedIntegers(builder, numbers)};
  if (numbers.zero.is(0) && bitWidth(type) >= 8)
    return inputs.front();
  ParameterOperand zero(builder, inputs, numbers.zero, wide);
  return builder.map(inputs, wide, [&](OpBuilder &b, Location loc, ValueRange v) {
    Scalar whole(b, loc, convert(b, loc, v[0], type, wide));
    return (whole - zero.in(v, whole)).value;
  });
}

//===----------------------------------------------------------------------===//
// Bounds of integers
//===----------------------------------------------------------------------===//

static double largestOfType(Type type) {
  bool isNarrow = isa<IntegerType>(type) && bitWidth(type) <= 16;
  return isNarrow ? std::ldexp(1.0, static_cast<int>(bitWidth(type)) - !isUnsigned(type)) - isUnsigned(type)
                  : std::numeric_limits<double>::infinity();
}

static double largestMagnitude(const Parameter &parameter) {
  double largest = 0;
  for (double number : parameter.values)
    largest = std::max(largest, std::abs(number));
  return largest;
}

static double largestMagnitude(MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return largestMagnitude(map.getInputs()[argument.getArgNumber()]);
  APInt constant;
  if (matchPattern(scalar, m_ConstantInt(&constant)))
    return std::abs(static_cast<double>(constant.getSExtValue()));
  Operation *op = scalar.getDefiningOp();
  if (isa<arith::ExtSIOp, arith::ExtUIOp>(op))
    return largestMagnitude(map, op->getOperand(0));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return largestMagnitude(map, op->getOperand(0)) + largestMagnitude(map, op->getOperand(1));
  return std::numeric_limits<double>::infinity();
}

double largestSum(const Shape &summed, double largest) {
  std::optional<int64_t> count = elementCount(summed).constant();
  return count == 0 ? 0 : count ? static_cast<double>(*count) * largest : std::numeric_limits<double>::infinity();
}

double largestMagnitude(Value integers) {
  Operation *op = integers.getDefiningOp();
  double ofType = largestOfType(tensorTypeOf(integers).getElementType());
  if (std::optional<Parameter> parameter = parameterOf(integers))
    return largestMagnitude(*parameter);
  if (auto map = dyn_cast_or_null<MapOp>(op))
    return std::min(ofType, largestMagnitude(map, map.getBody().front().getTerminator()->getOperand(0)));
  auto element = dyn_cast_or_null<ElementInterface>(op);
  if (element && element.elementKind() == ElementKind::View && !element.looksForElements())
    return largestMagnitude(op->getOperand(0));
  auto reduction = dyn_cast_or_null<ReductionInterface>(op);
  if (!reduction || reduction.getKind() != ReductionKind::Sum || std::isfinite(ofType))
    return ofType;
  double product = 1;
  for (Value operand : op->getOperands())
    product *= largestMagnitude(operand);
  return largestSum(reduction.reducedExtents(), product);
}

double largestMagnitude(const ScaledIntegers &numbers) {
  return largestMagnitude(numbers.integers) + largestMagnitude(numbers.zero);
}
} // namespace perpend::graph
