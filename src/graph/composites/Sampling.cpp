//===- Sampling.cpp - reading images at computed positions ----------------===//
//
// Sources: ONNX GridSample-22, AffineGrid-20.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Sampling.h"
#include "graph/composites/CubicWeights.h"

using namespace mlir;

namespace perpend::graph {

Scalar wholeIndex(Scalar whole, Scalar count) {
  // NaN and values beyond any index must not reach the conversion.
  Scalar bounded = select((whole > -1e9) & (whole < 1e9), whole, whole.constant(-1e9));
  Scalar index = bounded.to(count.type());
  return max(min(index, count - 1), 0);
}

Scalar sampleLinear(ImageReader &image, ArrayRef<Scalar> at) {
  SmallVector<Scalar> corner;
  std::optional<Scalar> total;
  for (unsigned corners = 0; corners < 1u << at.size(); ++corners) {
    corner.clear();
    std::optional<Scalar> weight;
    for (auto [dim, position] : llvm::enumerate(at)) {
      Scalar low = floor(position), fraction = position - low;
      bool isHigh = corners >> dim & 1;
      corner.push_back(isHigh ? low + 1 : low);
      Scalar share = isHigh ? fraction : 1.0 - fraction;
      weight = weight ? *weight * share : share;
    }
    Scalar part = *weight * image.read(corner);
    total = total ? *total + part : part;
  }
  return *total;
}

/// The weight of the neighbour `offset` (-1 .. 2) of cubic convolution with coefficient -0.75.
static Scalar cubicShare(Scalar fraction, int offset) {
  constexpr double a = -0.75;
  Scalar x = abs(fraction - static_cast<double>(offset));
  return offset == 0 || offset == 1 ? nearCubicWeight(x, a) : farCubicWeight(x, a);
}

static Scalar sampleCubic(ImageReader &image, ArrayRef<Scalar> at) {
  std::optional<Scalar> total;
  size_t taps = size_t(1) << (2 * at.size());
  for (size_t tap = 0; tap < taps; ++tap) {
    SmallVector<Scalar> neighbour;
    std::optional<Scalar> weight;
    for (auto [dim, position] : llvm::enumerate(at)) {
      int offset = static_cast<int>(tap >> (2 * dim) & 3) - 1;
      Scalar low = floor(position), share = cubicShare(position - low, offset);
      neighbour.push_back(low + offset);
      weight = weight ? *weight * share : share;
    }
    Scalar part = *weight * image.read(neighbour);
    total = total ? *total + part : part;
  }
  return *total;
}

namespace {
/// Extents and borders of one spatial dimension of the image.
struct Border {
  Scalar count, length, low, high;
};

struct GridOptions {
  StringRef mode, padding;
  bool alignCorners;
};

/// Reads positions outside as the padding mode says.
class PaddedImage : public ImageReader {
public:
  PaddedImage(Value tensor, Value batch, Value channel, ArrayRef<Border> borders, StringRef padding, Type compute)
      : tensor(tensor), batch(batch), channel(channel), borders(borders), padding(padding), compute(compute) {}

  Scalar read(ArrayRef<Scalar> at) override {
    SmallVector<Value> source{batch, channel};
    std::optional<Scalar> inside;
    for (auto [position, border] : llvm::zip(at, borders)) {
      Scalar fits = (position >= 0) & (position <= border.length - 1);
      inside = inside ? *inside & fits : fits;
      Scalar whole = padding == "reflection" ? reflect(position, border) : position;
      source.push_back(wholeIndex(whole, border.count).value);
    }
    OpBuilder &builder = at.front().emitter();
    Scalar value = Scalar(builder, at.front().location(), load(builder, at.front().location(), tensor, source));
    value = value.to(compute);
    return padding == "zeros" ? select(*inside, value, value.constant(0)) : value;
  }

