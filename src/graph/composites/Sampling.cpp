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

namespace {
/// Extents and borders of one spatial dimension of the image.
struct Border {
  Scalar count, length, low, high;
};

struct GridOptions {
  StringRef mode, padding;
  bool alignCorners;
};
} // namespace

/// Reflects at the borders until the position lies between them.
static Scalar reflect(Scalar x, const Border &border) {
  Scalar range = border.high - border.low, period = max(range * 2, 1e-6);
  Scalar folded = floorMod(x - border.low, period);
  Scalar inside = min(folded, period - folded) + border.low;
  Scalar fits = (x >= border.low) & (x <= border.high);
  return select(fits, x, select(range > 0, inside, border.low));
}

/// Converts a grid coordinate in [-1, 1] to a position, moved inside the borders if the padding mode requires it.
static Scalar positionOf(Scalar coordinate, const Border &border, const GridOptions &options) {
  Scalar position =
      options.alignCorners ? (coordinate + 1) / 2 * (border.length - 1) : ((coordinate + 1) * border.length - 1) / 2;
  if (options.mode == "nearest")
    position = roundEven(position);
  if (options.padding == "reflection")
    return reflect(position, border);
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

namespace {
/// Computes what depends on the grid alone, as tensors of its shape without the last dimension: all channels read them.
class GridSampler {
public:
  /// image: [n, c, d...], of floats.
  GridSampler(Builder &builder, Value image, Value grid, const GridOptions &options)
      : builder(builder), image(image), grid(grid), options(options), shape(shapeOf(image)),
        compute(computeType(elementTypeOf(image))), neighbours(options.mode == "nearest"  ? 1
                                                               : options.mode == "linear" ? 2
                                                                                          : 4) {
    bool isShort = elementCount(ArrayRef(shape).drop_front(2)).constant().value_or(INT64_MAX) <= INT32_MAX;
    placeType = isShort ? Type(builder.operations.getI32Type()) : builder.i64(); // vectors hold more of 32 bits
  }

  Value sample() {
    const auto dims = static_cast<unsigned>(shape.size()) - 2;
    SymbolicInt pixels = elementCount(ArrayRef(shape).drop_front(2));
    SmallVector<Value> operands{builder.reshape(image, {shape[0], shape[1], pixels})};
    for (unsigned dim = 0; dim < dims; ++dim)
      appendAxis(dim, elementCount(ArrayRef(shape).drop_front(3 + dim)), operands);
    Shape points = shapeOf(grid), result{shape[0], shape[1]};
    result.append(points.begin() + 1, points.end() - 1);
    return builder.generate(operands, result, elementTypeOf(image),
                            [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
                              return interpolated(b, loc, index, tensors, dims).to(elementTypeOf(image)).value;
                            });
  }

private:
  Value eachPoint(Type type, unsigned dim, llvm::function_ref<Scalar(Scalar position, const Border &border)> formula) {
    auto body = [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
      Border border = borderOf(b, loc, shape[2 + dim], options.alignCorners, compute);
      SmallVector<Value> place(index);
      place.push_back(b.create<arith::ConstantIndexOp>(loc, shape.size() - 3 - dim));
      Scalar coordinate(b, loc, load(b, loc, tensors[0], place));
      return formula(positionOf(coordinate.to(compute), border, options), border).value;
    };
    Shape points = shapeOf(grid);
    points.pop_back();
    return builder.generate(grid, points, type, body);
  }

  /// For each neighbour its place, in elements, and its weight unless all have the weight 1. With padding "zeros",
  /// places outside are negative, and stay so if those of other dimensions are combined with them by `or`.
  void appendAxis(unsigned dim, const SymbolicInt &stride, SmallVector<Value> &operands) {
    for (int number = 0; number < neighbours; ++number) {
      const int offset = neighbours == 4 ? number - 1 : number;
      operands.push_back(eachPoint(placeType, dim, [&](Scalar position, const Border &border) {
        Scalar at = neighbours == 1 ? position : floor(position) + offset;
        Scalar whole = options.padding == "reflection" ? reflect(at, border) : at;
        Scalar index = wholeIndex(whole, border.count);
        Scalar place = (index * index.with(extent(index.emitter(), index.location(), stride))).to(placeType);
        bool hasOutside = options.padding == "zeros";
        return hasOutside ? select((at >= 0) & (at <= border.length - 1), place, place.integer(-1)) : place;
      }));
      if (neighbours > 1)
        operands.push_back(eachPoint(compute, dim, [&](Scalar position, const Border &) {
          Scalar fraction = position - floor(position);
          return neighbours == 4 ? cubicShare(fraction, offset) : offset ? fraction : 1.0 - fraction;
        }));
    }
  }

  /// The weighted sum of the neighbours of a point.
  Scalar interpolated(OpBuilder &b, Location loc, ValueRange index, ValueRange tensors, unsigned dims) {
    SmallVector<Value> point{index[0]};
    llvm::append_range(point, index.drop_front(2));
    SmallVector<Scalar> at;
    for (Value tensor : tensors.drop_front())
      at.emplace_back(b, loc, load(b, loc, tensor, point));
    auto neighbour = [&](size_t number) {
      std::optional<Scalar> place, sign, weight;
      for (size_t dim = 0, rest = number; dim < dims; ++dim, rest /= neighbours) {
        size_t first = dim * neighbours + rest % neighbours;
        Scalar part = at[neighbours > 1 ? 2 * first : first];
        place = place ? *place + part : part;
        sign = sign ? *sign | part : part;
        if (neighbours > 1)
          weight = weight ? *weight * at[2 * first + 1] : at[2 * first + 1];
      }
      bool hasOutside = options.padding == "zeros";
      Scalar source = (hasOutside ? max(*place, 0) : *place).to(b.getIndexType());
      Scalar value = Scalar(b, loc, load(b, loc, tensors[0], {index[0], index[1], source.value})).to(compute);
      value = hasOutside ? select(*sign < 0, value.constant(0), value) : value;
      return weight ? *weight * value : value;
    };
    Scalar total = neighbour(0);
    for (size_t number = 1; number < power(neighbours, dims); ++number)
      total = total + neighbour(number);
    return total;
  }

  static size_t power(size_t base, unsigned exponent) {
    size_t result = 1;
    for (unsigned i = 0; i < exponent; ++i)
      result *= base;
    return result;
  }

  Builder &builder;
  Value image, grid;
  const GridOptions &options;
  Shape shape;
  Type compute, placeType;
  int neighbours; // along each dimension
};
} // namespace

namespace composites {
/// in: x [n, c, d...], grid [n, y..., k] of coordinates in [-1, 1], starting with the last dimension's. Attributes:
/// mode, padding_mode, align_corners. With padding "border", cubic neighbours of a position outside the image are
/// clamped one by one, as in PyTorch and ONNX Runtime (onnx.reference uses those of the nearest position inside).
Results grid_sample(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), grid = shapeOf(in[1]);
  std::optional<GridOptions> options = gridOptions(b, a);
  size_t dims = shape.size() - 2;
  if (!options)
    return {};
  if (shape.size() < 3 || grid.size() != shape.size() ||
      provablyDiffer(grid.back(), SymbolicInt(static_cast<int64_t>(dims))) || dims > 3)
    return {b.contradict("grid_sample: a grid of shape " + toString(grid) + " does not fit a tensor of shape " +
                         toString(shape))};
  requireExtents(b, {grid.front(), grid.back()}, {shape[0], SymbolicInt(static_cast<int64_t>(dims))}, "grid_sample");
  // Positions and weights have fractions, whatever the elements are.
  Type type = elementTypeOf(in[0]);
  Value image = isFloat(in[0]) ? in[0] : b.cast(in[0], b.operations.getF64Type());
  Value sampled = image && in[1] ? GridSampler(b, image, in[1], *options).sample() : Value();
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
