//===- MeasuredShapes.cpp - views whose shapes are computed at run time ---===//
//
// The sizes of the result are computed by tensor operators, in i64, and measured.
// Positions that need not be sizes stay tensors, which generate reads.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

/// A vector of i64, whatever integers it has.
static Value integers(Builder &b, Value vector) {
  if (!vector)
    return {};
  std::optional<Shape> known = b.contents(vector);
  SymbolicInt count = elementCount(shapeOf(vector));
  Value result = b.cast(b.reshape(vector, count), b.i64());
  if (known)
    b.recordContents(result, *known);
  return result;
}

/// The number of elements of a vector; nullopt, with an error, when it is not known.
static std::optional<int64_t> lengthOf(Builder &b, Value vector, StringRef what) {
  std::optional<int64_t> length = vector ? elementCount(shapeOf(vector)).constant() : std::nullopt;
  if (!length && vector)
    b.fail("the number of " + what + " depends on run-time data, and with it the rank of the result");
  return length;
}

static std::optional<SymbolicInt> knownScalar(Builder &b, Value scalar) {
  std::optional<Shape> known = b.contents(scalar);
  return known && known->size() == 1 ? std::optional(known->front()) : std::nullopt;
}

static Scalar loadAt(OpBuilder &builder, Location loc, Value vector, int64_t position) {
  Value index = builder.create<arith::ConstantIndexOp>(loc, position);
  return Scalar(builder, loc, load(builder, loc, vector, index));
}

Value spreadOverAxes(Builder &b, Value axes, Value values, Value otherwise) {
  axes = integers(b, axes);
  std::optional<int64_t> count = lengthOf(b, axes, "axes");
  if (!count || !values || !otherwise)
    return {};
  Shape shape = shapeOf(otherwise);
  auto rank = static_cast<double>(*shape[0].constant());
  return b.generate({axes, integers(b, values), otherwise}, shape, b.i64(),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar dim = Scalar(builder, loc, index[0]).to(builder.getI64Type());
                      Scalar value(builder, loc, load(builder, loc, tensors[2], index));
                      for (int64_t j = 0; j < *count; ++j) {
                        Scalar axis = loadAt(builder, loc, tensors[0], j);
                        Scalar isHere = graph::equal(select(axis < 0, axis + rank, axis), dim);
                        value = select(isHere, loadAt(builder, loc, tensors[1], j), value);
                      }
                      return value.value;
                    });
}

//===----------------------------------------------------------------------===//
// Reshape and expand
//===----------------------------------------------------------------------===//

/// The scalar `count` / product of `others`; 0 when these are 0.
static Value quotient(Builder &b, const SymbolicInt &count, ArrayRef<Value> others) {
  Value product = b.scalar(1, b.i64());
  for (Value other : others)
    product = mul(b, product, other);
  return pointwise(b, {number(b, count, b.i64()), product}, [](ArrayRef<Scalar> v) { return v[0] / max(v[1], 1); });
}

Value reshapeMeasured(Builder &b, Value input, Value shape, bool hasZeros) {
  shape = integers(b, shape);
  std::optional<SmallVector<Value>> wanted = b.scalars(shape);
  if (!input || !wanted)
    return {};
  Shape from = shapeOf(input);
  SmallVector<Value> others;
  for (auto [dim, extent] : llvm::enumerate(*wanted)) {
    std::optional<SymbolicInt> known = knownScalar(b, extent);
    if (dim < from.size() && !hasZeros && known == SymbolicInt(0))
      extent = number(b, from[dim], b.i64());
    else if (dim < from.size() && !hasZeros && !known)
      extent = pointwise(b, {extent, number(b, from[dim], b.i64())},
                         [](ArrayRef<Scalar> v) { return select(graph::equal(v[0], 0), v[1], v[0]); });
    others.push_back(
        known == SymbolicInt(-1) ? b.scalar(1, b.i64())
        : known                  ? extent
                : pointwise(b, extent, [](ArrayRef<Scalar> v) { return select(v[0] < 0, v[0].constant(1), v[0]); }));
  }
  Value rest = quotient(b, elementCount(from), others);
  Shape result;
  for (Value extent : *wanted) {
    std::optional<SymbolicInt> known = knownScalar(b, extent);
    if (known == SymbolicInt(-1))
      extent = rest;
    else if (!known)
      extent = pointwise(b, {extent, rest}, [](ArrayRef<Scalar> v) { return select(v[0] < 0, v[1], v[0]); });
    result.push_back(b.measure(extent, "dim" + std::to_string(result.size())));
  }
  return b.hasFailed() ? Value() : b.reshape(input, result);
}

