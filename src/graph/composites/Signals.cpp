//===- Signals.cpp - Fourier transforms and windows -----------------------===//
//
// Transforms are products with matrices of cosines and sines, in f64: what
// cancels must leave less than single precision shows. Sources: ONNX DFT-20,
// STFT-17, HannWindow-17, HammingWindow-17, BlackmanWindow-17, MelWeightMatrix-17.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

#include <numbers>

using namespace mlir;

namespace perpend::graph {
namespace {
enum class Wave { Cosine, Sine };
struct Transform {
  int64_t axis;
  /// Elements that go in, of a period that may be longer, and that come out.
  SymbolicInt inputs, period, outputs;
  bool isInverse;
};
} // namespace

/// wave(2 pi j k / period), [j, k]
static Value waves(Builder &b, const Transform &transform, Wave wave) {
  Type f64 = b.operations.getF64Type();
  return b.generate({}, {transform.inputs, transform.outputs}, f64,
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
                      Scalar j(builder, loc, index[0]), k(builder, loc, index[1]);
                      Scalar period = j.with(extent(builder, loc, transform.period));
                      Scalar phase = (j * k % period).to(f64) * (2 * std::numbers::pi) / period.to(f64);
                      Value value = wave == Wave::Cosine ? builder.create<math::CosOp>(loc, phase.value).getResult()
                                                         : builder.create<math::SinOp>(loc, phase.value).getResult();
                      return value;
                    });
}

/// The sum over `axis` of x and a matrix [axis, new axis]; null stays null.
static Value transformed(Builder &b, Value x, Value matrix, int64_t axis) {
  if (!x || !matrix)
    return {};
  Value product = b.contract(x, matrix, {}, {}, {axis}, {0}, b.operations.getF64Type());
  if (!product)
    return {};
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x) - 1));
  permutation.insert(permutation.begin() + axis, rankOf(x) - 1);
  return b.transpose(product, permutation);
}

static Value part(Builder &b, Value x, int64_t position) {
  int64_t last = rankOf(x) - 1;
  Value slice = sliceAxis(b, x, last, SymbolicInt(position), SymbolicInt(1));
  return slice ? b.squeeze(slice, last) : slice;
}

/// [.., 1 or 2] of f64 to the real and imaginary parts of its transform.
static std::pair<Value, Value> fourier(Builder &b, Value real, Value imaginary, const Transform &transform) {
  Value cosines = waves(b, transform, Wave::Cosine), sines = waves(b, transform, Wave::Sine);
  auto times = [&](Value x, Value matrix) { return transformed(b, x, matrix, transform.axis); };
  auto negated = [&](Value x) { return x ? applyComposite(b, "neg", x)[0] : x; };
  Value straight = times(real, cosines), crossed = times(real, sines);
  if (!transform.isInverse)
    crossed = negated(crossed);
  if (!imaginary)
    return {straight, crossed};
  Value turned = times(imaginary, sines);
  if (transform.isInverse)
    turned = negated(turned);
  return {add(b, straight, turned), add(b, crossed, times(imaginary, cosines))};
}

/// Cut or filled with zeros to `length` along an axis.
static Value fitted(Builder &b, Value x, int64_t axis, const SymbolicInt &length) {
  if (!x || shapeOf(x)[axis] == length)
    return x;
  SymbolicInt extent = shapeOf(x)[axis];
  if (compareLess(length, extent) == true)
    return sliceAxis(b, x, axis, SymbolicInt(0), length);
  Shape low(rankOf(x), SymbolicInt(0)), high = low;
  high[axis] = max(length - extent, SymbolicInt(0));
  return sliceAxis(b, padTensor(b, x, low, high, "constant"), axis, SymbolicInt(0), length);
}

