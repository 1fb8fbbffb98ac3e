//===- Movement.cpp - reshaping, slicing, padding, joining ----------------===//

#include "graph/composites/Division.h"
#include "graph/composites/Formulas.h"
#include "support/SaturatedInteger.h"

using namespace mlir;

namespace perpend::graph {

Value reshapeTo(Builder &b, Value input, Shape shape) {
  if (!input)
    return {};
  SymbolicInt *open = nullptr, known(1);
  for (SymbolicInt &extent : shape) {
    if (extent != SymbolicInt(-1))
      known *= extent;
    else if (open)
      return b.fail("reshape: at most one dimension may be -1, got " + toString(shape));
    else
      open = &extent;
  }
  if (open) {
    SymbolicInt count = elementCount(shapeOf(input));
    std::optional<SymbolicInt> quotient = divideEvenly(count, known);
    if (!quotient)
      return b.contradict("cannot reshape a tensor of shape " + toString(shapeOf(input)) + " to " + toString(shape) +
                          ": " + count.str() + " elements do not divide by " + known.str());
    *open = *quotient;
  }
  return b.reshape(input, shape);
}

/// Exporters use numbers from here on to mean "to the end".
static constexpr int64_t unbounded = 1000000000;

/// A bound of numpy's slice: negative counts from the end, then at most `high`. An expression such as -mod(n, 4) may be
/// negative for some extents only: the extent is then added times min(max(-position, 0), 1).
static SymbolicInt slicePosition(const SymbolicInt &position, const SymbolicInt &extent, int64_t low,
                                 const SymbolicInt &high) {
  std::optional<int64_t> constant = position.constant();
  if (constant && *constant >= unbounded)
    return high;
  if (constant && *constant <= -unbounded)
    return SymbolicInt(low);
  SymbolicInt isNegative = min(max(-position, SymbolicInt(0)), SymbolicInt(1));
  return min(position + extent * isNegative, high);
}

namespace {
/// A slice of one dimension.
struct SliceRange {
  SymbolicInt start, size;
};
} // namespace

/// The size is max(end - start, 0). Positions are not clamped from below if that maximum does it already, which gives
/// simpler expressions for an extent that may be 0: x[1:] and x[:-1] both have max(n - 1, 0).
static SliceRange forwardSlice(const SymbolicInt &from, const SymbolicInt &to, const SymbolicInt &extent,
                               int64_t step) {
  SymbolicInt start = slicePosition(from, extent, 0, extent), end = slicePosition(to, extent, 0, extent);
  SymbolicInt span = end - start;
  if (!start.knownNonNegative())
    span = min(span, end);
  return {max(start, SymbolicInt(0)), max(ceilDiv(span, SymbolicInt(step)), SymbolicInt(0))};
}

/// Starts at the first element at least, as ONNX specifies; in numpy a slice that starts before it is empty.
static SliceRange backwardSlice(const SymbolicInt &from, const SymbolicInt &to, const SymbolicInt &extent,
                                int64_t step) {
  SymbolicInt last = extent - 1;
  SymbolicInt start = slicePosition(from, extent, -1, last);
  if (!start.knownNonNegative() && start != last)
    start = min(max(start, SymbolicInt(0)), last);
  SymbolicInt end = max(slicePosition(to, extent, -1, last), SymbolicInt(-1));
  return {start, max(ceilDiv(start - end, SymbolicInt(-step)), SymbolicInt(0))};
}

Value sliceAxes(Builder &b, Value input, ArrayRef<int64_t> axes, ArrayRef<SymbolicInt> starts,
                ArrayRef<SymbolicInt> ends, ArrayRef<int64_t> steps) {
  if (!input)
    return {};
  Shape sizes = shapeOf(input), firsts(sizes.size(), SymbolicInt(0));
  SmallVector<int64_t> strides(sizes.size(), 1);
  if (axes.size() != starts.size() || axes.size() != ends.size() || axes.size() != steps.size())
    return b.fail("slice: expected as many starts, ends and steps as axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = normalAxis(b, axes[i], sizes.size()), step = steps[i];
    if (axis < 0)
      return {};
    if (step == 0)
      return b.fail("slice: step 0 of axis " + Twine(axis));
    SliceRange range = step > 0 ? forwardSlice(starts[i], ends[i], sizes[axis], step)
                                : backwardSlice(starts[i], ends[i], sizes[axis], step);
    sizes[axis] = range.size;
    firsts[axis] = range.start;
    strides[axis] = step;
  }
  return b.slice(input, firsts, sizes, strides);
}

Value sliceAxis(Builder &b, Value input, int64_t axis, const SymbolicInt &start, const SymbolicInt &size) {
  if (!input)
    return {};
  Shape sizes = shapeOf(input), starts(sizes.size(), SymbolicInt(0));
  sizes[axis] = size;
  starts[axis] = start;
  return b.slice(input, starts, sizes, SmallVector<int64_t>(sizes.size(), 1));
}

static TypedAttr scalarAttribute(Type elementType, double value) {
  Type scalar = scalarType(elementType);
  if (auto floating = dyn_cast<FloatType>(scalar))
    return FloatAttr::get(floating, value);
  return IntegerAttr::get(scalar,
                          support::saturatedInteger(value, scalar.getIntOrFloatBitWidth(), isUnsigned(elementType)));
}

/// Maps a position in the padded tensor to one in the source, along one dimension. `isOnce`: the padding is at most one
/// period, so that no remainder is needed.
static Scalar paddedSource(Scalar position, Scalar extent, StringRef mode, bool isOnce) {
  if (mode == "edge")
    return max(min(position, extent - 1), 0);
  if (mode == "wrap")
    return floorMod(position, extent);
  Scalar last = extent - 1;
  if (isOnce) {
    Scalar distance = max(position, position * -1);
    return min(distance, last * 2 - distance);
  }
  Scalar period = max(last * 2, 1); // reflect; an extent of 1 repeats its only element
  Scalar folded = floorMod(position, period);
  return min(folded, last * 2 - folded);
}

/// A vector of integers with `value` around it, negative padding cuts: what is known of its elements.
static Value followPadding(Builder &b, Value result, Value input, const SymbolicInt &low, double value) {
  constexpr int64_t mostFollowed = 128;
  std::optional<Shape> inside = b.contents(input);
  std::optional<int64_t> before = low.constant();
  std::optional<int64_t> count = result && rankOf(result) == 1 ? shapeOf(result)[0].constant() : std::nullopt;
  if (!inside || !before || !count || *count > mostFollowed || isFloat(result))
    return result;
  Shape elements;
  for (int64_t source = -*before; source < *count - *before; ++source) {
    bool isInside = source >= 0 && source < static_cast<int64_t>(inside->size());
    elements.push_back(isInside ? (*inside)[source] : SymbolicInt(static_cast<int64_t>(value)));
  }
  b.recordContents(result, elements);
  return result;
}

/// What a mode puts before or behind the elements of an axis, `amount` long: a slice, backwards or repeated.
static Value paddingPiece(Builder &b, Value x, int64_t axis, const SymbolicInt &amount, StringRef mode, bool isLow) {
  Shape shape = shapeOf(x), starts(shape.size(), SymbolicInt(0)), sizes = shape;
  SmallVector<int64_t> steps(shape.size(), 1);
  SymbolicInt extent = shape[axis];
  shape[axis] = amount;
  if (mode == "edge") {
    starts[axis] = isLow ? SymbolicInt(0) : extent - SymbolicInt(1);
    sizes[axis] = SymbolicInt(1);
    return b.broadcastTo(b.slice(x, starts, sizes, steps), shape);
  }
  const bool isReflected = mode == "reflect";
  starts[axis] = isReflected ? (isLow ? amount : extent - SymbolicInt(2)) : isLow ? extent - amount : SymbolicInt(0);
  steps[axis] = isReflected ? -1 : 1;
  return b.slice(x, starts, shape, steps);
}

/// Whether padding repeats no element of the axis twice on one side.
static bool isOnePiece(const SymbolicInt &extent, const SymbolicInt &amount, StringRef mode) {
  SymbolicInt most =
      mode == "edge" ? extent - SymbolicInt(1) : extent - amount - SymbolicInt(mode == "reflect" ? 1 : 0);
  return amount.knownNonNegative() && most.knownNonNegative();
}

/// Contiguous pieces are copied as vectors, where positions that are computed for each element would be loaded one by
/// one: of the last dimension, if it is long and padded by known amounts.
static bool isPaddedInPieces(ArrayRef<SymbolicInt> shape, ArrayRef<SymbolicInt> low, ArrayRef<SymbolicInt> high,
                             StringRef mode) {
  constexpr int64_t longLine = 32;
  if (shape.empty() || !low.back().isConstant() || !high.back().isConstant() ||
      low.back() + high.back() == SymbolicInt(0))
    return false;
  return shape.back().knownAtLeast(longLine) && isOnePiece(shape.back(), low.back(), mode) &&
         isOnePiece(shape.back(), high.back(), mode);
}

/// Pads another axis than the last, whose rows are read whole: by a list of positions, if their number is known.
static Value padRows(Builder &b, Value x, int64_t axis, const SymbolicInt &low, const SymbolicInt &high,
                     StringRef mode) {
  const SymbolicInt none(0), extent = shapeOf(x)[axis];
  if (low == none && high == none)
    return x;
  std::optional<int64_t> count = extent.constant(), before = low.constant(), behind = high.constant();
  if (!count || !before || !behind || !isOnePiece(extent, low, mode) || !isOnePiece(extent, high, mode)) {
    Shape lows(rankOf(x), none), highs = lows;
    lows[axis] = low;
    highs[axis] = high;
    return padTensor(b, x, lows, highs, mode);
  }
  Shape positions;
  for (int64_t i = -*before; i < *count + *behind; ++i) {
    const bool isOutside = i < 0 || i >= *count;
    positions.emplace_back(!isOutside       ? i
                           : mode == "edge" ? (i < 0 ? 0 : *count - 1)
                           : mode == "wrap" ? (i < 0 ? i + *count : i - *count)
                                            : (i < 0 ? -i : 2 * (*count - 1) - i));
  }
  return b.gather(x, knownIntegers(b, positions, SymbolicInt(static_cast<int64_t>(positions.size())), b.i64()), axis);
}

static Value padInPieces(Builder &b, Value x, ArrayRef<SymbolicInt> low, ArrayRef<SymbolicInt> high, StringRef mode) {
  const int64_t last = rankOf(x) - 1;
  for (int64_t axis = 0; x && axis < last; ++axis)
    x = padRows(b, x, axis, low[axis], high[axis], mode);
  SmallVector<Value> pieces{x};
  if (x && low.back() != SymbolicInt(0))
    pieces.insert(pieces.begin(), paddingPiece(b, x, last, low.back(), mode, true));
  if (x && high.back() != SymbolicInt(0))
    pieces.push_back(paddingPiece(b, x, last, high.back(), mode, false));
  return b.concat(pieces, last);
}

Value padTensor(Builder &b, Value input, ArrayRef<SymbolicInt> low, ArrayRef<SymbolicInt> high, StringRef mode,
                double value) {
  if (!input)
    return {};
  Shape shape = shapeOf(input), result;
  if (low.size() != shape.size() || high.size() != shape.size())
    return b.contradict("pad: expected " + Twine(shape.size()) + " begins and ends, got " + Twine(low.size()) +
                        " and " + Twine(high.size()));
  if (mode == "constant")
    return followPadding(b, b.pad(input, low, high, scalarAttribute(elementTypeOf(input), value)), input,
                         low.empty() ? SymbolicInt(0) : low[0], value);
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    return b.fail("pad: expected mode constant, reflect, edge or wrap, got '" + mode + "'");
  if (isPaddedInPieces(shape, low, high, mode))
    return padInPieces(b, input, low, high, mode);
  for (size_t i = 0; i < shape.size(); ++i)
    result.push_back(shape[i] + low[i] + high[i]);
  return b.generate(input, result, elementTypeOf(input),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      SmallVector<Value> source(index);
                      for (size_t i = 0; i < shape.size(); ++i) {
                        if (low[i] == SymbolicInt(0) && high[i] == SymbolicInt(0))
                          continue;
                        Scalar begin(builder, loc, extent(builder, loc, low[i]));
                        Scalar size(builder, loc, extent(builder, loc, shape[i]));
                        bool isOnce = (shape[i] - SymbolicInt(1) - low[i]).knownNonNegative() &&
                                      (shape[i] - SymbolicInt(1) - high[i]).knownNonNegative();
                        source[i] = paddedSource(begin.with(index[i]) - begin, size, mode, isOnce).value;
                      }
                      return load(builder, loc, tensors[0], source);
                    });
}

