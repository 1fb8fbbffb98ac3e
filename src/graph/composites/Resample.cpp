//===- Resample.cpp - resizing by nearest, linear and cubic interpolation -===//
//
// Interpolation is separable, so the axes are resized one after the other; the results are those of the n-d formulas
// up to rounding. Coordinates have the type of the weights: f64 if elements are f64, otherwise f32. In nearest mode
// and for tf_crop_and_resize, a coordinate decides which element is read, or whether one is. There it is f64, and the
// formulas are written so that rounding changes no decision. Exceptions: nearest mode with a scale that the model
// gives as an f32 number, and PyTorch's ways to compute coordinates, use the type of the weights, as their reference
// implementations do. Source: ONNX Resize-19, PyTorch.
//
// Antialiasing, in linear and cubic mode, stretches the kernel if an axis is shortened, so that every input element
// contributes: the weights of all neighbours form a matrix.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/CubicWeights.h"
#include "graph/composites/Formulas.h"
#include "support/SaturatedInteger.h"

using namespace mlir;

namespace perpend::graph {
namespace {
struct ResizeOptions {
  StringRef mode, coordinates, rounding;
  double cubicCoefficient, extrapolation;
  bool excludeOutside, antialias;
  bool byStep; // positions are multiplied by one over the scale, which is rounded, instead of divided by the scale
};
/// A known number, or the scalar tensor that holds it at run time.
struct Parameter {
  double number = 0;
  Value tensor = {};
  bool isKnown(double value) const { return !tensor && number == value; }
};
/// How many times longer an axis becomes: the number that a model gives, or, where it gives none (0), a ratio of whole
/// numbers.
struct Scale {
  Parameter given;
  SymbolicInt numerator, denominator;

  bool isRatio() const { return given.isKnown(0); }
  bool isKnown(int64_t times) const {
    return isRatio() ? numerator == denominator * times : given.isKnown(static_cast<double>(times));
  }
};
/// One resized axis: output extent, scale, region of interest in [0, 1].
struct ResizedAxis {
  int64_t axis;
  SymbolicInt extent;
  Scale scale;
  Parameter regionStart, regionEnd;
};
} // namespace

/// The parameters of an axis that are tensors, in the order in which AxisSampler captures them.
static SmallVector<Value> capturedParameters(const ResizedAxis &axis) {
  SmallVector<Value> tensors;
  for (const Parameter *parameter : {&axis.scale.given, &axis.regionStart, &axis.regionEnd})
    if (parameter->tensor)
      tensors.push_back(parameter->tensor);
  return tensors;
}

static bool isCrop(const ResizeOptions &options) { return options.coordinates == "tf_crop_and_resize"; }

/// What elements are multiplied and added in.
static Type weightType(Builder &b, Type elementType) { return elementType.isF64() ? elementType : Type(b.f32()); }

/// PyTorch multiplies by one over the scale, in f32 or the type of f64 elements, and rounds to f32: what is the nearest
/// element there follows from that.
static bool isNearestByStep(const ResizeOptions &options) { return options.coordinates.starts_with("pytorch_nearest"); }

/// A coordinate decides which element is the nearest one, and whether it lies outside of a region. A scale that a model
/// gives is an f32 number such as 1.7, of which no quotient is exact: unless elements are f64, the nearest one is that
/// of f32, as in the standard's reference implementation.
static Type coordinateType(Builder &b, Type elementType, const ResizedAxis &axis, const ResizeOptions &options) {
  if (isNearestByStep(options) || options.byStep)
    return weightType(b, elementType);
  if (options.mode == "nearest" && !axis.scale.isRatio() && !isCrop(options) && !elementType.isF64())
    return b.f32();
  return options.mode == "nearest" || isCrop(options) ? b.operations.getF64Type() : weightType(b, elementType);
}

namespace {
/// Computes the source elements of one output position.
class AxisSampler {
public:
  /// `captured`: capturedParameters(axis) inside the body. Coordinates have the type `type`.
  AxisSampler(OpBuilder &builder, Location loc, Value position, Type type, const SymbolicInt &inputExtent,
              const ResizedAxis &axis, const ResizeOptions &options, ValueRange captured)
      : axis(axis), inputExtent(inputExtent), options(options), captured(captured),
        position(Scalar(builder, loc, position).to(type)),
        last(Scalar(builder, loc, extent(builder, loc, inputExtent - SymbolicInt(1)))), input(asFloat(inputExtent)),
        output(asFloat(axis.extent)), givenScale(read(axis.scale.given)), regionStart(read(axis.regionStart)),
        regionEnd(read(axis.regionEnd)) {}

