//===- Quantisation.cpp - conversions to and from quantised integers ------===//
//
// The definitions of ONNX, in f32 and i32: round half to even, then saturate.
// Products of quantised tensors accumulate in i32, so their results are exact.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

/// Scales and zero points: one for the tensor, or a vector along an axis.
static Value spreadParameter(Builder &b, Value parameter, int64_t axis, ArrayRef<SymbolicInt> shape) {
  if (!parameter || rankOf(parameter) == 0)
    return parameter;
  if (shapeOf(parameter)[0] == SymbolicInt(1))
    return b.reshape(parameter, {});
  return alongAxis(b, parameter, axis, shape);
}

static std::pair<double, double> limits(IntegerType type) {
  unsigned width = type.getWidth();
  double span = std::ldexp(1.0, static_cast<int>(width));
  return type.isUnsigned() ? std::pair(0.0, span - 1) : std::pair(-span / 2, span / 2 - 1);
}

/// saturate(round(x / scale) + zero point)
static Value quantised(Builder &b, Value x, Value scale, Value zeroPoint, Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() > 16)
    return b.fail("quantize: expected 8 or 16 bit integers");
  auto [low, high] = limits(integer);
  Value shift = zeroPoint ? b.cast(zeroPoint, b.f32()) : b.scalar(0, b.f32());
  Value rounded =
      pointwise(b, {b.cast(x, b.f32()), b.cast(scale, b.f32()), shift}, [low = low, high = high](ArrayRef<Scalar> v) {
        return min(max(roundEven(v[0] / v[1]) + v[2], low), high);
      });
  return rounded ? b.cast(rounded, type) : rounded;
}

/// x - zero point, as i32.
static Value centred(Builder &b, Value x, Value zeroPoint) {
  Value wide = b.cast(x, b.operations.getI32Type());
  return zeroPoint ? sub(b, wide, b.cast(zeroPoint, b.operations.getI32Type())) : wide;
}

static int64_t quantisedAxis(Builder &b, Value x, const Attributes &a, int64_t otherwise) {
  int64_t rank = rankOf(x), axis = a.getInt("axis", otherwise);
  return rank == 0 ? 0 : normalAxis(b, axis >= rank && !a.has("axis") ? 0 : axis, rank);
}

namespace composites {
/// in: x, scale, zero point (optional: its type is the result's, else `to`, else ui8).
Results quantize(Builder &b, Values in, const Attributes &a) {
  Value zeroPoint = optionalInput(in, 2);
  int64_t axis = quantisedAxis(b, in[0], a, 1);
  if (a.getInt("block_size"))
    return {b.fail("quantize: blocked quantisation is not supported")};
  if (axis < 0)
    return {};
  Type type = zeroPoint ? elementTypeOf(zeroPoint) : a.getType("to", b.operations.getIntegerType(8, false));
  Shape shape = shapeOf(in[0]);
  return {
      quantised(b, in[0], spreadParameter(b, in[1], axis, shape), spreadParameter(b, zeroPoint, axis, shape), type)};
}

/// in: x, scale, zero point (optional). The result has the scale's type.
Results dequantize(Builder &b, Values in, const Attributes &a) {
  int64_t axis = quantisedAxis(b, in[0], a, 1);
  if (a.getInt("block_size"))
    return {b.fail("dequantize: blocked quantisation is not supported")};
  if (axis < 0)
    return {};
  Shape shape = shapeOf(in[0]);
  Value scale = spreadParameter(b, in[1], axis, shape);
  Value whole = centred(b, in[0], spreadParameter(b, optionalInput(in, 2), axis, shape));
  return {whole && scale ? graph::mul(b, b.cast(whole, elementTypeOf(scale)), scale) : Value()};
}

/// Results: x as ui8, scale, zero point, from the range of x with 0.
Results dynamic_quantize(Builder &b, Values in, const Attributes &) {
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(in[0])));
  Value low = b.reduce(ReductionKind::Min, in[0], all, false), high = b.reduce(ReductionKind::Max, in[0], all, false);
  Value scale =
      pointwise(b, {low, high}, [](ArrayRef<Scalar> v) { return (graph::max(v[1], 0) - graph::min(v[0], 0)) / 255; });
  Value zeroPoint = pointwise(b, {low, scale}, [](ArrayRef<Scalar> v) {
    Scalar position = graph::roundEven(-graph::min(v[0], 0) / v[1]);
    return select(graph::equal(v[1], 0), v[1].constant(0), graph::min(graph::max(position, 0), 255));
  });
  Type type = b.operations.getIntegerType(8, false);
  zeroPoint = zeroPoint ? b.cast(zeroPoint, type) : zeroPoint;
  return {quantised(b, in[0], scale, zeroPoint, type), scale, zeroPoint};
}

