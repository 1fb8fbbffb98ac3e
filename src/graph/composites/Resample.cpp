//===- Resample.cpp - resizing by nearest, linear and cubic interpolation --===//
//
// Resizes one axis at a time. The methods are separable, so results equal those
// of the n-d formulas up to rounding. Coordinates are computed in f32. Source:
// ONNX Resize-19.
//
// Antialiasing stretches the kernel when an axis is shortened, so that every
// input element contributes: the weights of all neighbours form a matrix.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"
#include "support/SaturatedInteger.h"

using namespace mlir;

namespace perpend::graph {
namespace {
struct ResizeOptions {
  StringRef mode, coordinates, rounding;
  double cubicCoefficient, extrapolation;
  bool excludeOutside, antialias;
};
/// A known number, or the scalar tensor that holds it at run time.
struct Parameter {
  double number = 0;
  Value tensor = {};
  bool isKnown(double value) const { return !tensor && number == value; }
};
/// One resized axis: output extent, scale (0: output / input), region of interest in [0, 1].
struct ResizedAxis {
  int64_t axis;
  SymbolicInt extent;
  Parameter scale, regionStart, regionEnd;
};
} // namespace

/// The parameters of an axis that are tensors, in the order in which AxisSampler captures them.
static SmallVector<Value> capturedParameters(const ResizedAxis &axis) {
  SmallVector<Value> tensors;
  for (const Parameter *parameter : {&axis.scale, &axis.regionStart, &axis.regionEnd})
    if (parameter->tensor)
      tensors.push_back(parameter->tensor);
  return tensors;
}

namespace {
/// Computes the source elements of one output position.
class AxisSampler {
public:
  /// `captured`: capturedParameters(axis) inside the body.
  AxisSampler(OpBuilder &builder, Location loc, Value position, const SymbolicInt &inputExtent, const ResizedAxis &axis,
              const ResizeOptions &options, ValueRange captured)
      : axis(axis), options(options), captured(captured),
        position(Scalar(builder, loc, position).to(builder.getF32Type())),
        last(Scalar(builder, loc, extent(builder, loc, inputExtent - SymbolicInt(1)))),
        input(extentAsFloat(inputExtent)), output(extentAsFloat(axis.extent)), givenScale(read(axis.scale)),
        regionStart(read(axis.regionStart)), regionEnd(read(axis.regionEnd)) {}