  /// The position in the input, not clamped.
  Scalar coordinate() {
    StringRef mode = options.coordinates;
    if (mode == "asymmetric")
      return overScale(position);
    if (mode == "tf_half_pixel_for_nn")
      return overScale(position + 0.5);
    if (isNearestByStep(options))
      return ((mode == "pytorch_nearest" ? position : position + 0.5) * step()).to(position.emitter().getF32Type());
    if (mode == "align_corners")
      return alignedCoordinate();
    if (isCrop(options))
      return cropCoordinate();
    if (mode == "half_pixel_symmetric") // what is cut off of a length that is no whole number, at both ends alike
      return overScale(position + 0.5 + (length() - output) / 2) - 0.5;
    Scalar centred = (options.byStep ? (position + 0.5) * step() : overScale(position + 0.5)) - 0.5;
    return mode == "pytorch_half_pixel" ? select(output > 1, centred, centred.constant(0)) : centred;
  }

  /// A whole number as an index inside the input.
  Scalar clamped(Scalar whole) { return min(max(whole.to(last.type()), 0), last); }

  Scalar rounded(Scalar x) {
    if (options.rounding == "floor")
      return floor(x);
    if (options.rounding == "ceil")
      return ceil(x);
    return options.rounding == "round_prefer_ceil" ? floor(x + 0.5) : ceil(x - 0.5);
  }

  /// Whether a coordinate lies outside, where the extrapolation value is used.
  Scalar isOutside(Scalar x) { return (x < 0) | (x > input - 1); }
  Scalar isInside(Scalar whole) { return (whole >= 0) & (whole <= input - 1); }

  /// By how much a kernel is shortened for its distances to count in elements of the input: at most 1.
  Scalar kernelScale() { return options.byStep ? 1.0 / max(step(), 1) : min(scale(), 1); }

private:
  Scalar scale() {
    return axis.scale.isRatio() ? asFloat(axis.scale.numerator) / asFloat(axis.scale.denominator) : givenScale;
  }
  Scalar read(const Parameter &parameter) {
    if (!parameter.tensor)
      return position.constant(parameter.number);
    Value element = load(position.emitter(), position.location(), captured.front(), {});
    captured = captured.drop_front();
    return position.with(element).to(position.type());
  }
  Scalar asFloat(const SymbolicInt &value) {
    if (std::optional<int64_t> constant = value.constant())
      return position.constant(static_cast<double>(*constant));
    return position.with(extent(position.emitter(), position.location(), value)).to(position.type());
  }
  /// x / scale, rounded once: exact wherever it is a multiple of 1/2.
  Scalar overScale(Scalar x) {
    if (!axis.scale.isRatio())
      return x / givenScale;
    return x * asFloat(axis.scale.denominator) / asFloat(axis.scale.numerator);
  }
  Scalar step() {
    if (axis.scale.isRatio())
      return asFloat(axis.scale.denominator) / asFloat(axis.scale.numerator);
    return axis.scale.given.tensor ? 1.0 / givenScale : position.constant(1 / axis.scale.given.number);
  }
  /// The output's length before it is rounded to a whole number.
  Scalar length() {
    if (!axis.scale.isRatio())
      return input * givenScale;
    return axis.scale.denominator == inputExtent
               ? asFloat(axis.scale.numerator)
               : input * asFloat(axis.scale.numerator) / asFloat(axis.scale.denominator);
  }
  /// The ends of the output are those of its length, which may be no whole number.
  Scalar alignedCoordinate() {
    bool isPart = axis.scale.isRatio() && axis.scale.denominator != inputExtent;
    Scalar unit = isPart ? asFloat(axis.scale.denominator) : position.constant(1);
    Scalar whole = isPart ? input * asFloat(axis.scale.numerator) : length();
    Scalar steps = select(equal(whole, unit), whole, whole - unit), length = (input - 1) * unit;
    Scalar spread = options.byStep ? position * (length / steps) : position * length / steps;
    return select(equal(whole, unit), position.constant(0), spread);
  }
  Scalar cropCoordinate() {
    Scalar steps = max(output - 1, 1);
    Scalar spread = (regionStart * (steps - position) + regionEnd * position) * (input - 1) / steps;
    return select(output > 1, spread, 0.5 * (regionStart + regionEnd) * (input - 1));
  }

