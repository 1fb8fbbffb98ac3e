//===- Resample.cpp - resizing by nearest, linear and cubic interpolation -===//
//
// Interpolation is separable, so the axes are resized one after the other; the results are those of the n-d formulas
// up to rounding, and are rounded to the elements' type once. Which elements are read at a position of an axis, and
// their weights, are vectors: constants where the extents are numbers. So resizing is gathers and a weighted sum, which
// passes can move and lay out. Coordinates have the type of the weights: f64 if elements are f64, otherwise f32. In
// nearest mode and for tf_crop_and_resize, a coordinate decides which element is read, or whether one is. There it is
// f64, and the formulas are written so that rounding changes no decision. Exceptions: nearest mode with a scale that
// the model gives as an f32 number, and PyTorch's ways to compute coordinates, use the type of the weights, as their
// reference implementations do. Source: ONNX Resize-19, PyTorch.
//
// Antialiasing, in linear and cubic mode, stretches the kernel if an axis is shortened, so that every input element
// contributes: the weights of all neighbours form a matrix.
//
//===----------------------------------------------------------------------===//

#include "graph/Scalars.h"
#include "graph/composites/AxisSampler.h"
#include "graph/composites/CubicWeights.h"
#include "support/SaturatedInteger.h"

using namespace mlir;

namespace perpend::graph {

/// The weight of a neighbour at distance |t| of cubic convolution with coefficient a.
static Scalar cubicWeight(Scalar t, double a) {
  Scalar x = abs(t);
  return select(x <= 1, nearCubicWeight(x, a), farCubicWeight(x, a));
}

/// The most positions whose vectors are constants of the artifact.
static constexpr int64_t mostKnownPositions = 1 << 16;

namespace {
/// Computes what depends on the position along one axis alone, as vectors.
class AxisVectors {
public:
  using Formula = llvm::function_ref<Scalar(AxisSampler &sampler, Scalar coordinate)>;
  /// Of a neighbour, given its number, in a stretched kernel.
  using NeighbourFormula = llvm::function_ref<Scalar(AxisSampler &sampler, Scalar coordinate, Value number)>;

  AxisVectors(Builder &builder, Value input, const ResizedAxis &axis, const ResizeOptions &options)
      : builder(builder), inputExtent(shapeOf(input)[axis.axis]), axis(axis), options(options),
        coordinateType(perpend::graph::coordinateType(builder, elementTypeOf(input), axis, options)),
        parameters(capturedParameters(axis)) {
    std::optional<int64_t> count = axis.extent.constant();
    isKnown = count && *count > 0 && *count <= mostKnownPositions;
    if (isKnown) // an operand that is a constant, so that the vectors become constants
      parameters.push_back(builder.integers(llvm::to_vector(llvm::seq<int64_t>(0, *count))));
  }

  /// [output]
  Value each(Type type, Formula formula) const {
    return generate({axis.extent}, type,
                    [&](AxisSampler &sampler, ValueRange) { return formula(sampler, sampler.coordinate()); });
  }
  /// [output, neighbour]
  Value each(const SymbolicInt &neighbours, Type type, NeighbourFormula formula) const {
    return generate({axis.extent, neighbours}, type, [&](AxisSampler &sampler, ValueRange index) {
      return formula(sampler, sampler.coordinate(), index[1]);
    });
  }
  /// Of indices along the axis: 32 bits if possible, of which vectors hold more.
  Type indexType() const {
    bool isShort = inputExtent.constant().value_or(INT64_MAX) <= INT32_MAX;
    return isShort ? Type(builder.operations.getI32Type()) : builder.i64();
  }

private:
  Value generate(ArrayRef<SymbolicInt> shape, Type type,
                 llvm::function_ref<Scalar(AxisSampler &, ValueRange index)> formula) const {
    auto body = [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
      Value position = isKnown ? load(b, loc, tensors.back(), index.take_front(1)) : index[0];
      AxisSampler sampler(b, loc, position, coordinateType, inputExtent, axis, options, tensors);
      return formula(sampler, index).to(type).value;
    };
    return builder.generate(parameters, shape, type, body);
  }

  Builder &builder;
  SymbolicInt inputExtent;
  const ResizedAxis &axis;
  const ResizeOptions &options;
  Type coordinateType;
  SmallVector<Value> parameters;
  bool isKnown;
};
} // namespace

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
  SymbolicInt extent = shapeOf(input)[axis] * times;
  std::optional<int64_t> count = extent.constant();
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
    Scalar position(builder, loc, index[0]);
    return (position.to(builder.getI64Type()) / static_cast<double>(times)).value;
  };
  Value places = count && *count <= mostKnownPositions
                     ? b.integers(llvm::map_to_vector(llvm::seq<int64_t>(0, *count),
                                                      [&](int64_t position) { return position / times; }))
                     : b.generate({}, {extent}, b.i64(), body);
  return b.gather(input, places, axis);
}

