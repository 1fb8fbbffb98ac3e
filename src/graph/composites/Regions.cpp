//===- Regions.cpp - regions of interest and deformable convolution -------===//
//
// Sources: ONNX RoiAlign-22, DeformConv-22.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Sampling.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// One channel of one image. Positions outside read as 0.
class Plane : public ImageReader {
public:
  Plane(OpBuilder &builder, Location loc, Value tensor, Value batch, Value channel, Type compute)
      : tensor(tensor), batch(batch), channel(channel), compute(compute) {
    Shape shape = shapeOf(tensor);
    for (const SymbolicInt &value : ArrayRef(shape).drop_front(2))
      counts.push_back(Scalar(builder, loc, extent(builder, loc, value)));
  }

  Scalar length(size_t dim) const { return counts[dim].to(compute); }
  Scalar read(ArrayRef<Scalar> at) override {
    SmallVector<Value> source{batch, channel};
    std::optional<Scalar> inside;
    for (auto [position, count] : llvm::zip(at, counts)) {
      Scalar fits = (position >= 0) & (position < count.to(compute));
      inside = inside ? *inside & fits : fits;
      source.push_back(wholeIndex(position, count).value);
    }
    const Scalar &first = at.front();
    Scalar value = first.with(load(first.emitter(), first.location(), tensor, source)).to(compute);
    return select(*inside, value, value.constant(0));
  }

private:
  Value tensor, batch, channel;
  Type compute;
  SmallVector<Scalar> counts;
};

struct RegionOptions {
  /// Samples in each direction of a part; 0: as many as it has elements.
  int64_t height, width, samples;
  double scale;
  bool isHalfPixel, isMaximum;
};

/// One dimension of a region: where its first part begins, the size of a part, and the samples in it.
struct Span {
  Scalar start, part, samples;
};

/// The most samples of one part of any region, by rows and columns.
struct SampleExtents {
  SymbolicInt rows, columns;
};
} // namespace

/// The span of region `region` in dimension 0 (y) or 1 (x). Regions are x, y, x, y.
static Span spanOf(Value regions, Scalar region, int64_t dim, Type compute, const RegionOptions &options) {
  auto corner = [&](int64_t column) {
    Value at = region.emitter().create<arith::ConstantIndexOp>(region.location(), column);
    return region.with(load(region.emitter(), region.location(), regions, {region.value, at})).to(compute);
  };
  double shift = options.isHalfPixel ? 0.5 : 0;
  Scalar start = corner(1 - dim) * options.scale - shift;
  Scalar size = corner(3 - dim) * options.scale - shift - start;
  if (!options.isHalfPixel)
    size = max(size, 1);
  Scalar part = size / static_cast<double>(dim == 0 ? options.height : options.width);
  return {start, part, options.samples ? part.constant(static_cast<double>(options.samples)) : max(ceil(part), 0)};
}

/// At least 1, so that an empty part still gets its 0.
static SymbolicInt mostSamples(Builder &b, Value regions, int64_t dim, const RegionOptions &options) {
  if (options.samples)
    return SymbolicInt(options.samples);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar region(builder, loc, index[0]);
    return min(spanOf(tensors[0], region, dim, builder.getF32Type(), options).samples, 1e6).to(b.i64()).value;
  };
  Value counts = b.generate(regions, shapeOf(regions)[0], b.i64(), body);
  Value most = b.reduce(ReductionKind::Max, counts, 0, false);
  return b.measure(pointwise(b, most, [](ArrayRef<Scalar> v) { return max(v[0], 1); }), "samples");
}

/// A sample's contribution: 0 beyond one element outside; closer positions are moved to the border. ONNX's maximum is
/// taken over the four weighted neighbours.
static Scalar sampleRegion(Plane &plane, Scalar y, Scalar x, bool isMaximum) {
  Scalar height = plane.length(0), width = plane.length(1);
  Scalar isOutside = (y < -1) | (y > height) | (x < -1) | (x > width);
  Scalar row = min(max(y, 0), height - 1), column = min(max(x, 0), width - 1);
  if (!isMaximum)
    return select(isOutside, y.constant(0), sampleLinear(plane, {row, column}));
  Scalar top = floor(row), left = floor(column), down = row - top, right = column - left;
  Scalar below = min(top + 1, height - 1), beside = min(left + 1, width - 1);
  Scalar upper =
      max((1.0 - down) * (1.0 - right) * plane.read({top, left}), (1.0 - down) * right * plane.read({top, beside}));
  Scalar lower = max(down * (1.0 - right) * plane.read({below, left}), down * right * plane.read({below, beside}));
  return select(isOutside, y.constant(0), max(upper, lower));
}