/// The other half of a spectrum of real values: element k is the conjugate of element length - k.
static Value mirrored(Builder &b, Value half, int64_t axis, const SymbolicInt &length, bool isImaginary) {
  if (!half)
    return {};
  Shape shape = shapeOf(half);
  SymbolicInt count = shape[axis];
  shape[axis] = length;
  return b.generate(half, shape, elementTypeOf(half),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
                      Scalar k(builder, loc, index[axis]);
                      Scalar stored = k.with(extent(builder, loc, count)), whole = k.with(extent(builder, loc, length));
                      Scalar isStored = k < stored;
                      SmallVector<Value> source(index);
                      source[axis] = select(isStored, k, max(min(whole - k, stored - 1), 0)).value;
                      Scalar value(builder, loc, load(builder, loc, in[0], source));
                      return isImaginary ? select(isStored, value, -value).value : value.value;
                    });
}

/// The transform of x [.., parts] along a known axis; inverse and onesided as in dft.
static Value transformAlong(Builder &b, Value x, int64_t axis, const Attributes &a) {
  int64_t rank = rankOf(x);
  Type type = elementTypeOf(x);
  bool isInverse = a.getInt("inverse"), isHalf = a.getInt("onesided");
  SymbolicInt extent = shapeOf(x)[axis], period = isInverse && isHalf ? (extent - 1) * 2 : extent;
  if (std::optional<Shape> length = a.getDims("length"); length && length->size() == 1)
    period = length->front();
  SymbolicInt half = floorDiv(period, SymbolicInt(2)) + 1;
  x = fitted(b, b.cast(x, b.operations.getF64Type()), axis, isInverse && isHalf ? half : period);
  Value real = part(b, x, 0), imaginary = shapeOf(x).back() == SymbolicInt(2) ? part(b, x, 1) : Value();
  if (isInverse && isHalf) {
    real = mirrored(b, real, axis, period, false);
    imaginary = mirrored(b, imaginary, axis, period, true);
  }
  Transform transform{axis, period, period, isHalf && !isInverse ? half : period, isInverse};
  auto [first, second] = fourier(b, real, imaginary, transform);
  if (!first || !second)
    return {};
  Value result = b.unsqueeze(first, rank - 1);
  if (!(isInverse && isHalf))
    result = b.concat({result, b.unsqueeze(second, rank - 1)}, rank - 1);
  if (result && isInverse)
    result = div(b, result, number(b, period, elementTypeOf(result)));
  return result ? b.cast(result, type) : result;
}

/// How many elements lie before, along and behind an axis that is known only at run time: [3].
static Value extentsAround(Builder &b, ArrayRef<SymbolicInt> shape, Value axis) {
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar place = Scalar(builder, loc, index[0]).to(builder.getI64Type()), product = place.constant(1);
    Scalar dim(builder, loc, load(builder, loc, tensors[0], {}));
    for (auto [other, size] : llvm::enumerate(shape)) {
      Scalar number = place.constant(static_cast<double>(other)), zero = place.constant(0);
      Scalar where = select(number < dim, zero, select(equal(number, dim), zero + 1, zero + 2));
      Scalar count = product.with(extent(builder, loc, size)).to(place.type());
      product = select(equal(where, place), product * count, product);
    }
    return product.value;
  };
  return b.generate(axis, SymbolicInt(3), b.i64(), body);
}

/// As transformAlong, of x as [before, axis, behind, parts].
static Value transformMeasured(Builder &b, Value x, Value axis, const Attributes &a) {
  Shape shape = shapeOf(x);
  auto rank = static_cast<double>(shape.size());
  axis = pointwise(b, b.cast(b.reshape(axis, {}), b.i64()),
                   [&](ArrayRef<Scalar> v) { return select(v[0] < 0, v[0] + rank, v[0]); });
  SymbolicInt dim = b.measure(axis, "axis");
  b.require(SymbolicInt(static_cast<int64_t>(shape.size()) - 2) - dim, "dft: the axis is out of range");
  std::optional<Shape> around = b.sizes(extentsAround(b, ArrayRef(shape).drop_back(), axis), "around");
  if (!around)
    return {};
  around->push_back(shape.back());
  Value result = transformAlong(b, b.reshape(x, *around), 1, a);
  if (!result)
    return {};
  shape.back() = shapeOf(result).back();
  Value extents = spreadOverAxes(b, b.unsqueeze(axis, 0), b.dims(shapeOf(result)[1]), b.dims(shape));
  std::optional<Shape> wanted = b.sizes(extents, "spectrum");
  if (!wanted)
    return {};
  wanted->back() = shape.back();
  return b.reshape(result, *wanted);
}