/// How many neighbours a stretched kernel of this reach may have: an even number.
static SymbolicInt neighbourCount(Builder &b, const ResizeScale &scale, int64_t reach) {
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
static Value neighbourWeights(Builder &b, const AxisVectors &vectors, const SymbolicInt &count, Type type,
                              const ResizeOptions &options) {
  Value weights = vectors.each(count, type, [&](AxisSampler &sampler, Scalar x, Value number) {
    Scalar at = neighbourAt(x, number, count), weight = kernelWeight((at - x) * sampler.kernelScale(), options);
    return select(takesPart(sampler, x, at, options), weight, x.constant(0));
  });
  return div(b, weights, weights ? sum(b, weights, 1, true) : weights);
}

static Value resampleStretched(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  SymbolicInt count = neighbourCount(b, axis.scale, options.mode == "linear" ? 1 : 2);
  if (count.isPoison()) {
    b.fail("resize: a kernel that is stretched by one over the scale has too many elements");
    return {};
  }
  Type elementType = elementTypeOf(input), type = weightType(b, elementType);
  AxisVectors vectors(b, input, axis, options);
  Value indices = vectors.each(count, vectors.indexType(), [&](AxisSampler &sampler, Scalar x, Value number) {
    return sampler.clamped(neighbourAt(x, number, count));
  });
  Value taking = vectors.each(count, b.operations.getI1Type(), [&](AxisSampler &sampler, Scalar x, Value number) {
    return takesPart(sampler, x, neighbourAt(x, number, count), options);
  });
  Value weights = neighbourWeights(b, vectors, count, type, options), elements = b.gather(input, indices, axis.axis);
  if (!elements || !weights || !taking)
    return {};
  Shape shape = shapeOf(elements);
  SmallVector<int64_t> dims{axis.axis, axis.axis + 1};
  Value products = b.map({elements, b.broadcast(weights, dims, shape), b.broadcast(taking, dims, shape)}, type,
                         [&](OpBuilder &builder, Location loc, ValueRange v) {
                           Scalar element(builder, loc, convert(builder, loc, v[0], elementType, type));
                           Scalar product = element * element.with(v[1]);
                           return select(element.with(v[2]), product, element.constant(-0.0)).value; // no sum notices
                         });
  return products ? sum(b, products, axis.axis + 1, false) : products;
}

/// The weight, in `type`, of the element at the coordinate x, rounded down, plus `offset`.
static Scalar tapWeight(AxisSampler &sampler, Scalar x, int offset, Type type, const ResizeOptions &options) {
  if (options.mode == "linear") {
    Scalar fraction = (x - floor(x)).to(type);
    return offset ? fraction : 1.0 - fraction;
  }
  auto weightAt = [&](int other) {
    Scalar at = floor(x) + other, weight = cubicWeight((x - at).to(type), options.cubicCoefficient);
    return options.excludeOutside ? select(sampler.isInside(at), weight, weight.constant(0)) : weight;
  };
  Scalar weight = weightAt(offset);
  return options.excludeOutside ? weight / (weightAt(-1) + weightAt(0) + weightAt(1) + weightAt(2)) : weight;
}

/// The sum of two elements (linear) or four (cubic) times their weights.
static Value resampleTaps(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  Type elementType = elementTypeOf(input), type = weightType(b, elementType);
  AxisVectors vectors(b, input, axis, options);
  SmallVector<Value> values; // an element, its weight, the next element ...
  const bool isLinear = options.mode == "linear";
  for (int offset = isLinear ? 0 : -1; offset <= (isLinear ? 1 : 2); ++offset) {
    Value indices = vectors.each(vectors.indexType(),
                                 [&](AxisSampler &sampler, Scalar x) { return sampler.clamped(floor(x) + offset); });
    Value weights = vectors.each(
        type, [&](AxisSampler &sampler, Scalar x) { return tapWeight(sampler, x, offset, type, options); });
    Value elements = b.gather(input, indices, axis.axis);
    if (!elements || !weights)
      return {};
    values.append({elements, b.broadcast(weights, axis.axis, shapeOf(elements))});
  }
  return b.map(values, type, [&](OpBuilder &builder, Location loc, ValueRange v) {
    auto product = [&](size_t i) {
      Scalar element(builder, loc, convert(builder, loc, v[i], elementType, type));
      return element * element.with(v[i + 1]);
    };
    Scalar total = product(0);
    for (size_t i = 2; i < v.size(); i += 2)
      total = total + product(i);
    return total.value;
  });
}

static Value resampleNearest(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  AxisVectors vectors(b, input, axis, options);
  Value indices = vectors.each(vectors.indexType(),
                               [](AxisSampler &sampler, Scalar x) { return sampler.clamped(sampler.rounded(x)); });
  return b.gather(input, indices, axis.axis);
}

/// In linear and cubic mode, elements of the result have the type of the weights.
static Value resizeAxis(Builder &b, Value input, const ResizedAxis &axis, const ResizeOptions &options) {
  if (!input)
    return {};
  SymbolicInt inputExtent = shapeOf(input)[axis.axis];
  if (inputExtent == axis.extent && !isCrop(options) && axis.scale.isKnown(1))
    return input;
  if (std::optional<int64_t> times = repetition(inputExtent, axis, elementTypeOf(input), options))
    return repeatElements(b, input, axis.axis, *times);
  Value result = options.mode == "nearest" ? resampleNearest(b, input, axis, options)
                 : options.antialias       ? resampleStretched(b, input, axis, options)
                                           : resampleTaps(b, input, axis, options);
  if (!result || !isCrop(options))
    return result;
  Value outside =
      AxisVectors(b, input, axis, options).each(b.operations.getI1Type(), [](AxisSampler &sampler, Scalar x) {
        return sampler.isOutside(x);
      });
  return where(b, alongAxis(b, outside, axis.axis, shapeOf(result)),
               b.scalar(options.extrapolation, elementTypeOf(result)), result);
}

/// Numbers as they become elements: whole ones are rounded to the nearest if antialiased, otherwise towards zero as the
/// conversion does; cubic interpolation may leave the range of short ones, whose ends it then gives.
static Value inRange(Builder &b, Value x, Type elementType, const ResizeOptions &options) {
  bool isWhole = isa<IntegerType>(elementType) && bitWidth(elementType) > 1 && isFloat(x);
  bool mayLeave = options.mode == "cubic" && bitWidth(elementType) <= 16;
  if (!isWhole || !(mayLeave || options.antialias))
    return x;
  const int bits = static_cast<int>(bitWidth(elementType)) - (isUnsigned(elementType) ? 0 : 1);
  const double highest = std::ldexp(1.0, bits) - 1, lowest = isUnsigned(elementType) ? 0 : -highest - 1;
  return pointwise(b, x, [&](ArrayRef<Scalar> v) {
    Scalar number = options.antialias ? floor(v[0] + 0.5) : v[0];
    return mayLeave ? min(max(number, lowest), highest) : number;
  });
}

/// The order in which resizing the axes costs least: first those that become shorter, then the others, the last of them
/// in memory first, so that the largest results are made of whole rows.
static SmallVector<ResizedAxis> inCheapOrder(Value input, ArrayRef<ResizedAxis> axes) {
  SmallVector<ResizedAxis> shorter, others;
  for (const ResizedAxis &axis : axes) {
    bool isShorter = (shapeOf(input)[axis.axis] - axis.extent).knownPositive();
    isShorter ? shorter.push_back(axis) : static_cast<void>(others.insert(others.begin(), axis));
  }
  shorter.append(others);
  return shorter;
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
static std::optional<SmallVector<ResizeParameter>> parametersOf(Builder &b, Value vector, ArrayRef<double> numbers,
                                                                ArrayRef<ResizeParameter> otherwise) {
  SmallVector<ResizeParameter> parameters;
  std::optional<SmallVector<Value>> elements = vector ? b.scalars(vector) : SmallVector<Value>();
  if (!elements)
    return std::nullopt;
  for (Value element : *elements) {
    std::optional<double> number = constantNumber(element);
    parameters.push_back(number ? ResizeParameter{*number} : ResizeParameter{0, element});
  }
  if (!vector)
    for (double number : numbers)
      parameters.push_back({number});
  if (parameters.empty())
    return SmallVector<ResizeParameter>(otherwise);
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
  SmallVector<ResizeParameter> whole(rank);
  auto scales = parametersOf(b, optionalInput(in, 1), a.getFloats("scales"), whole);
  whole.append(rank, ResizeParameter{1});
  auto region = options && isCrop(*options) ? parametersOf(b, optionalInput(in, 2), a.getFloats("roi"), whole) : whole;
  if (!options || !scales || !region)
    return {};
  Shape ratios = *sizes;
  llvm::append_range(ratios, shapeOf(in[0]));
  ratios = a.getDims("ratios").value_or(ratios);
  SmallVector<ResizedAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    ResizeScale scale{(*scales)[i], ratios[i], ratios[rank + i]};
    axes.push_back({static_cast<int64_t>(i), (*sizes)[i], scale, (*region)[i], (*region)[rank + i]});
  }
  Value x = in[0];
  for (const ResizedAxis &axis : inCheapOrder(in[0], axes)) {
    bool touches = !isCrop(*options) || shapeOf(x)[axis.axis] != axis.extent || !axis.regionStart.isKnown(0) ||
                   !axis.regionEnd.isKnown(1);
    x = touches ? resizeAxis(b, x, axis, *options) : x;
    if (!x)
      return {};
  }
  return {castLike(b, inRange(b, x, elementTypeOf(in[0]), *options), in[0])};
}
} // namespace composites
} // namespace perpend::graph