/// What sample `number` adds to the part (top, left) of a region.
static Scalar poolSample(Plane &plane, Scalar top, Scalar left, Scalar number, Span rows, Span columns,
                         const SampleExtents &extents, bool isMaximum) {
  Scalar width = number.with(extent(number.emitter(), number.location(), extents.columns));
  Scalar row = (number / width).to(top.type()), column = (number % width).to(top.type());
  Scalar y = rows.start + (top + (row + 0.5) / max(rows.samples, 1)) * rows.part;
  Scalar x = columns.start + (left + (column + 0.5) / max(columns.samples, 1)) * columns.part;
  Scalar isSample = (row < rows.samples) & (column < columns.samples);
  Scalar value = sampleRegion(plane, y, x, isMaximum), count = rows.samples * columns.samples;
  if (!isMaximum)
    return select(isSample, value / max(count, 1), value.constant(0));
  Scalar none = select(count < 1, value.constant(0), value.constant(-std::numeric_limits<double>::infinity()));
  return select(isSample, value, none);
}

static std::optional<RegionOptions> regionOptions(Builder &b, const Attributes &a) {
  StringRef mode = a.getString("mode", "avg"),
            coordinates = a.getString("coordinate_transformation_mode", "half_pixel");
  RegionOptions options{a.getInt("output_height", 1),   a.getInt("output_width", 1), a.getInt("sampling_ratio"),
                        a.getFloat("spatial_scale", 1), coordinates == "half_pixel", mode == "max"};
  if (options.height < 1 || options.width < 1 || options.samples < 0) {
    b.fail("roi_align: expected positive output extents and no negative sampling ratio");
    return std::nullopt;
  }
  return options;
}

namespace {
struct DeformOptions {
  SmallVector<int64_t> kernel, strides, pads, dilations;
  int64_t groups, offsetGroups;
};
} // namespace

static std::optional<DeformOptions> deformOptions(Builder &b, ArrayRef<SymbolicInt> filter, const Attributes &a) {
  DeformOptions options{{},
                        a.getInts("strides", {1, 1}),
                        a.getInts("pads", {0, 0, 0, 0}),
                        a.getInts("dilations", {1, 1}),
                        a.getInt("group", 1),
                        a.getInt("offset_group", 1)};
  for (const SymbolicInt &extent : filter.drop_front(2))
    if (extent.constant())
      options.kernel.push_back(*extent.constant());
  if (options.kernel.size() == 2 && options.strides.size() == 2 && options.pads.size() == 4 &&
      options.dilations.size() == 2 && options.groups > 0 && options.offsetGroups > 0)
    return options;
  b.fail("deform_conv: expected a filter [o, c, k, k] of known extents, two strides and dilations, four pads");
  return std::nullopt;
}