Value padTensor(Builder &b, Value input, ArrayRef<SymbolicInt> low, ArrayRef<SymbolicInt> high, Value element) {
  if (!input || !element)
    return {};
  Value inside = padTensor(b, b.splat(shapeOf(input), 1, b.operations.getI1Type()), low, high, "constant", 0);
  Value padded = padTensor(b, input, low, high, "constant", 0);
  return where(b, inside, padded, b.cast(b.reshape(element, {}), elementTypeOf(input)));
}

Value tileTensor(Builder &b, Value input, ArrayRef<SymbolicInt> repeats) {
  if (!input)
    return {};
  Shape shape = shapeOf(input), wide, merged;
  if (repeats.size() < shape.size())
    return b.contradict("tile: expected " + Twine(shape.size()) + " repeats, got " + Twine(repeats.size()));
  shape.insert(shape.begin(), repeats.size() - shape.size(), SymbolicInt(1));
  SmallVector<int64_t> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    wide.push_back(repeats[i]);
    wide.push_back(shape[i]);
    dims.push_back(2 * i + 1);
    merged.push_back(repeats[i] * shape[i]);
  }
  return b.reshape(b.broadcast(b.reshape(input, shape), dims, wide), merged);
}

Value expandTo(Builder &b, Value input, ArrayRef<SymbolicInt> shape) {
  if (!input)
    return {};
  Shape from = shapeOf(input), result(shape);
  if (from.size() > result.size())
    result.insert(result.begin(), from.size() - result.size(), SymbolicInt(1));
  size_t offset = result.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    SymbolicInt &extent = result[offset + i];
    if (extent == SymbolicInt(1) || extent == SymbolicInt(-1) || from[i] == extent) {
      extent = from[i];
    } else if (!extent.isConstant() && isAtMostOne(extent)) {
      b.require(extent - SymbolicInt(1), "a tensor is expanded to an extent of 0");
      extent = from[i];
    } else if (from[i] != SymbolicInt(1) && provablyDiffer(from[i], extent)) {
      return b.contradict("cannot expand a tensor of shape " + toString(from) + " to " + toString(shape));
    }
  }
  return b.broadcastTo(input, result);
}