  /// Reflects at the borders until the position lies between them.
  static Scalar reflect(Scalar x, const Border &border) {
    Scalar range = border.high - border.low, period = max(range * 2, 1e-6);
    Scalar folded = floorMod(x - border.low, period);
    Scalar inside = min(folded, period - folded) + border.low;
    Scalar fits = (x >= border.low) & (x <= border.high);
    return select(fits, x, select(range > 0, inside, border.low));
  }

private:
  Value tensor, batch, channel;
  ArrayRef<Border> borders;
  StringRef padding;
  Type compute;
};
} // namespace

/// Converts a grid coordinate in [-1, 1] to a position, moved inside the borders if the padding mode requires it.
static Scalar positionOf(Scalar coordinate, const Border &border, const GridOptions &options) {
  Scalar position =
      options.alignCorners ? (coordinate + 1) / 2 * (border.length - 1) : ((coordinate + 1) * border.length - 1) / 2;
  if (options.mode == "nearest")
    position = roundEven(position);
  if (options.padding == "reflection")
    return PaddedImage::reflect(position, border);
  Scalar fits = (position >= border.low) & (position <= border.high);
  Scalar clamped = max(min(position, border.length - 1), 0);
  return options.padding == "border" && options.mode != "cubic" ? select(fits, position, clamped) : position;
}

static Border borderOf(OpBuilder &builder, Location loc, const SymbolicInt &value, bool alignCorners, Type compute) {
  Scalar count(builder, loc, extent(builder, loc, value));
  Scalar length = count.to(compute);
  return {count, length, length.constant(alignCorners ? 0 : -0.5), alignCorners ? length - 1 : length - 0.5};
}

static std::optional<GridOptions> gridOptions(Builder &b, const Attributes &a) {
  StringRef mode = a.getString("mode", "linear"), padding = a.getString("padding_mode", "zeros");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  if (llvm::is_contained({"linear", "nearest", "cubic"}, mode) &&
      llvm::is_contained({"zeros", "border", "reflection"}, padding))
    return GridOptions{mode, padding, a.getInt("align_corners") != 0};
  b.fail("grid_sample: unknown mode '" + mode + "' or padding '" + padding + "'");
  return std::nullopt;
}

namespace composites {
/// in: x [n, c, d...], grid [n, y..., k] of coordinates in [-1, 1], starting with the last dimension's. Attributes:
/// mode, padding_mode, align_corners. With padding "border", cubic neighbours of a position outside the image are
/// clamped one by one, as in PyTorch and ONNX Runtime (onnx.reference uses those of the nearest position inside).
Results grid_sample(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), grid = shapeOf(in[1]), result;
  std::optional<GridOptions> options = gridOptions(b, a);
  size_t dims = shape.size() - 2;
  if (!options)
    return {};
  if (shape.size() < 3 || grid.size() != shape.size() ||
      provablyDiffer(grid.back(), SymbolicInt(static_cast<int64_t>(dims))) || dims > 3)
    return {b.contradict("grid_sample: a grid of shape " + toString(grid) + " does not fit a tensor of shape " +
                         toString(shape))};
  requireExtents(b, {grid.front(), grid.back()}, {shape[0], SymbolicInt(static_cast<int64_t>(dims))}, "grid_sample");
  result = {shape[0], shape[1]};
  result.append(grid.begin() + 1, grid.end() - 1);
  // Positions and weights have fractions, whatever the elements are.
  Type type = elementTypeOf(in[0]), compute = isFloat(in[0]) ? computeType(type) : Type(b.operations.getF64Type());
  Value image = isFloat(in[0]) ? in[0] : b.cast(in[0], compute);
  Type element = elementTypeOf(image);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    SmallVector<Border> borders;
    SmallVector<Scalar> at;
    SmallVector<Value> place{index[0]};
    llvm::append_range(place, index.drop_front(2));
    place.push_back({});
    for (size_t dim = 0; dim < dims; ++dim) {
      borders.push_back(borderOf(builder, loc, shape[2 + dim], options->alignCorners, compute));
      place.back() = builder.create<arith::ConstantIndexOp>(loc, dims - 1 - dim);
      Scalar coordinate(builder, loc, load(builder, loc, tensors[1], place));
      at.push_back(positionOf(coordinate.to(compute), borders.back(), *options));
    }
    PaddedImage padded(tensors[0], index[0], index[1], borders, options->padding, compute);
    Scalar value = options->mode == "nearest"  ? padded.read(at)
                   : options->mode == "linear" ? sampleLinear(padded, at)
                                               : sampleCubic(padded, at);
    return value.to(element).value;
  };
  Value sampled = b.generate({image, in[1]}, result, element, body);
  return {sampled ? b.cast(sampled, type) : sampled};
}

/// The coordinate of a position in [0, count): the ends of [-1, 1], or the middles of equal parts of it. A single one
/// is in the middle, as in PyTorch, which ONNX refers to (its formula divides by zero there).
static Scalar gridCoordinate(Scalar position, Scalar count, bool alignCorners) {
  if (!alignCorners)
    return (2.0 * position + 1) / count - 1;
  return select(count > 1, 2.0 * position / max(count - 1, 1) - 1, count.constant(0));
}

/// in: theta [n, k, k + 1]. Attributes: `size` [n, c, d...] (k extents), align_corners. Result: [n, d..., k].
Results affine_grid(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> size = a.getDims("size");
  int64_t dims = size ? static_cast<int64_t>(size->size()) - 2 : 0;
  Shape theta = shapeOf(in[0]);
  if (dims < 1 || theta.size() != 3 || provablyDiffer(theta[0], (*size)[0]) ||
      provablyDiffer(theta[1], SymbolicInt(dims)) || provablyDiffer(theta[2], SymbolicInt(dims + 1)))
    return {b.contradict("affine_grid: expected theta [n, k, k + 1] and a size of k + 2 extents, got shape " +
                         toString(theta))};
  for (const SymbolicInt &difference : {(*size)[0] - theta[0], theta[0] - (*size)[0]})
    b.require(difference, "the first extent of the size is not the number of matrices");
  requireExtents(b, ArrayRef(theta).drop_front(), {SymbolicInt(dims), SymbolicInt(dims + 1)}, "affine_grid: theta");
  Shape result{theta[0]};
  result.append(size->begin() + 2, size->end());
  result.push_back(SymbolicInt(dims));
  bool alignCorners = a.getInt("align_corners") != 0;
  Type type = elementTypeOf(in[0]);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Type compute = computeType(type);
    auto entry = [&](int64_t column) {
      Value at = builder.create<arith::ConstantIndexOp>(loc, column);
      return Scalar(builder, loc, load(builder, loc, tensors[0], {index[0], index.back(), at})).to(compute);
    };
    Scalar total = entry(dims);
    for (int64_t dim = 0; dim < dims; ++dim) {
      Scalar count = Scalar(builder, loc, extent(builder, loc, (*size)[2 + dim])).to(compute);
      Scalar position = Scalar(builder, loc, index[1 + dim]).to(compute);
      total = total + entry(dims - 1 - dim) * gridCoordinate(position, count, alignCorners);
    }
    return total.to(type).value;
  };
  return {b.generate(in[0], result, type, body)};
}
} // namespace composites
} // namespace perpend::graph
