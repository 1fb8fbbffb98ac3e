//===- Patches.cpp - overlapping blocks of tensors ------------------------===//
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
  int64_t stride, low, dilation;
  SymbolicInt block, image, places;
};
} // namespace

static std::optional<SmallVector<BlockAxis>> blockAxes(Builder &b, const Attributes &a) {
  std::optional<Shape> image = a.getDims("image_shape"), block = a.getDims("block_shape");
  size_t dims = block ? block->size() : 0;
  SmallVector<int64_t> ones(dims, 1), strides = a.getInts("strides", ones), dilations = a.getInts("dilations", ones);
  SmallVector<int64_t> pads = a.getInts("pads", SmallVector<int64_t>(2 * dims, 0));
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!image || image->size() != dims || strides.size() != dims || dilations.size() != dims ||
      pads.size() != 2 * dims || !llvm::all_of(strides, isPositive)) {
    b.fail("col2im: expected as many block extents, positive strides and dilations as image extents, and twice as "
           "many pads");
    return std::nullopt;
  }
  SmallVector<BlockAxis> axes;
  for (size_t i = 0; i < dims; ++i) {
    SymbolicInt reach = ((*block)[i] - SymbolicInt(1)) * dilations[i];
    SymbolicInt span = (*image)[i] + SymbolicInt(pads[i] + pads[dims + i] - 1) - reach;
    axes.push_back({strides[i], pads[i], dilations[i], (*block)[i], (*image)[i],
                    floorDiv(span, SymbolicInt(strides[i])) + SymbolicInt(1)});
    b.require((*block)[i] - SymbolicInt(1), "col2im: a block extent is 0");
  }
  return axes;
}

/// What the element `index.back()` of the blocks adds to the image at the indices before.
static Scalar contribution(OpBuilder &builder, Location loc, ValueRange index, Value columns, ArrayRef<BlockAxis> axes,
                           const SymbolicInt &taps) {
  Scalar channel(builder, loc, index[1]), tap(builder, loc, index.back()), rest = tap;
  Scalar place = channel.constant(0), step = channel.constant(1);
  std::optional<Scalar> hits;
  for (size_t dim = axes.size(); dim-- > 0;) {
    const BlockAxis &axis = axes[dim];
    Scalar block = tap.with(extent(builder, loc, axis.block)), offset = rest % block;
    rest = rest / block;
    Scalar from =
        tap.with(index[2 + dim]) + static_cast<double>(axis.low) - offset * static_cast<double>(axis.dilation);
    Scalar stride = from.constant(static_cast<double>(axis.stride));
    Scalar at = floorDiv(from, stride), count = from.with(extent(builder, loc, axis.places));
    Scalar fits = equal(at * stride, from) & (at >= 0) & (at < count);
    hits = hits ? *hits & fits : fits;
    place = place + max(min(at, count - 1), 0) * step;
    step = step * count;
  }
  Scalar row = channel * tap.with(extent(builder, loc, taps)) + tap;
  Scalar value(builder, loc, load(builder, loc, columns, {index[0], row.value, place.value}));
  return select(*hits, value, value.constant(0));
}

namespace composites {
/// in: columns [n, c block, places]. Attributes: image_shape, block_shape, strides, pads, dilations.
Results col2im(Builder &b, Values in, const Attributes &a) {
  std::optional<SmallVector<BlockAxis>> axes = blockAxes(b, a);
  if (!axes)
    return {};
  Shape shape = shapeOf(in[0]);
  SymbolicInt places(1), taps(1);
  for (const BlockAxis &axis : *axes) {
    taps *= axis.block;
    places *= axis.places;
  }
  if (axes->empty() || shape.size() != 3 || taps == SymbolicInt(0) || provablyDiffer(shape[2], places) ||
      provablyDiffer(floorDiv(shape[1], taps) * taps, shape[1]))
    return {b.contradict("col2im: expected columns [n, c * " + taps.str() + ", " + places.str() + "], got shape " +
                         toString(shape))};
  SymbolicInt channels = floorDiv(shape[1], taps);
  for (const SymbolicInt &difference : {channels * taps - shape[1], shape[2] - places, places - shape[2]})
    b.require(difference, "col2im: the columns do not fit the image and its blocks");
  Shape result{shape[0], channels};
  for (const BlockAxis &axis : *axes)
    result.push_back(axis.image);
  int64_t rank = result.size();
  result.push_back(taps);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    return contribution(builder, loc, index, tensors[0], *axes, taps).value;
  };
  // Of truth values, the sum is whether any is true: more than none.
  Type type = elementTypeOf(in[0]), compute = type.isInteger(1) ? b.operations.getI32Type() : computeType(type);
  Value parts = b.generate(b.cast(in[0], compute), result, compute, body);
  return {parts ? b.cast(sum(b, parts, rank, false), type) : parts};
}

/// Windows of `size` elements along `axis`, `step` apart, whose elements are a new last dimension.
Results frames(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]));
  std::optional<Shape> size = a.getDims("size"), step = a.getDims("step");
  if (axis < 0)
    return {};
  if (!size || size->size() != 1 || !step || step->size() != 1)
    return {b.fail("frames: expected one size and one step")};
  Shape result = shapeOf(in[0]);
  SymbolicInt rest = result[axis] - size->front();
  b.require(rest, "frames: a window is longer than the dimension");
  b.require(step->front() - 1, "frames: the step is 0");
  if (b.hasFailed())
    return {};
  result[axis] = floorDiv(rest, step->front()) + 1;
  result.push_back(size->front());
  return {b.generate(in[0], result, elementTypeOf(in[0]),
                     [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                       SmallVector<Value> at(index.drop_back());
                       Scalar window(builder, loc, at[axis]);
                       Scalar first = window * window.with(extent(builder, loc, step->front()));
                       at[axis] = (first + window.with(index.back())).value;
                       return load(builder, loc, tensors[0], at);
                     })};
}
} // namespace composites
} // namespace perpend::graph