  const ResizedAxis &axis;
  const SymbolicInt inputExtent;
  const ResizeOptions &options;
  ValueRange captured;
  Scalar position, last, input, output, givenScale, regionStart, regionEnd;
};
} // namespace

/// The weight of a neighbour at distance |t| of cubic convolution with coefficient a.
static Scalar cubicWeight(Scalar t, double a) {
  Scalar x = abs(t);
  return select(x <= 1, nearCubicWeight(x, a), farCubicWeight(x, a));
}

using Tap = llvm::function_ref<Scalar(Scalar index)>;

/// Between elements, which have the type `type`, at the coordinate x.
static Scalar interpolateLinear(AxisSampler &sampler, Scalar x, Type type, Tap tap) {
  Scalar before = floor(x), fraction = (x - before).to(type);
  Scalar low = tap(sampler.clamped(before)), high = tap(sampler.clamped(before + 1));
  return low * (1.0 - fraction) + high * fraction;
}

static Scalar interpolateCubic(AxisSampler &sampler, Scalar x, Type type, Tap tap, const ResizeOptions &options) {
  Scalar before = floor(x), zero = x.to(type).constant(0), total = zero, weights = zero;
  for (int offset = -1; offset <= 2; ++offset) {
    Scalar at = before + offset;
    Scalar weight = cubicWeight((x - at).to(type), options.cubicCoefficient);
    if (options.excludeOutside) {
      weight = select(sampler.isInside(at), weight, zero);
      weights = weights + weight;
    }
    total = total + weight * tap(sampler.clamped(at));
  }
  return options.excludeOutside ? total / weights : total;
}

/// An enlargement that repeats each element a whole number of times.
static std::optional<int64_t> repetition(const SymbolicInt &extent, const ResizedAxis &axis, Type elementType,
                                         const ResizeOptions &options) {
  std::optional<SymbolicInt> ratio = exactDiv(axis.extent, extent);
  StringRef coordinates = options.coordinates;
  bool fromStart = (coordinates == "asymmetric" || coordinates == "tf_half_pixel_for_nn" || isNearestByStep(options)) &&
                   options.rounding == "floor";
  bool centred = coordinates.ends_with("half_pixel") && options.rounding.starts_with("round_prefer");
  if (options.mode != "nearest" || !ratio || !ratio->constant() || !(fromStart || centred))
    return std::nullopt;
  const double step = 1 / static_cast<double>(*ratio->constant());
  if (coordinates == "pytorch_nearest" && !elementType.isF64() &&
      static_cast<float>(step) < step) // the first of the elements may be another's
    return std::nullopt;
  return axis.scale.isKnown(*ratio->constant()) ? ratio->constant() : std::nullopt;
}

static Value repeatElements(Builder &b, Value input, int64_t axis, int64_t times) {
  Shape wide = shapeOf(input), merged = wide;
  merged[axis] *= times;
  wide.insert(wide.begin() + axis + 1, SymbolicInt(times));
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim <= rankOf(input); ++dim)
    if (dim != axis + 1)
      dims.push_back(dim);
  return b.reshape(b.broadcast(input, dims, wide), merged);
}

/// How many neighbours a stretched kernel of this reach may have: an even number.
static SymbolicInt neighbourCount(Builder &b, const Scale &scale, int64_t reach) {
  auto whole = static_cast<double>(reach);
  if (scale.given.tensor) {
    auto half = [&](ArrayRef<Scalar> v) { return ceil(whole / min(v[0], 1)).to(v[0].emitter().getI64Type()); };
    return b.measure(pointwise(b, scale.given.tensor, half, b.i64()), "neighbours") * 2;
  }
  if (!scale.isRatio())
    return SymbolicInt(support::saturatedInteger(std::ceil(whole / std::min(scale.given.number, 1.0)))) * 2;
  SymbolicInt numerator = max(scale.numerator, SymbolicInt(1)), stretched = scale.denominator * reach;
  return max(floorDiv(stretched + numerator - SymbolicInt(1), numerator), SymbolicInt(reach)) * 2;
}

static Scalar kernelWeight(Scalar distance, const ResizeOptions &options) {
  if (options.mode == "linear")
    return max(1.0 - abs(distance), 0);
  return select(abs(distance) < 2, cubicWeight(distance, options.cubicCoefficient), distance.constant(0));
}

/// The neighbour of number `number` of a coordinate.
static Scalar neighbourAt(Scalar x, Value number, const SymbolicInt &count) {
  OpBuilder &builder = x.emitter();
  Scalar half = x.with(extent(builder, x.location(), floorDiv(count, SymbolicInt(2)) - SymbolicInt(1)));
  return floor(x) + (x.with(number) - half).to(x.type());
}

