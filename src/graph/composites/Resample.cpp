//===- Resample.cpp - resizing by nearest, linear and cubic interpolation -===//
//
// One axis at a time: separable, so the results are those of the n-d formulas
// up to rounding. Coordinates are computed in f32. Source: ONNX Resize-19.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// Where the elements of one output position come from.
class AxisSampler {
public:
  AxisSampler(OpBuilder &builder, Location loc, Value position, const SymbolicInt &inputExtent,
              const ResampledAxis &axis, const Resampling &options)
      : axis(axis), options(options), position(Scalar(builder, loc, position).to(builder.getF32Type())),
        last(Scalar(builder, loc, extent(builder, loc, inputExtent - SymbolicInt(1)))),
        input(extentAsFloat(inputExtent)), output(extentAsFloat(axis.extent)) {}

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

private:
  Scalar extentAsFloat(const SymbolicInt &value) {
    if (std::optional<int64_t> constant = value.constant())
      return position.constant(static_cast<double>(*constant));
    return position.with(extent(position.emitter(), position.location(), value)).to(position.type());
  }
  Scalar scale() { return axis.scale != 0 ? position.constant(axis.scale) : output / input; }
  /// Given scales make the ends of the output those of a length that is no whole number.
  Scalar alignedCoordinate() {
    Scalar length = axis.scale != 0 ? input * axis.scale : output;
    Scalar spread = position * (input - 1) / select(equal(length, 1), length, length - 1);
    return select(equal(length, 1), position.constant(0), spread);
  }
  Scalar cropCoordinate() {
    double width = axis.regionEnd - axis.regionStart;
    Scalar spread = axis.regionStart * (input - 1) + position * (width * (input - 1)) / max(output - 1, 1);
    return select(output > 1, spread, 0.5 * (axis.regionStart + axis.regionEnd) * (input - 1));
  }

  const ResampledAxis &axis;
  const Resampling &options;
  Scalar position, last, input, output;
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

static Scalar interpolateCubic(AxisSampler &sampler, Scalar x, Tap tap, const Resampling &options) {
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
static std::optional<int64_t> repetition(const SymbolicInt &extent, const ResampledAxis &axis,
                                         const Resampling &options) {
  std::optional<SymbolicInt> ratio = exactDiv(axis.extent, extent);
  StringRef coordinates = options.coordinates;
  bool fromStart =
      (coordinates == "asymmetric" || coordinates == "tf_half_pixel_for_nn") && options.rounding == "floor";
  bool centred = coordinates.ends_with("half_pixel") && options.rounding.starts_with("round_prefer");
  if (options.mode != "nearest" || !ratio || !ratio->constant() || !(fromStart || centred))
    return std::nullopt;
  bool fits = axis.scale == 0 || axis.scale == static_cast<double>(*ratio->constant());
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

Value resampleAxis(Builder &b, Value input, const ResampledAxis &axis, const Resampling &options) {
  if (!input)
    return {};
  Shape shape = shapeOf(input), result = shape;
  SymbolicInt inputExtent = shape[axis.axis];
  bool isCrop = options.coordinates == "tf_crop_and_resize";
  if (inputExtent == axis.extent && !isCrop && (axis.scale == 0 || axis.scale == 1))
    return input;
  if (std::optional<int64_t> times = repetition(inputExtent, axis, options))
    return repeatElements(b, input, axis.axis, *times);
  result[axis.axis] = axis.extent;
  Type elementType = elementTypeOf(input);
  bool isNearest = options.mode == "nearest";
  return b.generate(input, result, elementType, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
    AxisSampler sampler(builder, loc, index[axis.axis], inputExtent, axis, options);
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

namespace composites {
/// Attributes: sizes (one per dimension), scales (optional, for the coordinates), mode, and ONNX's others.
Results resize(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> sizes = a.getDims("sizes");
  SmallVector<double> scales = a.getFloats("scales"), region = a.getFloats("roi");
  size_t rank = rankOf(in[0]);
  if (!sizes || sizes->size() != rank || (!scales.empty() && scales.size() != rank))
    return {b.fail("resize: expected one size per dimension of shape " + toString(shapeOf(in[0])))};
  Resampling options{a.getString("mode", "nearest"),
                     a.getString("coordinate_transformation_mode", "half_pixel"),
                     a.getString("nearest_mode", "round_prefer_floor"),
                     a.getFloat("cubic_coeff_a", -0.75),
                     a.getFloat("extrapolation_value"),
                     a.getInt("exclude_outside") != 0};
  if (a.getInt("antialias"))
    return {b.fail("resize: antialias is not supported\nhint: export the model with antialias off")};
  bool knowsMode = llvm::is_contained({"nearest", "linear", "cubic"}, options.mode);
  bool knowsCoordinates =
      llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                          "tf_half_pixel_for_nn", "tf_crop_and_resize"},
                         options.coordinates);
  if (!knowsMode || !knowsCoordinates)
    return {b.fail("resize: unknown mode '" + options.mode + "' or coordinates '" + options.coordinates + "'")};
  Value x = in[0];
  for (size_t i = 0; i < rank; ++i) {
    ResampledAxis axis{static_cast<int64_t>(i), (*sizes)[i], scales.empty() ? 0 : scales[i]};
    if (region.size() == 2 * rank) {
      axis.regionStart = region[i];
      axis.regionEnd = region[rank + i];
    }
    bool touches = options.coordinates != "tf_crop_and_resize" || shapeOf(x)[i] != axis.extent ||
                   axis.regionStart != 0 || axis.regionEnd != 1;
    x = touches ? resampleAxis(b, x, axis, options) : x;
    if (!x)
      return {};
  }
  return {x};
}
} // namespace composites
} // namespace perpend::graph