/// An extent of the shape is 1, or the input's, or the input has 1 there.
Value expandMeasured(Builder &b, Value input, Value shape) {
  std::optional<Shape> wanted = b.sizes(integers(b, shape), "dim");
  if (!input || !wanted)
    return {};
  Shape from = shapeOf(input);
  size_t shared = std::min(from.size(), wanted->size());
  for (size_t i = 0; i < shared; ++i) {
    SymbolicInt &extent = (*wanted)[wanted->size() - 1 - i];
    const SymbolicInt &own = from[from.size() - 1 - i];
    if (extent.isConstant() || own == SymbolicInt(1) || own == extent)
      continue;
    SymbolicInt mismatch = (extent - SymbolicInt(1)) * (extent - own);
    std::string message =
        "dimension " + std::to_string(wanted->size() - 1 - i) + " of the shape must be 1 or " + own.str();
    b.require(mismatch, message);
    b.require(-mismatch, message);
    extent = own;
  }
  return expandTo(b, input, *wanted);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Where a slice begins or ends: negative from the end, then clamped, backwards to `low` at least.
static Scalar slicePosition(Scalar position, Scalar extent, Scalar step, double low) {
  Scalar counted = select(position < 0, position + extent, position);
  Scalar lowest = select(step < 0, step.constant(low), step.constant(0));
  return min(max(counted, lowest), select(step < 0, extent - 1, extent));
}

namespace {
/// A slice of one axis, as scalars.
struct AxisSlice {
  Value start, end, step;
};
} // namespace

static Value firstPosition(Builder &b, const AxisSlice &slice, Value extent) {
  return pointwise(b, {slice.start, extent, slice.step},
                   [](ArrayRef<Scalar> v) { return slicePosition(v[0], v[1], v[2], 0); });
}

static Value sliceCount(Builder &b, const AxisSlice &slice, Value extent) {
  return pointwise(b, {slice.start, slice.end, extent, slice.step}, [](ArrayRef<Scalar> v) {
    Scalar start = slicePosition(v[0], v[2], v[3], 0), end = slicePosition(v[1], v[2], v[3], -1);
    return max(-floorDiv(start - end, v[3]), 0);
  });
}

/// A step that is known only at run time.
static Value strideAlong(Builder &b, Value input, int64_t axis, Value first, Value step, const SymbolicInt &count) {
  Shape shape = shapeOf(input);
  shape[axis] = count;
  return b.generate({input, first, step}, shape, elementTypeOf(input),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      SmallVector<Value> source(index);
                      Scalar position = Scalar(builder, loc, index[axis]).to(builder.getI64Type());
                      Scalar begin(builder, loc, load(builder, loc, tensors[1], {}));
                      Scalar stride(builder, loc, load(builder, loc, tensors[2], {}));
                      source[axis] = (begin + position * stride).to(builder.getIndexType()).value;
                      return load(builder, loc, tensors[0], source);
                    });
}

static Value sliceAlong(Builder &b, Value input, int64_t axis, const AxisSlice &slice) {
  std::optional<SymbolicInt> start = knownScalar(b, slice.start), end = knownScalar(b, slice.end),
                             step = knownScalar(b, slice.step);
  std::optional<int64_t> stride = step ? step->constant() : std::nullopt;
  if (start && end && stride)
    return sliceAxes(b, input, axis, *start, *end, *stride);
  Value extent = number(b, shapeOf(input)[axis], b.i64());
  Value first = firstPosition(b, slice, extent);
  SymbolicInt count = b.measure(sliceCount(b, slice, extent), "slice");
  if (!first || count.isPoison())
    return {};
  if (!stride)
    return strideAlong(b, input, axis, first, slice.step, count);
  Shape sizes = shapeOf(input), starts(sizes.size(), SymbolicInt(0));
  SmallVector<int64_t> steps(sizes.size(), 1);
  sizes[axis] = count;
  starts[axis] = *stride > 0 ? b.measure(first, "start") : b.measureSigned(first, "start");
  steps[axis] = *stride;
  return *stride == 0 ? b.fail("slice: step 0 of axis " + Twine(axis)) : b.slice(input, starts, sizes, steps);
}

