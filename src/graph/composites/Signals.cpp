//===- Signals.cpp - Fourier transforms and windows -----------------------===//
//
// Transforms are calls of fourier.transform (runtime/library), in f32 or f64.
// Sources: ONNX DFT-20, STFT-17, HannWindow-17, HammingWindow-17,
// BlackmanWindow-17, MelWeightMatrix-17.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"
#include "graph/gradients/LinearCalls.h"

#include <numbers>

using namespace mlir;

namespace perpend::graph {
namespace {
struct Transform {
  int64_t axis;
  /// Number of outputs, the period (possibly longer), and 1 (the real part) or 2 parts of each.
  SymbolicInt period, outputs;
  int64_t parts;
  bool isInverse;
  /// Which side is half a spectrum that stands for a whole one (`half` of fourier.transform).
  enum Half { None, OfInput, OfOutput } half;
  /// The dimension before the axis is transformed as well.
  bool isPlane;
};
} // namespace

static DictionaryAttr transformParameters(Builder &b, bool isInverse, bool isScaled, Transform::Half half) {
  auto named = [&](StringRef name, int64_t value) {
    return b.operations.getNamedAttr(name, b.operations.getI64IntegerAttr(value));
  };
  SmallVector<NamedAttribute> parameters{named("inverse", isInverse), named("scaled", isScaled)};
  if (half != Transform::None)
    parameters.push_back(named("half", half));
  return b.operations.getDictionaryAttr(parameters);
}

/// [.., 1 or 2] of f32 or f64. Elements beyond the period are dropped, missing ones are 0.
static Value fourier(Builder &b, Value x, const Transform &transform) {
  Shape shape = shapeOf(x);
  ArrayRef<SymbolicInt> around = ArrayRef(shape).drop_back();
  const int64_t first = transform.axis - (transform.isPlane ? 1 : 0);
  Shape lines{elementCount(around.take_front(first))};
  llvm::append_range(lines, around.slice(first, transform.axis + 1 - first));
  lines.push_back(elementCount(around.drop_front(transform.axis + 1)));
  lines.push_back(shape.back());
  Shape spectra = lines;
  spectra[spectra.size() - 3] = transform.outputs;
  spectra.back() = SymbolicInt(transform.parts);
  bool isInverse = transform.isInverse;
  Transform::Half transposed = transform.half == Transform::OfInput ? Transform::OfOutput : Transform::None;
  Value result = callLinear(b, "fourier.transform", {b.reshape(x, lines), b.dims(transform.period)},
                            {spectra, elementTypeOf(x)}, transformParameters(b, isInverse, isInverse, transform.half),
                            transformParameters(b, !isInverse, isInverse, transposed));
  shape[transform.axis] = transform.outputs;
  shape.back() = SymbolicInt(transform.parts);
  return b.reshape(result, shape);
}

/// The transform of x [.., parts] along a known axis; inverse, onesided and plane as in dft.
static Value transformAlong(Builder &b, Value x, int64_t axis, const Attributes &a) {
  Type type = elementTypeOf(x);
  bool isInverse = a.getInt("inverse"), isHalf = a.getInt("onesided"), isReal = isInverse && isHalf;
  SymbolicInt extent = shapeOf(x)[axis], period = isReal ? (extent - 1) * 2 : extent;
  if (std::optional<Shape> length = a.getDims("length"); length && length->size() == 1)
    period = length->front();
  SymbolicInt half = floorDiv(period, SymbolicInt(2)) + 1;
  x = b.cast(x, type.isF64() ? type : b.f32());
  if (!x)
    return {};
  Transform transform{axis,
                      period,
                      isHalf && !isInverse ? half : period,
                      isReal ? 1 : 2,
                      isInverse,
                      isReal ? Transform::OfInput : Transform::None,
                      a.getInt("plane") != 0};
  Value result = fourier(b, x, transform);
  return result ? b.cast(result, type) : result;
}

/// The numbers of elements before, along and after an axis that is known only at run time: [3].
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

/// As transformAlong, of x as [before, axis, after, parts].
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
/// in: x [.., 1] or [.., 2] (real and imaginary), an axis (optional, if known only at run time). Attributes: axis,
/// inverse, onesided, `length` (one extent). Inverse and onesided: the spectrum is the first half of that of real
/// values, which are the result. `plane`: the dimension before the axis, which is not the first, is transformed as
/// well.
Results dft(Builder &b, Values in, const Attributes &a) {
  int64_t rank = rankOf(in[0]), axis = normalAxis(b, a.getInt("axis", -2), rank);
  std::optional<int64_t> parts = rank ? shapeOf(in[0]).back().constant() : std::nullopt;
  if (axis < 0)
    return {};
  if (rank < 2 || axis == rank - 1 || (parts && *parts != 1 && *parts != 2))
    return {b.contradict("dft: expected a tensor [.., 1] or [.., 2] and another axis, got shape " +
                         toString(shapeOf(in[0])))};
  for (const SymbolicInt &difference : {shapeOf(in[0]).back() - 1, SymbolicInt(2) - shapeOf(in[0]).back()})
    b.require(difference, "dft: the last dimension is neither 1 nor 2");
  if (Value measuredAxis = optionalInput(in, 1))
    return {transformMeasured(b, in[0], measuredAxis, a)};
  return {transformAlong(b, in[0], axis, a)};
}

/// in: a signal [n, x] or [n, x, 1 or 2], a window (optional). Attributes: `step`, `length` (one extent each),
/// onesided.
Results stft(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> step = a.getDims("step"), length = a.getDims("length");
  Value signal = rankOf(in[0]) == 2 ? b.unsqueeze(in[0], 2) : in[0], window = optionalInput(in, 1);
  Shape shape = shapeOf(signal);
  if (window && !length)
    length = shapeOf(window);
  if (!step || step->size() != 1 || !length || length->size() != 1 || shape.size() != 3)
    return {b.contradict("stft: expected a signal [n, x] or [n, x, 1 or 2], a step and a length, got shape " +
                         toString(shape))};
  SymbolicInt size = window ? shapeOf(window)[0] : length->front(), stride = step->front();
  for (const SymbolicInt &difference : {size - length->front(), length->front() - size})
    b.require(difference, "stft: the window is not of the frame's length");
  b.require(stride - SymbolicInt(1), "stft: the step is 0");
  SymbolicInt frames = floorDiv(shape[1] - size, stride) + 1;
  Value framed = b.generate(signal, {shape[0], frames, size, shape[2]}, elementTypeOf(signal),
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

/// in: the number of mel bins, the length of the transform, the sample rate, the lowest and the highest frequency, one
/// element each. Attribute: `to`. Result: [length / 2 + 1, bins]: a triangle for each bin, whose corners are rounded
/// down to elements of the spectrum.
Results mel_weight_matrix(Builder &b, Values in, const Attributes &a) {
  Type f64 = b.operations.getF64Type(), type = a.getType("to", b.f32());
  SymbolicInt bins = b.measure(in[0], "bins"), length = b.measure(in[1], "length");
  SmallVector<Value> numbers;
  for (Value input : in)
    numbers.push_back(b.cast(b.reshape(input, {}), f64));
  if (bins.isPoison() || length.isPoison() || b.hasFailed())
    return {};
  constexpr double melFactor = 2595 / std::numbers::ln10;
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    auto entry = [&](size_t i) { return Scalar(builder, loc, load(builder, loc, tensors[i], {})); };
    auto mel = [](Scalar hertz) { return melFactor * log1p(hertz / 700); };
    Scalar row = Scalar(builder, loc, index[0]).to(f64), bin = Scalar(builder, loc, index[1]).to(f64);
    Scalar low = mel(entry(3)), step = (mel(entry(4)) - low) / (entry(0) + 2);
    auto corner = [&](double offset) {
      Scalar hertz = 700.0 * (exp(((bin + offset) * step + low) / melFactor) - 1);
      return floor((entry(1) + 1) * hertz / entry(2));
    };
    Scalar left = corner(0), centre = corner(1), right = corner(2), none = row.constant(0);
    Scalar rises = (row >= left) & (row <= centre), falls = (row >= centre) & (row < right);
    Scalar rising = select(equal(left, centre), none + 1, (row - left) / max(centre - left, 1));
    return select(falls, (right - row) / max(right - centre, 1), select(rises, rising, none)).value;
  };
  return {b.cast(b.generate(numbers, {floorDiv(length, SymbolicInt(2)) + 1, bins}, f64, body), type)};
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
