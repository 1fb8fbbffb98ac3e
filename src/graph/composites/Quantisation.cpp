//===- Quantisation.cpp - conversions to and from quantised types ---------===//
//
// The definitions of ONNX: divide x by the scale in the precision that the model names, round half to even, add the
// zero point, saturate. 8-bit floats are rounded to their format instead. Products of quantised integers accumulate in
// i32, modulo 2^32; those of 8-bit floats in f32. Requantising multiplies the accumulator by one f32 factor, which
// combines all scales.
//
//===----------------------------------------------------------------------===//

#include "graph/Scalars.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

Value repeatBlocks(Builder &b, Value blocks, int64_t axis, int64_t size, ArrayRef<SymbolicInt> shape) {
  Shape split = shapeOf(blocks), merged = split;
  if (SymbolicInt count = ceilDiv(shape[axis], SymbolicInt(size)); provablyDiffer(split[axis], count))
    return b.contradict("expected " + count.str() + " blocks of " + Twine(size) + " along dimension " + Twine(axis) +
                        " of " + toString(shape) + ", got " + split[axis].str() +
                        "\nhint: each has a scale, the last one of fewer elements too");
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rankOf(blocks); ++dim)
    dims.push_back(dim + (dim > axis));
  merged[axis] = merged[axis] * size;
  split.insert(split.begin() + axis + 1, SymbolicInt(size));
  Value repeated = b.reshape(b.broadcast(blocks, dims, split), merged);
  return sliceAxis(b, repeated, axis, SymbolicInt(0), shape[axis]);
}

/// Scales and zero points, made to broadcast to `shape`: one number, a vector along the axis, or one number per block.
static Value spreadParameter(Builder &b, Value parameter, int64_t axis, int64_t blockSize,
                             ArrayRef<SymbolicInt> shape) {
  if (!parameter || rankOf(parameter) == 0)
    return parameter;
  if (elementCount(shapeOf(parameter)) == SymbolicInt(1))
    return b.reshape(parameter, {});
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) {
    b.contradict("expected one number for a tensor of shape " + toString(shape) + ", got parameters of shape " +
                 toString(shapeOf(parameter)));
    return {};
  }
  if (blockSize && rankOf(parameter) == static_cast<int64_t>(shape.size()))
    return repeatBlocks(b, parameter, axis, blockSize, shape);
  return rankOf(parameter) == 1 ? alongAxis(b, parameter, axis, shape) : parameter;
}

/// -1, with an error, when the axis is out of range. Per-tensor parameters need none.
static int64_t quantisedAxis(Builder &b, Value x, const Attributes &a) {
  int64_t rank = rankOf(x), axis = a.getInt("axis", 1);
  return rank < 2 || (axis >= rank && !a.has("axis")) ? 0 : normalAxis(b, axis, rank);
}

static std::pair<double, double> limits(IntegerType type) {
  double span = std::ldexp(1.0, static_cast<int>(type.getWidth()));
  return type.isUnsigned() ? std::pair(0.0, span - 1) : std::pair(-span / 2, span / 2 - 1);
}

/// A number, to be rounded, as an element of a quantised type. `zero` (optional) has the number's type.
static Value saturated(Scalar number, std::optional<Scalar> zero, Type type, MinifloatRounding rounding) {
  OpBuilder &builder = number.emitter();
  Location loc = number.location();
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer) // -0 stays: the zero point of an 8-bit float is 0
    return convert(builder, loc, zero && bitWidth(type) < 8 ? (number + *zero).value : number.value, number.type(),
                   type, rounding);
  auto [low, high] = limits(integer);
  Scalar shifted = zero ? roundEven(number) + *zero : roundEven(number);
  Scalar atLeast = select(shifted > low, shifted, shifted.constant(low)); // NaN becomes it, too
  Scalar inRange = min(atLeast, high);
  return inRange.to(builder.getI32Type()).to(scalarType(type)).value;
}

/// The type in which x / scale is computed: f32, unless the model uses integers or f64.
static Type divisionType(Builder &b, Type precision) {
  bool isWide = precision.isF64() || isa<IntegerType>(precision);
  return isWide ? Type(b.operations.getF64Type()) : b.f32();
}