Value moveAxis(Builder &b, Value input, int64_t from, int64_t to) {
  if (!input)
    return {};
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(input)));
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return b.transpose(input, permutation);
}

namespace composites {
static std::optional<Shape> dimsOf(Builder &b, const Attributes &a, StringRef name) {
  std::optional<Shape> dims = a.getDims(name);
  if (!dims)
    b.fail("the attribute '" + name + "' is missing or no list of extents");
  return dims;
}

Results reshape(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> shape = dimsOf(b, a, "shape");
  return {shape ? reshapeTo(b, in[0], *shape) : Value()};
}
Results expand(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> shape = dimsOf(b, a, "shape");
  return {shape ? expandTo(b, in[0], *shape) : Value()};
}
Results tile(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> repeats = dimsOf(b, a, "repeats");
  return {repeats ? tileTensor(b, in[0], *repeats) : Value()};
}
Results transpose(Builder &b, Values in, const Attributes &a) {
  SmallVector<int64_t> reversed = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rankOf(in[0]))));
  SmallVector<int64_t> permutation = a.getInts("perm", reversed);
  for (int64_t &dim : permutation)
    dim = dim < 0 ? dim + rankOf(in[0]) : dim;
  return {b.transpose(in[0], permutation)};
}
Results squeeze(Builder &b, Values in, const Attributes &a) {
  SmallVector<int64_t> axes = a.getInts("axes");
  if (!a.has("axes"))
    for (auto [dim, extent] : llvm::enumerate(shapeOf(in[0])))
      if (extent == SymbolicInt(1))
        axes.push_back(dim);
  return {b.squeeze(in[0], axes)};
}
Results unsqueeze(Builder &b, Values in, const Attributes &a) { return {b.unsqueeze(in[0], a.getInts("axes"))}; }