/// Whether an element lies in the window of the stretched kernel about x: others, even NaN, do not matter.
static Scalar takesPart(AxisSampler &sampler, Scalar x, Scalar at, const ResizeOptions &options) {
  Scalar reach = (options.mode == "linear" ? 1.0 : 2.0) / sampler.kernelScale(), centre = x + 1;
  Scalar isNear = (at >= floor(centre - reach)) & (at < floor(centre + reach));
  return options.excludeOutside ? isNear & sampler.isInside(at) : isNear;
}

/// [output, neighbour]: weights, in `type`, whose sum over the neighbours is 1.
static Value neighbourWeights(Builder &b, const SymbolicInt &inputExtent, const SymbolicInt &count, Type type,
                              const ResizedAxis &axis, const ResizeOptions &options) {
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    AxisSampler sampler(builder, loc, index[0], coordinateType(b, type, axis, options), inputExtent, axis, options,
                        tensors);
    Scalar x = sampler.coordinate(), at = neighbourAt(x, index[1], count);
    Scalar weight = kernelWeight((at - x) * sampler.kernelScale(), options);
    return select(takesPart(sampler, x, at, options), weight, x.constant(0)).to(type).value;
  };
  Value weights = b.generate(capturedParameters(axis), {axis.extent, count}, type, body);
  return div(b, weights, weights ? sum(b, weights, 1, true) : weights);
}

static Value resampleStretched(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  Shape shape = shapeOf(input);
  SymbolicInt inputExtent = shape[axis.axis];
  SymbolicInt count = neighbourCount(b, axis.scale, options.mode == "linear" ? 1 : 2);
  if (count.isPoison()) {
    b.fail("resize: a kernel that is stretched by one over the scale has too many elements");
    return {};
  }
  Type elementType = elementTypeOf(input), type = weightType(b, elementType);
  SmallVector<Value> inputs{input, neighbourWeights(b, inputExtent, count, type, axis, options)};
  llvm::append_range(inputs, capturedParameters(axis));
  shape[axis.axis] = axis.extent;
  shape.push_back(count);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    AxisSampler sampler(builder, loc, index[axis.axis], coordinateType(b, elementType, axis, options), inputExtent,
                        axis, options, tensors.drop_front(2));
    Scalar x = sampler.coordinate(), at = neighbourAt(x, index.back(), count);
    SmallVector<Value> source(index.drop_back());
    source[axis.axis] = sampler.clamped(at).value;
    Scalar weight(builder, loc, load(builder, loc, tensors[1], {index[axis.axis], index.back()}));
    Scalar value = weight * Scalar(builder, loc, load(builder, loc, tensors[0], source)).to(type);
    if (isCrop(options))
      value = select(sampler.isOutside(x), weight * options.extrapolation, value);
    return select(takesPart(sampler, x, at, options), value, value.constant(-0.0)).value; // which no sum notices
  };
  Value products = b.generate(inputs, shape, type, body);
  return products ? b.cast(sum(b, products, rankOf(input), false), elementType) : products;
}

/// One element of the result: at `index` along the axis of the sampler, from the tensor `input`.
static Scalar resampledElement(AxisSampler &sampler, Builder &b, Value input, int64_t axis, ValueRange index,
                               const ResizeOptions &options) {
  SmallVector<Value> source(index);
  Type elementType = elementTypeOf(input), type = weightType(b, elementType);
  Scalar x = sampler.coordinate();
  auto loadAt = [&](Scalar at) {
    source[axis] = at.value;
    return Scalar(x.emitter(), x.location(), load(x.emitter(), x.location(), input, source), isUnsigned(elementType));
  };
  auto tap = [&](Scalar at) { return loadAt(at).to(type); };
  Scalar value = options.mode == "nearest"  ? loadAt(sampler.clamped(sampler.rounded(x)))
                 : options.mode == "linear" ? interpolateLinear(sampler, x, type, tap)
                                            : interpolateCubic(sampler, x, type, tap, options);
  value = value.to(scalarType(elementType));
  return isCrop(options) ? select(sampler.isOutside(x), value.constant(options.extrapolation), value) : value;
}

static Value resizeAxis(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  if (!input)
    return {};
  Shape shape = shapeOf(input), result = shape;
  SymbolicInt inputExtent = shape[axis.axis];
  if (inputExtent == axis.extent && !isCrop(options) && axis.scale.isKnown(1))
    return input;
  if (std::optional<int64_t> times = repetition(inputExtent, axis, elementTypeOf(input), options))
    return repeatElements(b, input, axis.axis, *times);
  if (options.antialias && options.mode != "nearest")
    return resampleStretched(b, input, axis, options);
  result[axis.axis] = axis.extent;
  SmallVector<Value> inputs{input};
  llvm::append_range(inputs, capturedParameters(axis));
  Type elementType = elementTypeOf(input), type = coordinateType(b, elementType, axis, options);
  return b.generate(
      inputs, result, elementType, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
        AxisSampler sampler(builder, loc, index[axis.axis], type, inputExtent, axis, options, in.drop_front());
        return resampledElement(sampler, b, in[0], axis.axis, index, options).value;
      });
}