/// [n, c, k, y, x]: what each element k of the window reads at its displaced position, times its mask.
static Value deformedPatches(Builder &b, Values in, ArrayRef<SymbolicInt> places, const DeformOptions &options) {
  Value image = in[0], mask = optionalInput(in, 4);
  SmallVector<Value> inputs{image, in[2]};
  if (mask)
    inputs.push_back(mask);
  Shape shape = shapeOf(image);
  int64_t taps = options.kernel[0] * options.kernel[1];
  Shape result{shape[0], shape[1], SymbolicInt(taps), places[0], places[1]};
  std::optional<SymbolicInt> perGroup = exactDiv(shape[1], SymbolicInt(options.offsetGroups));
  if (!perGroup)
    return b.fail("deform_conv: the channels " + shape[1].str() + " do not divide into " + Twine(options.offsetGroups) +
                  " offset groups");
  SymbolicInt entries(options.offsetGroups * taps);
  requireExtents(b, shapeOf(in[2]), {shape[0], entries * SymbolicInt(2), places[0], places[1]}, "the offsets");
  if (mask)
    requireExtents(b, shapeOf(mask), {shape[0], entries, places[0], places[1]}, "the mask");
  Type type = elementTypeOf(image);
  return b.generate(inputs, result, type, [&](OpBuilder &builder, Location loc, ValueRange at, ValueRange tensors) {
    Type compute = computeType(type);
    Scalar tap(builder, loc, at[2]), group = Scalar(builder, loc, at[1]) / tap.with(extent(builder, loc, *perGroup));
    Scalar entry = group * static_cast<double>(taps) + tap;
    auto position = [&](int64_t dim, Scalar step) {
      Scalar channel = entry * 2 + static_cast<double>(dim);
      Scalar offset(builder, loc, load(builder, loc, tensors[1], {at[0], channel.value, at[3], at[4]}));
      Scalar regular = Scalar(builder, loc, at[3 + dim]) * static_cast<double>(options.strides[dim]) +
                       step * static_cast<double>(options.dilations[dim]) - static_cast<double>(options.pads[dim]);
      return regular.to(compute) + offset.to(compute);
    };
    Scalar width = tap.constant(static_cast<double>(options.kernel[1]));
    Plane plane(builder, loc, tensors[0], at[0], at[1], compute);
    Scalar value = sampleLinear(plane, {position(0, tap / width), position(1, tap % width)});
    if (mask)
      value =
          value * Scalar(builder, loc, load(builder, loc, tensors[2], {at[0], entry.value, at[3], at[4]})).to(compute);
    return value.to(type).value;
  });
}

/// The position on an image axis, which ends at `last`, of step `step` of `steps` between the corners of a region; the
/// middle of the region if there are no steps.
static Scalar cornerPosition(Value regions, Scalar region, int64_t dim, Scalar step, Scalar steps, Scalar last) {
  OpBuilder &builder = region.emitter();
  Location loc = region.location();
  auto corner = [&](int64_t column) {
    Value at = builder.create<arith::ConstantIndexOp>(loc, column);
    return region.with(load(builder, loc, regions, {region.value, at})).to(step.type());
  };
  Scalar low = corner(dim), high = corner(dim + 2);
  Scalar scale = (high - low) * last / max(steps, 1);
  return select(steps > 0, low * last + step * scale, 0.5 * (low + high) * last);
}

namespace composites {
/// in: x [n, c, h, w], regions [r, 4] (x, y, x, y), the image of each region [r]. Result: [r, c, height, width].
Results roi_align(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), regions = shapeOf(in[1]);
  std::optional<RegionOptions> options = regionOptions(b, a);
  if (!options)
    return {};
  if (shape.size() != 4 || regions.size() != 2 || rankOf(in[2]) != 1 || provablyDiffer(regions[1], SymbolicInt(4)))
    return {b.contradict("roi_align: expected an image [n, c, h, w], regions [r, 4] and indices [r], got shapes " +
                         toString(shape) + ", " + toString(regions) + " and " + toString(shapeOf(in[2])))};
  requireExtents(b, {shapeOf(in[2])[0], regions[1]}, {regions[0], SymbolicInt(4)}, "roi_align");
  SampleExtents samples{mostSamples(b, in[1], 0, *options), mostSamples(b, in[1], 1, *options)};
  if (samples.rows.isPoison() || samples.columns.isPoison())
    return {};
  Type type = elementTypeOf(in[0]), compute = computeType(type);
  Shape result{regions[0], shape[1], SymbolicInt(options->height), SymbolicInt(options->width),
               samples.rows * samples.columns};
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar region(builder, loc, index[0]), count = region.with(extent(builder, loc, shape[0]));
    Scalar image = region.with(load(builder, loc, tensors[2], index[0])).to(builder.getIndexType());
    Plane plane(builder, loc, tensors[0], max(min(image, count - 1), 0).value, index[1], compute);
    Span rows = spanOf(tensors[1], region, 0, compute, *options);
    Span columns = spanOf(tensors[1], region, 1, compute, *options);
    Scalar top = region.with(index[2]).to(compute), left = region.with(index[3]).to(compute);
    return poolSample(plane, top, left, region.with(index[4]), rows, columns, samples, options->isMaximum).value;
  };
  Value parts = b.generate(in, result, compute, body);
  auto kind = options->isMaximum ? ReductionKind::Max : ReductionKind::Sum;
  return {b.cast(b.reduce(kind, parts, 4, false), type)};
}