  /// The position in the input, not clamped.
  Scalar coordinate() {
    StringRef mode = options.coordinates;
    if (mode == "asymmetric")
      return position / scale();
    if (mode == "tf_half_pixel_for_nn")
      return (position + 0.5) / scale();
    if (mode == "align_corners")
      return alignedCoordinate();
    if (mode == "tf_crop_and_resize")
      return cropCoordinate();
    Scalar centred = (position + 0.5) / scale() - 0.5;
    if (mode == "pytorch_half_pixel")
      return select(output > 1, centred, centred.constant(0));
    if (mode == "half_pixel_symmetric")
      return (input / 2) * (1.0 - output / (scale() * input)) + centred;
    return centred;
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

  Scalar scale() { return axis.scale.isKnown(0) ? output / input : givenScale; }

private:
  Scalar read(const Parameter &parameter) {
    if (!parameter.tensor)
      return position.constant(parameter.number);
    Value element = load(position.emitter(), position.location(), captured.front(), {});
    captured = captured.drop_front();
    return position.with(element).to(position.type());
  }
  Scalar extentAsFloat(const SymbolicInt &value) {
    if (std::optional<int64_t> constant = value.constant())
      return position.constant(static_cast<double>(*constant));
    return position.with(extent(position.emitter(), position.location(), value)).to(position.type());
  }
  /// With given scales, the ends of the output belong to a length that is not an integer.
  Scalar alignedCoordinate() {
    Scalar length = axis.scale.isKnown(0) ? output : input * givenScale;
    Scalar spread = position * (input - 1) / select(equal(length, 1), length, length - 1);
    return select(equal(length, 1), position.constant(0), spread);
  }
  Scalar cropCoordinate() {
    Scalar width = regionEnd - regionStart;
    Scalar spread = regionStart * (input - 1) + position * (width * (input - 1)) / max(output - 1, 1);
    return select(output > 1, spread, 0.5 * (regionStart + regionEnd) * (input - 1));
  }

  const ResizedAxis &axis;
  const ResizeOptions &options;
  ValueRange captured;
  Scalar position, last, input, output, givenScale, regionStart, regionEnd;
};
} // namespace

/// The weight of a neighbour at distance |t| of cubic convolution with coefficient a.
static Scalar cubicWeight(Scalar t, double a) {
  Scalar x = abs(t);
  Scalar nearby = ((a + 2) * x - (a + 3)) * x * x + 1;
  Scalar far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return select(x <= 1, nearby, far);
}

using Tap = llvm::function_ref<Scalar(Scalar index)>;

static Scalar interpolateLinear(AxisSampler &sampler, Scalar x, Tap tap) {
  Scalar before = floor(x), fraction = x - before;
  Scalar low = tap(sampler.clamped(before)), high = tap(sampler.clamped(before + 1));
  return low * (1.0 - fraction) + high * fraction;
}

static Scalar interpolateCubic(AxisSampler &sampler, Scalar x, Tap tap, const ResizeOptions &options) {
  Scalar before = floor(x), total = x.constant(0), weights = x.constant(0);
  for (int offset = -1; offset <= 2; ++offset) {
    Scalar at = before + offset;
    Scalar weight = cubicWeight(x - at, options.cubicCoefficient);
    if (options.excludeOutside) {
      weight = select(sampler.isInside(at), weight, x.constant(0));
      weights = weights + weight;
    }
    total = total + weight * tap(sampler.clamped(at));
  }
  return options.excludeOutside ? total / weights : total;
}

/// An enlargement that repeats each element a whole number of times.
static std::optional<int64_t> repetition(const SymbolicInt &extent, const ResizedAxis &axis,
                                         const ResizeOptions &options) {
  std::optional<SymbolicInt> ratio = exactDiv(axis.extent, extent);
  StringRef coordinates = options.coordinates;
  bool fromStart =
      (coordinates == "asymmetric" || coordinates == "tf_half_pixel_for_nn") && options.rounding == "floor";
  bool centred = coordinates.ends_with("half_pixel") && options.rounding.starts_with("round_prefer");
  if (options.mode != "nearest" || !ratio || !ratio->constant() || !(fromStart || centred))
    return std::nullopt;
  bool fits = axis.scale.isKnown(0) || axis.scale.isKnown(static_cast<double>(*ratio->constant()));
  return fits ? ratio->constant() : std::nullopt;
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

/// The number of neighbours of a stretched kernel with this reach: even.
static SymbolicInt neighbourCount(Builder &b, const SymbolicInt &inputExtent, const ResizedAxis &axis, int64_t reach) {
  auto whole = static_cast<double>(reach);
  if (axis.scale.tensor) {
    auto half = [&](ArrayRef<Scalar> v) { return ceil(whole / min(v[0], 1)).to(v[0].emitter().getI64Type()); };
    return b.measure(pointwise(b, axis.scale.tensor, half, b.i64()), "neighbours") * 2;
  }
  if (!axis.scale.isKnown(0))
    return SymbolicInt(support::saturatedInteger(std::ceil(whole / std::min(axis.scale.number, 1.0)))) * 2;
  SymbolicInt output = max(axis.extent, SymbolicInt(1)), stretched = inputExtent * reach;
  return max(floorDiv(stretched + output - SymbolicInt(1), output), SymbolicInt(reach)) * 2;
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

/// [output, neighbour]: weights whose sum over the neighbours is 1.
static Value neighbourWeights(Builder &b, const SymbolicInt &inputExtent, const SymbolicInt &count,
                              const ResizedAxis &axis, const ResizeOptions &options) {
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    AxisSampler sampler(builder, loc, index[0], inputExtent, axis, options, tensors);
    Scalar x = sampler.coordinate(), at = neighbourAt(x, index[1], count);
    Scalar weight = kernelWeight((at - x) * min(sampler.scale(), 1), options);
    return (options.excludeOutside ? select(sampler.isInside(at), weight, x.constant(0)) : weight).value;
  };
  Value weights = b.generate(capturedParameters(axis), {axis.extent, count}, b.f32(), body);
  return div(b, weights, weights ? sum(b, weights, 1, true) : weights);
}

static Value resampleStretched(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  Shape shape = shapeOf(input);
  SymbolicInt inputExtent = shape[axis.axis];
  SymbolicInt count = neighbourCount(b, inputExtent, axis, options.mode == "linear" ? 1 : 2);
  if (count.isPoison()) {
    b.fail("resize: a kernel that is stretched by one over the scale has too many elements");
    return {};
  }
  SmallVector<Value> inputs{input, neighbourWeights(b, inputExtent, count, axis, options)};
  llvm::append_range(inputs, capturedParameters(axis));
  shape[axis.axis] = axis.extent;
  shape.push_back(count);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    AxisSampler sampler(builder, loc, index[axis.axis], inputExtent, axis, options, tensors.drop_front(2));
    Scalar x = sampler.coordinate();
    SmallVector<Value> source(index.drop_back());
    source[axis.axis] = sampler.clamped(neighbourAt(x, index.back(), count)).value;
    Scalar weight = x.with(load(builder, loc, tensors[1], {index[axis.axis], index.back()}));
    Scalar value = weight * Scalar(builder, loc, load(builder, loc, tensors[0], source)).to(x.type());
    if (options.coordinates == "tf_crop_and_resize")
      value = select(sampler.isOutside(x), weight * options.extrapolation, value);
    return value.value;
  };
  Value products = b.generate(inputs, shape, b.f32(), body);
  return products ? b.cast(sum(b, products, rankOf(input), false), elementTypeOf(input)) : products;
}

static Value resizeAxis(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  if (!input)
    return {};
  Shape shape = shapeOf(input), result = shape;
  SymbolicInt inputExtent = shape[axis.axis];
  bool isCrop = options.coordinates == "tf_crop_and_resize";
  if (inputExtent == axis.extent && !isCrop && (axis.scale.isKnown(0) || axis.scale.isKnown(1)))
    return input;
  if (std::optional<int64_t> times = repetition(inputExtent, axis, options))
    return repeatElements(b, input, axis.axis, *times);
  if (options.antialias && options.mode != "nearest")
    return resampleStretched(b, input, axis, options);
  result[axis.axis] = axis.extent;
  SmallVector<Value> inputs{input};
  llvm::append_range(inputs, capturedParameters(axis));
  Type elementType = elementTypeOf(input);
  bool isNearest = options.mode == "nearest";
  return b.generate(
      inputs, result, elementType, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
        AxisSampler sampler(builder, loc, index[axis.axis], inputExtent, axis, options, in.drop_front());
        SmallVector<Value> source(index);
        auto loadAt = [&](Scalar at) {
          source[axis.axis] = at.value;
          return Scalar(builder, loc, load(builder, loc, in[0], source), isUnsigned(elementType));
        };
        auto tap = [&](Scalar at) { return loadAt(at).to(builder.getF32Type()); };
        Scalar x = sampler.coordinate();
        Scalar value = isNearest                  ? loadAt(sampler.clamped(sampler.rounded(x)))
                       : options.mode == "linear" ? interpolateLinear(sampler, x, tap)
                                                  : interpolateCubic(sampler, x, tap, options);
        value = value.to(scalarType(elementType));
        return (isCrop ? select(sampler.isOutside(x), value.constant(options.extrapolation), value) : value).value;
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
                        a.getInt("antialias") != 0};
  bool knowsMode = llvm::is_contained({"nearest", "linear", "cubic"}, options.mode);
  bool knowsCoordinates =
      llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                          "tf_half_pixel_for_nn", "tf_crop_and_resize"},
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
/// Attributes: sizes (one per dimension), scales (optional, for the coordinates), roi, mode, and ONNX's others.
Results resize(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> sizes = a.getDims("sizes");
  size_t rank = rankOf(in[0]);
  if (!sizes || sizes->size() != rank)
    return {b.fail("resize: expected one size per dimension of shape " + toString(shapeOf(in[0])))};
  std::optional<ResizeOptions> options = optionsOf(b, a);
  SmallVector<Parameter> whole(rank);
  auto scales = parametersOf(b, optionalInput(in, 1), a.getFloats("scales"), whole);
  whole.append(rank, Parameter{1});
  bool isCrop = options && options->coordinates == "tf_crop_and_resize";
  auto region = isCrop ? parametersOf(b, optionalInput(in, 2), a.getFloats("roi"), whole) : whole;
  if (!options || !scales || !region)
    return {};
  Value x = in[0];
  for (size_t i = 0; i < rank; ++i) {
    ResizedAxis axis{static_cast<int64_t>(i), (*sizes)[i], (*scales)[i], (*region)[i], (*region)[rank + i]};
    bool touches =
        !isCrop || shapeOf(x)[i] != axis.extent || !axis.regionStart.isKnown(0) || !axis.regionEnd.isKnown(1);
    x = touches ? resizeAxis(b, x, axis, *options) : x;
    if (!x)
      return {};
  }
  return {x};
}
} // namespace composites
} // namespace perpend::graph