/// The options, or nullopt, with an error, when they are not known.
static std::optional<ResizeOptions> optionsOf(Builder &b, const Attributes &a) {
  ResizeOptions options{a.getString("mode", "nearest"),
                        a.getString("coordinate_transformation_mode", "half_pixel"),
                        a.getString("nearest_mode", "round_prefer_floor"),
                        a.getFloat("cubic_coeff_a", -0.75),
                        a.getFloat("extrapolation_value"),
                        a.getInt("exclude_outside") != 0,
                        a.getInt("antialias") != 0,
                        a.getInt("by_step") != 0};
  bool knowsMode = llvm::is_contained({"nearest", "linear", "cubic"}, options.mode);
  bool knowsCoordinates =
      llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                          "tf_half_pixel_for_nn", "tf_crop_and_resize", "pytorch_nearest", "pytorch_nearest_exact"},
                         options.coordinates);
  if (knowsMode && knowsCoordinates)
    return options;
  b.fail("resize: unknown mode '" + options.mode + "' or coordinates '" + options.coordinates + "'");
  return std::nullopt;
}

/// The elements of a run-time vector (optional), or of an attribute; `otherwise` if there are none. nullopt, with an
/// error, if their number is not `count`.
static std::optional<SmallVector<Parameter>> parametersOf(Builder &b, Value vector, ArrayRef<double> numbers,
                                                          ArrayRef<Parameter> otherwise) {
  SmallVector<Parameter> parameters;
  std::optional<SmallVector<Value>> elements = vector ? b.scalars(vector) : SmallVector<Value>();
  if (!elements)
    return std::nullopt;
  for (Value element : *elements) {
    std::optional<double> number = constantNumber(element);
    parameters.push_back(number ? Parameter{*number} : Parameter{0, element});
  }
  if (!vector)
    for (double number : numbers)
      parameters.push_back({number});
  if (parameters.empty())
    return SmallVector<Parameter>(otherwise);
  if (parameters.size() == otherwise.size())
    return parameters;
  b.fail("resize: expected " + Twine(otherwise.size()) + " scales or ends of regions, got " + Twine(parameters.size()));
  return std::nullopt;
}

namespace composites {
/// in: x, scales [rank] and roi [2 rank] (optional; what the attributes of these names are, known at run time).
/// Attributes: sizes (one per dimension), for the coordinates scales or ratios [2 rank] of whole numbers, numerators
/// first (both optional: sizes over extents), roi, mode, and ONNX's others. Beside ONNX's there are the coordinates
/// pytorch_nearest and pytorch_nearest_exact, and by_step, with which linear and cubic modes multiply by one over the
/// scale.
Results resize(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> sizes = a.getDims("sizes");
  size_t rank = rankOf(in[0]);
  if (!sizes || sizes->size() != rank)
    return {b.contradict("resize: expected one size per dimension of shape " + toString(shapeOf(in[0])))};
  std::optional<ResizeOptions> options = optionsOf(b, a);
  SmallVector<Parameter> whole(rank);
  auto scales = parametersOf(b, optionalInput(in, 1), a.getFloats("scales"), whole);
  whole.append(rank, Parameter{1});
  auto region = options && isCrop(*options) ? parametersOf(b, optionalInput(in, 2), a.getFloats("roi"), whole) : whole;
  if (!options || !scales || !region)
    return {};
  Shape ratios = *sizes;
  llvm::append_range(ratios, shapeOf(in[0]));
  ratios = a.getDims("ratios").value_or(ratios);
  Value x = in[0];
  for (size_t i = 0; i < rank; ++i) {
    Scale scale{(*scales)[i], ratios[i], ratios[rank + i]};
    ResizedAxis axis{static_cast<int64_t>(i), (*sizes)[i], scale, (*region)[i], (*region)[rank + i]};
    bool touches =
        !isCrop(*options) || shapeOf(x)[i] != axis.extent || !axis.regionStart.isKnown(0) || !axis.regionEnd.isKnown(1);
    x = touches ? resizeAxis(b, x, axis, *options) : x;
    if (!x)
      return {};
  }
  return {x};
}
} // namespace composites
} // namespace perpend::graph
