//===- Patches.cpp - images from their overlapping blocks -----------------===//
//
// Source: ONNX Col2Im-18.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// One dimension of the image and of its blocks.
struct BlockAxis {
  int64_t block, stride, low, dilation;
  SymbolicInt image, places;
};
} // namespace

static std::optional<SmallVector<BlockAxis>> blockAxes(Builder &b, const Attributes &a) {
  std::optional<Shape> image = a.getDims("image_shape");
  SmallVector<int64_t> block = a.getInts("block_shape");
  size_t dims = block.size();
  SmallVector<int64_t> ones(dims, 1), strides = a.getInts("strides", ones), dilations = a.getInts("dilations", ones);
  SmallVector<int64_t> pads = a.getInts("pads", SmallVector<int64_t>(2 * dims, 0));
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!image || image->size() != dims || strides.size() != dims || dilations.size() != dims ||
      pads.size() != 2 * dims || !llvm::all_of(strides, isPositive) || !llvm::all_of(block, isPositive)) {
    b.fail("col2im: expected as many block extents, positive strides and dilations as image extents, and twice as "
           "many pads");
    return std::nullopt;
  }
  SmallVector<BlockAxis> axes;
  for (size_t i = 0; i < dims; ++i) {
    SymbolicInt span = (*image)[i] + SymbolicInt(pads[i] + pads[dims + i] - dilations[i] * (block[i] - 1) - 1);
    axes.push_back({block[i], strides[i], pads[i], dilations[i], (*image)[i],
                    floorDiv(span, SymbolicInt(strides[i])) + SymbolicInt(1)});
  }
  return axes;
}

/// Adds what one element of the block contributes at `index`, from column `tap`.
static Scalar contribution(OpBuilder &builder, Location loc, ValueRange index, Value columns, ArrayRef<BlockAxis> axes,
                           ArrayRef<int64_t> offsets, int64_t tap, int64_t taps) {
  Scalar channel(builder, loc, index[1]), place = channel.constant(0);
  std::optional<Scalar> hits;
  for (auto [dim, axis] : llvm::enumerate(axes)) {
    double shift = static_cast<double>(axis.low - offsets[dim] * axis.dilation);
    Scalar from = Scalar(builder, loc, index[2 + dim]) + shift,
           stride = from.constant(static_cast<double>(axis.stride));
    Scalar at = floorDiv(from, stride), count = from.with(extent(builder, loc, axis.places));
    Scalar fits = equal(at * stride, from) & (at >= 0) & (at < count);
    hits = hits ? *hits & fits : fits;
    place = place * count + max(min(at, count - 1), 0);
  }
  Scalar row = channel * static_cast<double>(taps) + static_cast<double>(tap);
  Scalar value(builder, loc, load(builder, loc, columns, {index[0], row.value, place.value}));
  return select(*hits, value, value.constant(0));
}

/// Goes to the next element of the block in row-major order.
static void advance(SmallVectorImpl<int64_t> &offsets, ArrayRef<BlockAxis> axes) {
  for (size_t dim = axes.size(); dim-- > 0;) {
    if (++offsets[dim] < axes[dim].block)
      return;
    offsets[dim] = 0;
  }
}

namespace composites {
/// in: columns [n, c block, places]. Attributes: image_shape, block_shape, strides, pads, dilations.
Results col2im(Builder &b, Values in, const Attributes &a) {
  std::optional<SmallVector<BlockAxis>> axes = blockAxes(b, a);
  if (!axes)
    return {};
  int64_t taps = 1;
  Shape shape = shapeOf(in[0]), result;
  SymbolicInt places(1);
  for (const BlockAxis &axis : *axes) {
    taps *= axis.block;
    places *= axis.places;
  }
  std::optional<SymbolicInt> channels = shape.size() == 3 ? exactDiv(shape[1], SymbolicInt(taps)) : std::nullopt;
  if (!channels || provablyDiffer(shape[2], places) || taps > 4096)
    return {b.fail("col2im: expected columns [n, c * " + Twine(taps) + ", " + places.str() + "], got shape " +
                   toString(shape))};
  result = {shape[0], *channels};
  for (const BlockAxis &axis : *axes)
    result.push_back(axis.image);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    SmallVector<int64_t> offsets(axes->size(), 0);
    std::optional<Scalar> total;
    for (int64_t tap = 0; tap < taps; ++tap, advance(offsets, *axes)) {
      Scalar part = contribution(builder, loc, index, tensors[0], *axes, offsets, tap, taps);
      total = total ? *total + part : part;
    }
    return total->value;
  };
  Type type = elementTypeOf(in[0]);
  return {b.cast(b.generate(b.cast(in[0], computeType(type)), result, computeType(type), body), type)};
}
} // namespace composites
} // namespace perpend::graph