namespace composites {
/// in: x [.., 1] or [.., 2] (real and imaginary), an axis (optional, when it is known only at run time). Attributes:
/// axis, inverse, onesided, `length` (one extent). Inverse and onesided: the spectrum is the first half of one of real
/// values, which come out.
Results dft(Builder &b, Values in, const Attributes &a) {
  int64_t rank = rankOf(in[0]), axis = normalAxis(b, a.getInt("axis", -2), rank);
  std::optional<int64_t> parts = rank ? shapeOf(in[0]).back().constant() : std::nullopt;
  if (axis < 0)
    return {};
  if (axis == rank - 1 || !parts || (*parts != 1 && *parts != 2))
    return {
        b.fail("dft: expected a tensor [.., 1] or [.., 2] and another axis, got shape " + toString(shapeOf(in[0])))};
  if (Value measuredAxis = optionalInput(in, 1))
    return {transformMeasured(b, in[0], measuredAxis, a)};
  return {transformAlong(b, in[0], axis, a)};
}

/// in: a signal [n, x, 1 or 2], a window (optional). Attributes: `step`, `length` (one extent each), onesided.
Results stft(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> step = a.getDims("step"), length = a.getDims("length");
  Shape shape = shapeOf(in[0]);
  Value window = optionalInput(in, 1);
  if (window && !length)
    length = shapeOf(window);
  if (!step || step->size() != 1 || !length || length->size() != 1 || shape.size() != 3)
    return {b.fail("stft: expected a signal [n, x, 1 or 2], a step and a length, got shape " + toString(shape))};
  SymbolicInt size = window ? shapeOf(window)[0] : length->front(), stride = step->front();
  for (const SymbolicInt &difference : {size - length->front(), length->front() - size})
    b.require(difference, "stft: the window is not of the frame's length");
  b.require(stride - SymbolicInt(1), "stft: the step is 0");
  SymbolicInt frames = floorDiv(shape[1] - size, stride) + 1;
  Value framed = b.generate(in[0], {shape[0], frames, size, shape[2]}, elementTypeOf(in[0]),
                            [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                              Scalar frame(builder, loc, index[1]);
                              Scalar at = frame * frame.with(extent(builder, loc, stride)) + frame.with(index[2]);
                              return load(builder, loc, tensors[0], {index[0], at.value, index[3]});
                            });
  if (framed && window)
    framed = mul(b, framed, b.unsqueeze(b.cast(window, elementTypeOf(framed)), 1));
  if (!framed)
    return {};
  NamedAttribute axis = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(2));
  NamedAttribute half = b.operations.getNamedAttr("onesided", b.operations.getI64IntegerAttr(a.getInt("onesided", 1)));
  return dft(b, framed, Attributes(b.context(), {axis, half}));
}

/// Attributes: `size` (one extent), coefficients a0, a1, a2 of a0 - a1 cos(t) + a2 cos(2 t), periodic, `to`.
Results cosine_window(Builder &b, Values, const Attributes &a) {
  std::optional<Shape> size = a.getDims("size");
  SmallVector<double> weights = a.getFloats("coefficients");
  if (!size || size->size() != 1 || weights.size() != 3)
    return {b.fail("cosine_window: expected one size and three coefficients")};
  Type f64 = b.operations.getF64Type(), type = a.getType("to", b.f32());
  SymbolicInt period = a.getInt("periodic", 1) ? size->front() : max(size->front() - 1, SymbolicInt(1));
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
    Scalar position = Scalar(builder, loc, index[0]).to(f64);
    Scalar whole = Scalar(builder, loc, extent(builder, loc, period)).to(f64);
    Scalar phase = position * (2 * std::numbers::pi) / whole;
    Scalar once = phase.call<math::CosOp>(phase.value), twice = phase.call<math::CosOp>((phase * 2).value);
    return (weights[0] - weights[1] * once + weights[2] * twice).value;
  };
  return {b.cast(b.generate({}, *size, f64, body), type)};
}
} // namespace composites
} // namespace perpend::graph