/// saturate(round(x / scale) + zero point), with x, the scale and the quotient rounded to `precision`.
static Value quantised(Builder &b, Value x, Value scale, Value zeroPoint, Type type, Type precision,
                       MinifloatRounding rounding = {}) {
  if (!x || !scale)
    return {};
  Type compute = divisionType(b, precision);
  if (zeroPoint && !isMinifloat(type) && constantNumber(zeroPoint) == 0.0)
    zeroPoint = {};
  SmallVector<Value> inputs{x, scale};
  if (zeroPoint)
    inputs.push_back(zeroPoint);
  return b.mapBroadcast(inputs, type, [&](OpBuilder &builder, Location loc, ValueRange v) {
    auto rounded = [&](Value value, Type from) {
      if (precision.isF16() || precision.isBF16())
        value = convert(builder, loc, convert(builder, loc, value, from, precision), precision, compute);
      else
        value = convert(builder, loc, value, from, compute);
      return Scalar(builder, loc, value);
    };
    Scalar quotient = rounded(v[0], elementTypeOf(x)) / rounded(v[1], elementTypeOf(scale));
    std::optional<Scalar> zero;
    if (zeroPoint)
      zero = Scalar(builder, loc, convert(builder, loc, v[2], elementTypeOf(zeroPoint), compute));
    return saturated(rounded(quotient.value, compute), zero, type, rounding);
  });
}

/// Checks that a quantised tensor and its zero point (optional) have the same type, and that it `isAllowed`.
static bool checkQuantised(Builder &b, Value x, Value zeroPoint, bool isAllowed, StringRef expected) {
  Type type = elementTypeOf(x);
  if (!isAllowed)
    b.fail("expected " + expected + ", got elements of type " + nameOf(type) +
           "\nhint: quantise the tensor first, or use the operator for real numbers");
  else if (zeroPoint && elementTypeOf(zeroPoint) != type)
    b.fail("expected a zero point of type " + nameOf(type) + ", got " + nameOf(elementTypeOf(zeroPoint)) +
           "\nhint: cast the zero point to the type of its tensor");
  return !b.hasFailed();
}

namespace composites {
/// in: x, scale, zero point (optional: its type is the result's, else `to`, else ui8). `block_size` elements along
/// `axis` share a scale; `precision` is the type of the division, that of the scale by default.
Results quantize(Builder &b, Values in, const Attributes &a) {
  Value zeroPoint = optionalInput(in, 2);
  int64_t axis = quantisedAxis(b, in[0], a), block = a.getInt("block_size");
  if (axis < 0)
    return {};
  if (Type real = elementTypeOf(in[0]); !isa<FloatType>(real) && !real.isSignlessInteger(32))
    return {b.fail("expected real numbers or integers of 32 bits, got elements of type " + nameOf(real) +
                   "\nhint: cast the tensor to float first")};
  Type type = zeroPoint ? elementTypeOf(zeroPoint) : a.getType("to", b.operations.getIntegerType(8, false));
  if (!isMinifloat(type) && !(isa<IntegerType>(type) && bitWidth(type) <= 16))
    return {b.fail("quantize: expected integers of at most 16 bits or small floats, got " + nameOf(type) +
                   "\nhint: the zero point has the type of the result; cast it")};
  Shape shape = shapeOf(in[0]);
  return {quantised(b, in[0], spreadParameter(b, in[1], axis, block, shape),
                    spreadParameter(b, zeroPoint, axis, block, shape), type,
                    a.getType("precision", elementTypeOf(in[1])), roundingOf(a))};
}

/// in: x, scale, zero point (optional). (x - zero point) scale in f32, as `to` or as the scale's type.
Results dequantize(Builder &b, Values in, const Attributes &a) {
  int64_t axis = quantisedAxis(b, in[0], a), block = a.getInt("block_size");
  Type numbers = elementTypeOf(in[0]);
  bool isQuantised = isMinifloat(numbers) || (isa<IntegerType>(numbers) && bitWidth(numbers) <= 32);
  if (axis < 0 || !checkQuantised(b, in[0], optionalInput(in, 2), isQuantised && !numbers.isInteger(1),
                                  "integers of at most 32 bits or small floats"))
    return {};
  Shape shape = shapeOf(in[0]);
  SmallVector<Value> inputs{in[0], spreadParameter(b, in[1], axis, block, shape)};
  if (Value zeroPoint = optionalInput(in, 2))
    inputs.push_back(spreadParameter(b, zeroPoint, axis, block, shape));
  if (llvm::is_contained(inputs, Value()))
    return {};
  Type type = a.getType("to", elementTypeOf(in[1]));
  return {b.mapBroadcast(inputs, type, [&](OpBuilder &builder, Location loc, ValueRange v) {
    auto single = [&](size_t i) {
      return Scalar(builder, loc, convert(builder, loc, v[i], elementTypeOf(inputs[i]), b.f32()));
    };
    Scalar whole = inputs.size() == 3 ? single(0) - single(2) : single(0);
    return convert(builder, loc, (whole * single(1)).value, b.f32(), type);
  })};
}

/// Results: x as ui8, scale, zero point, from the range of x with 0. The scale of zeros is 1 / 255.
Results dynamic_quantize(Builder &b, Values in, const Attributes &) {
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(in[0])));
  Value low = b.reduce(ReductionKind::Min, in[0], all, false), high = b.reduce(ReductionKind::Max, in[0], all, false);
  Value scale = pointwise(b, {low, high}, [](ArrayRef<Scalar> v) {
    Scalar range = graph::max(v[1], 0) - graph::min(v[0], 0);
    return select(graph::equal(range, 0), range.constant(1), range) / 255;
  });
  Type type = b.operations.getIntegerType(8, false);
  Value zeroPoint = pointwise(b, {low, scale}, [](ArrayRef<Scalar> v) {
    return roundEven(graph::min(graph::max(-graph::min(v[0], 0) / v[1], 0), 255));
  });
  zeroPoint = zeroPoint ? b.cast(zeroPoint, type) : zeroPoint;
  return {quantised(b, in[0], scale, zeroPoint, type, b.f32()), scale, zeroPoint};
}
} // namespace composites