/// To rank 2: the dimensions before `axis`, and the others.
Results flatten(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]);
  int64_t axis = a.getInt("axis", 1), rank = shape.size();
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    return {b.contradict("flatten: axis " + Twine(axis) + " of a tensor of rank " + Twine(rank))};
  return {b.reshape(in[0],
                    {elementCount(ArrayRef(shape).take_front(axis)), elementCount(ArrayRef(shape).drop_front(axis))})};
}

Results slice(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> starts = dimsOf(b, a, "starts"), ends = dimsOf(b, a, "ends");
  if (!starts || !ends)
    return {};
  SmallVector<int64_t> axes = a.getInts("axes", llvm::to_vector(llvm::seq<int64_t>(0, starts->size())));
  SmallVector<int64_t> steps = a.getInts("steps", SmallVector<int64_t>(starts->size(), 1));
  return {sliceAxes(b, in[0], axes, *starts, *ends, steps)};
}

Results concat(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(in[0]));
  return {axis < 0 ? Value() : b.concat(in, axis)};
}
Results stack(Builder &b, Values in, const Attributes &a) {
  SmallVector<Value> parts;
  for (Value part : in)
    parts.push_back(b.unsqueeze(part, a.getInt("axis")));
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(in[0]) + 1);
  return {axis < 0 ? Value() : b.concat(parts, axis)};
}