/// in: a, b, a zero point, b zero point (per column), as i32.
Results matmul_integer(Builder &b, Values in, const Attributes &) {
  int64_t lhsRank = rankOf(in[0]), rhsRank = rankOf(in[1]);
  Value lhsZero = optionalInput(in, 2), rhsZero = optionalInput(in, 3);
  if (lhsZero && rankOf(lhsZero) == 1) // per row
    lhsZero = spreadParameter(b, lhsZero, std::max<int64_t>(lhsRank - 2, 0), shapeOf(in[0]));
  if (rhsZero && rankOf(rhsZero) == 1)
    rhsZero = spreadParameter(b, rhsZero, rhsRank - 1, shapeOf(in[1]));
  return {b.matmul(centred(b, in[0], lhsZero), centred(b, in[1], rhsZero))};
}

/// in: x, filter, x zero point, filter zero point (per output channel); attributes as conv; i32.
Results conv_integer(Builder &b, Values in, const Attributes &a) {
  Value filterZero = spreadParameter(b, optionalInput(in, 3), 0, shapeOf(in[1]));
  Value inputZero = spreadParameter(b, optionalInput(in, 2), 0, {});
  return applyComposite(b, "conv", {centred(b, in[0], inputZero), centred(b, in[1], filterZero)}, a);
}

/// The i32 accumulator to the result's scale: saturate(round(acc * s / result scale) + zero point).
static Value requantised(Builder &b, Value accumulator, Value scale, Value resultScale, Value zeroPoint) {
  if (!accumulator || !scale || !resultScale || !zeroPoint)
    return {};
  Value factor = graph::div(b, scale, resultScale);
  auto [low, high] = limits(cast<IntegerType>(elementTypeOf(zeroPoint)));
  Value real = pointwise(b, {b.cast(accumulator, b.f32()), factor, b.cast(zeroPoint, b.f32())},
                         [low = low, high = high](ArrayRef<Scalar> v) {
                           return graph::min(graph::max(roundEven(v[0] * v[1]) + v[2], low), high);
                         });
  return real ? b.cast(real, elementTypeOf(zeroPoint)) : real;
}

/// in: a, a scale, a zero, b, b scale, b zero, y scale, y zero.
Results qlinear_matmul(Builder &b, Values in, const Attributes &a) {
  Value accumulator = matmul_integer(b, {in[0], in[3], in[2], in[5]}, a)[0];
  if (!accumulator)
    return {};
  Shape shape = shapeOf(accumulator);
  Value lhsScale = spreadParameter(b, in[1], std::max<int64_t>(static_cast<int64_t>(shape.size()) - 2, 0), shape);
  Value rhsScale = spreadParameter(b, in[4], static_cast<int64_t>(shape.size()) - 1, shape);
  return {requantised(b, accumulator, graph::mul(b, lhsScale, rhsScale), spreadParameter(b, in[6], 0, shape),
                      spreadParameter(b, in[7], 0, shape))};
}

/// in: x, x scale, x zero, filter, filter scale, filter zero, y scale, y zero, bias (i32, optional).
Results qlinear_conv(Builder &b, Values in, const Attributes &a) {
  Value accumulator = conv_integer(b, {in[0], in[3], in[2], in[5]}, a)[0];
  if (!accumulator)
    return {};
  Shape shape = shapeOf(accumulator);
  if (Value bias = optionalInput(in, 8))
    accumulator = graph::add(b, accumulator, alongAxis(b, bias, 1, shape));
  Value scale = graph::mul(b, spreadParameter(b, in[1], 1, shape), spreadParameter(b, in[4], 1, shape));
  return {requantised(b, accumulator, scale, spreadParameter(b, in[6], 0, shape), spreadParameter(b, in[7], 0, shape))};
}
} // namespace composites
} // namespace perpend::graph