//===----------------------------------------------------------------------===//
// Products of quantised tensors
//===----------------------------------------------------------------------===//

/// x - zero point: i16 for 8-bit integers, x itself without a zero point, f32 for minifloats.
static Value centred(Builder &b, Value x, Value zeroPoint) {
  if (!x)
    return {};
  bool isFloat = isMinifloat(elementTypeOf(x));
  if (!isFloat && (!zeroPoint || constantNumber(zeroPoint) == 0.0))
    return x;
  Type wide = isFloat ? b.f32() : b.operations.getI16Type();
  if (!zeroPoint)
    return b.cast(x, wide);
  return b.mapBroadcast({x, zeroPoint}, wide, [&](OpBuilder &builder, Location loc, ValueRange v) {
    auto widened = [&](size_t i, Value tensor) {
      return Scalar(builder, loc, convert(builder, loc, v[i], elementTypeOf(tensor), wide));
    };
    return (widened(0, x) - widened(1, zeroPoint)).value;
  });
}

static Type accumulatorType(Builder &b, Value x) {
  return isMinifloat(elementTypeOf(x)) ? b.f32() : b.operations.getI32Type();
}

/// Rescales the accumulator: saturate(round(accumulator * factor) + zero point).
static Value requantised(Builder &b, Value accumulator, Value factor, Value zeroPoint) {
  if (!accumulator || !factor || !zeroPoint)
    return {};
  SmallVector<Value> inputs{accumulator, factor, zeroPoint};
  Type type = elementTypeOf(zeroPoint);
  return b.mapBroadcast(inputs, type, [&](OpBuilder &builder, Location loc, ValueRange v) {
    auto single = [&](size_t i) {
      return Scalar(builder, loc, convert(builder, loc, v[i], elementTypeOf(inputs[i]), b.f32()));
    };
    return saturated(single(0) * single(1), single(2), type, {});
  });
}

/// x scale * filter scale / result scale, each rounded to the type of the scales.
static Value factorOf(Builder &b, Value left, Value right, Value result) {
  return left && right && result ? graph::div(b, graph::mul(b, left, right), result) : Value();
}