Value sliceMeasured(Builder &b, Value input, Value starts, Value ends, Value axes, Value steps) {
  if (!input || !starts || !ends)
    return {};
  starts = integers(b, starts), ends = integers(b, ends), axes = integers(b, axes), steps = integers(b, steps);
  std::optional<int64_t> count = lengthOf(b, starts, "starts");
  if (!count)
    return {};
  if (!steps)
    steps = b.integers(SmallVector<int64_t>(*count, 1));
  std::optional<SmallVector<int64_t>> where =
      axes ? b.constantContents(axes) : llvm::to_vector(llvm::seq<int64_t>(0, *count));
  if (!where) {
    int64_t rank = rankOf(input);
    starts = spreadOverAxes(b, axes, starts, b.integers(SmallVector<int64_t>(rank, 0)));
    ends = spreadOverAxes(b, axes, ends, b.dims(shapeOf(input)));
    steps = spreadOverAxes(b, axes, steps, b.integers(SmallVector<int64_t>(rank, 1)));
    where = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  auto first = b.scalars(starts), last = b.scalars(ends), stride = b.scalars(steps);
  if (!first || !last || !stride || last->size() != first->size() || where->size() != first->size() ||
      stride->size() != first->size())
    return b.hasFailed() ? Value() : b.fail("slice: expected as many starts, ends and steps as axes");
  for (auto [index, given] : llvm::enumerate(*where)) {
    int64_t axis = normalAxis(b, given, rankOf(input));
    input = axis < 0 ? Value() : sliceAlong(b, input, axis, {(*first)[index], (*last)[index], (*stride)[index]});
    if (!input)
      return {};
  }
  return input;
}

//===----------------------------------------------------------------------===//
// Axes known at run time
//===----------------------------------------------------------------------===//

/// [rank]: 1 for the listed axes, 0 for the others.
static Value axisMask(Builder &b, Value axes, int64_t rank) {
  std::optional<int64_t> count = lengthOf(b, axes, "axes");
  return count ? spreadOverAxes(b, axes, b.integers(SmallVector<int64_t>(*count, 1)),
                                b.integers(SmallVector<int64_t>(rank, 0)))
               : Value();
}

/// The extents at the places where the mask is 0.
static Value unmasked(Builder &b, Value mask, const Shape &shape, int64_t count) {
  return b.generate({mask, b.dims(shape)}, SymbolicInt(count), b.i64(),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar wanted = Scalar(builder, loc, index[0]).to(builder.getI64Type());
                      Scalar value = wanted.constant(1), seen = wanted.constant(0);
                      for (size_t dim = 0; dim < shape.size(); ++dim) {
                        Scalar isKept = graph::equal(loadAt(builder, loc, tensors[0], dim), 0);
                        value =
                            select(isKept & graph::equal(seen, wanted), loadAt(builder, loc, tensors[1], dim), value);
                        seen = select(isKept, seen + 1, seen);
                      }
                      return value.value;
                    });
}

Value squeezeMeasured(Builder &b, Value input, Value axes) {
  Value mask = input ? axisMask(b, axes, rankOf(input)) : Value();
  if (!mask)
    return {};
  int64_t count = rankOf(input) - *elementCount(shapeOf(axes)).constant();
  if (count < 0)
    return b.fail("squeeze: more axes than dimensions");
  std::optional<Shape> shape = b.sizes(unmasked(b, mask, shapeOf(input), count), "dim");
  return shape ? b.reshape(input, *shape) : Value();
}