/// in: x [n, c, h, w], regions [r, 4] (y, x, y, x; 0 to 1 is the image), the image of each region [r]. Attributes:
/// `size` [2], mode bilinear or nearest, extrapolation_value, which positions outside get. Result: [r, c, size..].
/// Source: CropAndResize of ONNX Runtime.
Results crop_and_resize(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), regions = shapeOf(in[1]);
  std::optional<Shape> size = a.getDims("size");
  StringRef mode = a.getString("mode", "bilinear");
  if (!size || size->size() != 2 || shape.size() != 4 || regions.size() != 2 || rankOf(in[2]) != 1 ||
      provablyDiffer(regions[1], SymbolicInt(4)) || (mode != "bilinear" && mode != "nearest"))
    return {b.fail("crop_and_resize: expected an image [n, c, h, w], regions [r, 4], indices [r], a size of two "
                   "extents and the mode bilinear or nearest")};
  requireExtents(b, {shapeOf(in[2])[0], regions[1]}, {regions[0], SymbolicInt(4)}, "crop_and_resize");
  Type type = elementTypeOf(in[0]), compute = computeType(type);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar region(builder, loc, index[0]), count = region.with(extent(builder, loc, shape[0]));
    Scalar image = region.with(load(builder, loc, tensors[2], index[0])).to(builder.getIndexType());
    Plane plane(builder, loc, tensors[0], max(min(image, count - 1), 0).value, index[1], compute);
    std::optional<Scalar> inside;
    SmallVector<Scalar> at;
    for (int64_t dim : {0, 1}) {
      Scalar steps = region.with(extent(builder, loc, (*size)[dim])).to(compute) - 1, last = plane.length(dim) - 1;
      Scalar position = cornerPosition(tensors[1], region, dim, region.with(index[2 + dim]).to(compute), steps, last);
      Scalar fits = (position >= 0) & (position <= last);
      inside = inside ? *inside & fits : fits;
      at.push_back(mode == "nearest" ? floor(position + 0.5) : position);
    }
    Scalar value = mode == "nearest" ? plane.read(at) : sampleLinear(plane, at);
    return select(*inside, value, value.constant(a.getFloat("extrapolation_value"))).to(type).value;
  };
  return {b.generate(in, {regions[0], shape[1], (*size)[0], (*size)[1]}, type, body)};
}

/// in: x [n, c, h, w], filter [o, c / group, k, l], offsets [n, 2 k l offset_group, y, x], bias [o] and
/// mask [n, k l offset_group, y, x] (optional).
Results deform_conv(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), filter = shapeOf(in[1]), offsets = shapeOf(in[2]);
  if (shape.size() != 4 || filter.size() != 4 || offsets.size() != 4)
    return {b.contradict("deform_conv: expected an image, a filter and offsets of rank 4, got shapes " +
                         toString(shape) + ", " + toString(filter) + " and " + toString(offsets))};
  std::optional<DeformOptions> options = deformOptions(b, filter, a);
  Value patches = options ? deformedPatches(b, in, ArrayRef(offsets).drop_front(2), *options) : Value();
  if (!patches)
    return {};
  SymbolicInt groups(options->groups), places = offsets[2] * offsets[3];
  std::optional<SymbolicInt> outputs = exactDiv(filter[0], groups);
  if (!outputs)
    return {b.fail("deform_conv: the filters do not divide into groups")};
  SymbolicInt depth = filter[1] * filter[2] * filter[3];
  Value columns = b.reshape(patches, {shape[0], groups, depth, places});
  Value weights = b.reshape(in[1], {groups, *outputs, depth});
  Type compute = computeType(elementTypeOf(in[0]));
  Value products = b.contract(weights, b.transpose(columns, {1, 2, 0, 3}), {0}, {0}, {2}, {1}, compute);
  if (!products)
    return {}; // [group, output, n, place]
  Value result = b.reshape(b.transpose(products, {2, 0, 1, 3}), {shape[0], filter[0], offsets[2], offsets[3]});
  if (Value bias = optionalInput(in, 3))
    result = add(b, result, b.cast(alongAxis(b, bias, 1, shapeOf(result)), elementTypeOf(result)));
  return {result ? b.cast(result, elementTypeOf(in[0])) : result};
}
} // namespace composites
} // namespace perpend::graph