/// The attribute `sizes`, or `num_outputs` parts of equal size (the last may be smaller).
Results split(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(in[0]));
  if (axis < 0)
    return {};
  SymbolicInt extent = shapeOf(in[0])[axis], start(0);
  std::optional<Shape> sizes = a.getDims("sizes");
  if (!sizes) {
    int64_t parts = a.getInt("num_outputs", 1);
    SymbolicInt size = ceilDiv(extent, SymbolicInt(parts));
    sizes = Shape(parts, size);
    sizes->back() = extent - size * (parts - 1);
  }
  SymbolicInt total(0);
  for (const SymbolicInt &size : *sizes)
    total += size;
  if (provablyDiffer(total, extent))
    return {b.contradict("split: the sizes " + toString(*sizes) + " add up to " + total.str() + ", dimension " +
                         Twine(axis) + " has " + extent.str())};
  Results parts;
  for (const SymbolicInt &size : *sizes) {
    parts.push_back(sliceAxis(b, in[0], axis, start, size));
    start += size;
  }
  return parts;
}

/// `pads`: all begins, then all ends; `mode` constant, reflect, edge or wrap; `value`.
Results pad(Builder &b, Values in, const Attributes &a) {
  std::optional<Shape> pads = dimsOf(b, a, "pads");
  if (!pads)
    return {};
  size_t half = pads->size() / 2;
  ArrayRef<SymbolicInt> low = ArrayRef(*pads).take_front(half), high = ArrayRef(*pads).drop_front(half);
  StringRef mode = a.getString("mode", "constant");
  if (Value element = optionalInput(in, 1); element && mode == "constant")
    return {padTensor(b, in[0], low, high, element)};
  return {padTensor(b, in[0], low, high, mode, a.getFloat("value"))};
}

/// [n, c, h, w] to [n, c / s^2, h*s, w*s]; mode DCR (depth, column, row) or CRD.
Results depth_to_space(Builder &b, Values in, const Attributes &a) {
  SymbolicInt block(a.getInt("blocksize", 1));
  Shape s = shapeOf(in[0]);
  std::optional<SymbolicInt> channels;
  if (s.size() == 4 && block.knownPositive())
    channels = divideEvenly(s[1], block * block);
  if (!channels)
    return {b.contradict("depth_to_space: shape " + toString(s) + " does not divide into blocks of " + block.str())};
  bool depthFirst = a.getString("mode", "DCR") == "DCR";
  Value x = depthFirst ? b.reshape(in[0], {s[0], block, block, *channels, s[2], s[3]})
                       : b.reshape(in[0], {s[0], *channels, block, block, s[2], s[3]});
  x = depthFirst ? b.transpose(x, {0, 3, 4, 1, 5, 2}) : b.transpose(x, {0, 1, 4, 2, 5, 3});
  return {b.reshape(x, {s[0], *channels, s[2] * block, s[3] * block})};
}
Results space_to_depth(Builder &b, Values in, const Attributes &a) {
  SymbolicInt block(a.getInt("blocksize", 1));
  Shape s = shapeOf(in[0]);
  std::optional<SymbolicInt> height, width;
  if (s.size() == 4 && block.knownPositive()) {
    height = divideEvenly(s[2], block);
    width = divideEvenly(s[3], block);
  }
  if (!height || !width)
    return {b.contradict("space_to_depth: shape " + toString(s) + " does not divide into blocks of " + block.str())};
  bool depthFirst = a.getString("mode", "DCR") == "DCR";
  Value blocks = b.reshape(in[0], {s[0], s[1], *height, block, *width, block});
  Value x = depthFirst ? b.transpose(blocks, {0, 3, 5, 1, 2, 4}) : b.transpose(blocks, {0, 1, 3, 5, 2, 4});
  return {b.reshape(x, {s[0], s[1] * block * block, *height, *width})};
}
} // namespace composites
} // namespace perpend::graph