/// Checks that both operands of a product have 8 bits: integers or, where allowed, small floats.
static bool checkOperands(Builder &b, Values in, bool allowsFloats) {
  for (size_t operand : {0, 1}) {
    Type type = elementTypeOf(in[operand]);
    bool isAllowed = isMinifloat(type) ? allowsFloats : isa<IntegerType>(type) && bitWidth(type) == 8;
    if (!checkQuantised(b, in[operand], optionalInput(in, operand + 2), isAllowed, "integers of 8 bits"))
      return false;
  }
  return true;
}

/// in: a, b, a zero point (per row), b zero point (per column).
static Value quantisedMatmul(Builder &b, Values in) {
  int64_t lhsRank = rankOf(in[0]), rhsRank = rankOf(in[1]);
  Value lhsZero = spreadParameter(b, optionalInput(in, 2), std::max<int64_t>(lhsRank - 2, 0), 0, shapeOf(in[0]));
  Value rhsZero = spreadParameter(b, optionalInput(in, 3), rhsRank - 1, 0, shapeOf(in[1]));
  return b.matmul(centred(b, in[0], lhsZero), centred(b, in[1], rhsZero), accumulatorType(b, in[0]));
}

namespace composites {
/// in: a, b, a zero point (per row), b zero point (per column), as i32. Operands and zero points are 8-bit integers.
Results matmul_integer(Builder &b, Values in, const Attributes &) {
  return checkOperands(b, in, /*allowsFloats=*/false) ? Results{quantisedMatmul(b, in)} : Results();
}

/// in: x, filter, x zero point, filter zero point (per output channel); attributes as conv; i32.
Results conv_integer(Builder &b, Values in, const Attributes &a) {
  if (!checkOperands(b, in, /*allowsFloats=*/false))
    return {};
  Value filterZero = spreadParameter(b, optionalInput(in, 3), 0, 0, shapeOf(in[1]));
  Value inputZero = spreadParameter(b, optionalInput(in, 2), 0, 0, shapeOf(in[0]));
  Value x = centred(b, in[0], inputZero), filter = centred(b, in[1], filterZero);
  NamedAttrList list(a.all());
  list.set("accumulator", TypeAttr::get(accumulatorType(b, in[0])));
  return x && filter ? applyComposite(b, "conv", {x, filter}, Attributes(list.getDictionary(b.context()))) : Results();
}

/// in: a, a scale, a zero, b, b scale, b zero, y scale, y zero.
Results qlinear_matmul(Builder &b, Values in, const Attributes &) {
  SmallVector<Value> product{in[0], in[3], in[2], in[5]};
  Value accumulator = checkOperands(b, product, /*allowsFloats=*/true) ? quantisedMatmul(b, product) : Value();
  if (!accumulator)
    return {};
  Shape shape = shapeOf(accumulator);
  int64_t rank = shape.size();
  Value factor = factorOf(b, spreadParameter(b, in[1], std::max<int64_t>(rank - 2, 0), 0, shape),
                          spreadParameter(b, in[4], rank - 1, 0, shape), spreadParameter(b, in[6], 0, 0, shape));
  return {requantised(b, accumulator, factor, spreadParameter(b, in[7], 0, 0, shape))};
}

/// in: x, x scale, x zero, filter, filter scale, filter zero, y scale, y zero, bias (i32, optional).
Results qlinear_conv(Builder &b, Values in, const Attributes &a) {
  Results product = conv_integer(b, {in[0], in[3], in[2], in[5]}, a);
  if (product.empty() || !product[0])
    return {};
  Value accumulator = product[0];
  Shape shape = shapeOf(accumulator);
  Value bias = optionalInput(in, 8);
  if (bias && elementTypeOf(bias) != elementTypeOf(accumulator))
    return {b.fail("expected a bias of type " + nameOf(elementTypeOf(accumulator)) + ", got " +
                   nameOf(elementTypeOf(bias)) +
                   "\nhint: it counts in steps of x_scale * w_scale; divide, round and cast it")};
  if (bias)
    accumulator = graph::add(b, accumulator, alongAxis(b, bias, 1, shape));
  Value factor = factorOf(b, spreadParameter(b, in[1], 1, 0, shape), spreadParameter(b, in[4], 1, 0, shape),
                          spreadParameter(b, in[6], 1, 0, shape));
  return {requantised(b, accumulator, factor, spreadParameter(b, in[7], 1, 0, shape))};
}
} // namespace composites
} // namespace perpend::graph