Value unsqueezeMeasured(Builder &b, Value input, Value axes) {
  std::optional<int64_t> added = input ? lengthOf(b, axes, "axes") : std::nullopt;
  if (!added)
    return {};
  int64_t rank = rankOf(input), total = rank + *added;
  Value mask = axisMask(b, axes, total);
  Value extents = b.generate({mask, b.dims(shapeOf(input))}, SymbolicInt(total), b.i64(),
                             [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                               Scalar dim = Scalar(builder, loc, index[0]).to(builder.getI64Type());
                               Scalar value = dim.constant(1), seen = dim.constant(0);
                               for (int64_t other = 0; other < total; ++other) {
                                 Scalar isNew = graph::notEqual(loadAt(builder, loc, tensors[0], other), 0);
                                 for (int64_t source = 0; source < rank; ++source)
                                   value = select(graph::equal(dim, static_cast<double>(other)) & ~isNew &
                                                      graph::equal(seen, static_cast<double>(source)),
                                                  loadAt(builder, loc, tensors[1], source), value);
                                 seen = select(isNew, seen, seen + 1);
                               }
                               return value.value;
                             });
  std::optional<Shape> shape = b.sizes(extents, "dim");
  return shape ? b.reshape(input, *shape) : Value();
}

/// The tensor as a matrix: dimensions where the mask is 0, then the others, both in their order.
static Value groupByMask(Builder &b, Value input, Value mask, const SymbolicInt &kept, const SymbolicInt &masked) {
  Shape shape = shapeOf(input);
  return b.generate({input, mask}, {kept, masked}, elementTypeOf(input),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar row(builder, loc, index[0]), column(builder, loc, index[1]);
                      SmallVector<Value> source(shape.size());
                      for (size_t dim = shape.size(); dim-- > 0;) {
                        Scalar isMasked = graph::notEqual(loadAt(builder, loc, tensors[1], dim), 0);
                        Scalar size(builder, loc, extent(builder, loc, shape[dim]));
                        Scalar ofRow = select(isMasked, size.constant(1), size),
                               ofColumn = select(isMasked, size, size.constant(1));
                        source[dim] = (row % ofRow + column % ofColumn).value;
                        row = row / ofRow;
                        column = column / ofColumn;
                      }
                      return load(builder, loc, tensors[0], source);
                    });
}

Value reduceMeasured(Builder &b, Value input, Value axes, bool keepDims, llvm::function_ref<Value(Value)> reduction) {
  Value mask = input ? axisMask(b, axes, rankOf(input)) : Value();
  if (!mask)
    return {};
  auto extents = [&](bool isMasked) {
    return pointwise(b, {mask, b.dims(shapeOf(input))}, [&](ArrayRef<Scalar> v) {
      Scalar isHere = isMasked ? graph::notEqual(v[0], 0) : graph::equal(v[0], 0);
      return select(isHere, v[1], v[1].constant(1));
    });
  };
  auto product = [&](Value vector) { return b.reduce(ReductionKind::Product, vector, {0}, false); };
  Value keptExtents = extents(false);
  SymbolicInt kept = b.measure(product(keptExtents), "kept"), masked = b.measure(product(extents(true)), "reduced");
  Value result = reduction(groupByMask(b, input, mask, kept, masked));
  int64_t rank = rankOf(input) - *elementCount(shapeOf(axes)).constant();
  std::optional<Shape> shape =
      b.sizes(keepDims ? keptExtents : unmasked(b, mask, shapeOf(input), std::max<int64_t>(rank, 0)), "dim");
  return shape && result ? b.reshape(result, *shape) : Value();
}

SymbolicInt rangeMeasured(Builder &b, Value start, Value limit, Value step) {
  Value count = pointwise(
      b, {start, limit, step},
      [](ArrayRef<Scalar> v) {
        if (!v[0].isFloat())
          return max(-floorDiv((v[0] - v[1]).to(v[0].emitter().getI64Type()), v[2].to(v[0].emitter().getI64Type())), 0);
        return max(ceil((v[1] - v[0]) / v[2]), 0).to(v[0].emitter().getI64Type());
      },
      b.i64());
  return b.measure(count, "range");
}
} // namespace perpend::graph
