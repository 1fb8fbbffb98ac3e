//===- MeasuredShapes.cpp - views with shapes computed at run time --------===//
//
// The sizes of the result are computed by tensor operators in i64, then measured.
// Positions that do not affect sizes stay tensors, which generate reads.
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

/// The number of axes, which decides the rank of the result; nullopt, with an error, if unknown.
static std::optional<int64_t> numberOf(Builder &b, Value axes) {
  std::optional<int64_t> count = axes ? elementCount(shapeOf(axes)).constant() : std::nullopt;
  if (!count && axes)
    b.fail("the number of axes, " + elementCount(shapeOf(axes)).str() +
           ", is not known before a run, and with it the rank of the result\nhint: say it as the dimension of the "
           "model's input (--dim), or declare a shape for the result");
  return count;
}

static std::optional<SymbolicInt> knownScalar(Builder &b, Value scalar) {
  std::optional<Shape> known = b.contents(scalar);
  return known && known->size() == 1 ? std::optional(known->front()) : std::nullopt;
}

static Scalar loadAt(OpBuilder &builder, Location loc, Value vector, int64_t position) {
  Value index = builder.create<arith::ConstantIndexOp>(loc, position);
  return Scalar(builder, loc, load(builder, loc, vector, index));
}

/// For each dimension, the index of the axis that names it; negative if none does.
static Value entriesOfDims(Builder &b, Value axes, int64_t rank) {
  auto isAxis = [&](ArrayRef<Scalar> v) { return (v[0] >= v[0].integer(-rank)) & (v[0] < v[0].integer(rank)); };
  requireAll(b, pointwise(b, axes, isAxis, b.operations.getI1Type()),
             ("an axis is not one of a tensor of rank " + Twine(rank)).str());
  Value entries = b.generate(axes, {SymbolicInt(rank), elementCount(shapeOf(axes))}, b.i64(),
                             [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                               Scalar dim = Scalar(builder, loc, index[0]).to(builder.getI64Type());
                               Scalar entry = Scalar(builder, loc, index[1]).to(builder.getI64Type());
                               Scalar axis(builder, loc, load(builder, loc, tensors[0], index[1]));
                               Scalar isHere = graph::equal(select(axis < 0, axis + axis.integer(rank), axis), dim);
                               return select(isHere, entry, entry.integer(-1)).value;
                             });
  return entries ? b.reduce(ReductionKind::Max, entries, {1}, /*keepDims=*/false) : entries;
}

/// Requires two lists that belong together to have equal lengths.
static void requireEqual(Builder &b, const SymbolicInt &one, const SymbolicInt &other, StringRef message) {
  b.require(one - other, message);
  b.require(other - one, message);
}

Value spreadOverAxes(Builder &b, Value axes, Value values, Value otherwise) {
  axes = integers(b, axes), values = integers(b, values);
  if (!axes || !values || !otherwise)
    return {};
  requireEqual(b, shapeOf(axes)[0], shapeOf(values)[0], "expected one number for each axis");
  Shape shape = shapeOf(otherwise);
  int64_t rank = *shape[0].constant();
  Value both = b.concat({otherwise, values}, 0), entries = entriesOfDims(b, axes, rank);
  return b.generate({both, entries}, shape, b.i64(),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      Scalar dim = Scalar(builder, loc, index[0]).to(builder.getI64Type());
                      Scalar entry(builder, loc, load(builder, loc, tensors[1], index));
                      Scalar place = select(entry < 0, dim, entry + entry.integer(rank));
                      return load(builder, loc, tensors[0], place.to(builder.getIndexType()).value);
                    });
}

//===----------------------------------------------------------------------===//
// Reshape and expand
//===----------------------------------------------------------------------===//

/// The scalar `count` / product of `others`; 0 if the product is 0.
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

/// Prepends ones to a shape of unknown length, at most `rank`.
static Value withRank(Builder &b, Value shape, int64_t rank) {
  SymbolicInt missing = SymbolicInt(rank) - elementCount(shapeOf(shape));
  b.require(missing, ("the shape has more than " + Twine(rank) + " extents").str());
  return b.hasFailed() ? Value() : b.concat({b.splat(missing, 1, b.i64()), shape}, 0);
}

/// Repeats a dimension that may be 1 to an extent that may be 1: the one that is not 1 decides.
static Value stretch(Builder &b, Value input, int64_t dim, SymbolicInt &wanted) {
  Shape shape = shapeOf(input);
  SymbolicInt own = shape[dim];
  Value extents[] = {number(b, wanted, b.i64()), number(b, own, b.i64())};
  wanted = b.measure(
      pointwise(b, extents, [](ArrayRef<Scalar> v) { return select(graph::equal(v[0], 1), v[1], v[0]); }), "stretched");
  requireEqual(b, (own - 1) * (own - wanted), SymbolicInt(0),
               "dimension " + std::to_string(dim) + " of a tensor to expand must be 1 or as in the shape, got " +
                   own.str());
  shape[dim] = wanted;
  return b.generate(input, shape, elementTypeOf(input),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                      SmallVector<Value> source(index);
                      Scalar place(builder, loc, index[dim]), size(builder, loc, extent(builder, loc, own));
                      source[dim] = min(place, size - 1).value;
                      return load(builder, loc, tensors[0], source);
                    });
}

/// Each extent of the shape is 1 or equals the input's, or the input's is 1.
Value expandMeasured(Builder &b, Value input, Value shape, std::optional<int64_t> rank) {
  shape = integers(b, shape);
  if (input && shape && rank && !elementCount(shapeOf(shape)).isConstant())
    shape = withRank(b, shape, *rank);
  std::optional<Shape> wanted = b.sizes(shape, "dim");
  if (!input || !wanted)
    return {};
  size_t rankOfInput = rankOf(input), shared = std::min(rankOfInput, wanted->size());
  for (size_t i = 0; i < shared && input; ++i) {
    SymbolicInt &extent = (*wanted)[wanted->size() - 1 - i];
    size_t dim = rankOfInput - 1 - i;
    SymbolicInt own = shapeOf(input)[dim];
    if (extent.isConstant() || own == SymbolicInt(1) || own == extent)
      continue;
    if (!own.isConstant()) {
      input = stretch(b, input, static_cast<int64_t>(dim), extent);
      continue;
    }
    requireEqual(b, (extent - SymbolicInt(1)) * (extent - own), SymbolicInt(0),
                 "dimension " + std::to_string(wanted->size() - 1 - i) + " of the shape must be 1 or " + own.str());
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

/// Takes elements with a step known only at run time.
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
  int64_t rank = rankOf(input);
  SymbolicInt given = elementCount(shapeOf(starts));
  std::optional<int64_t> count = given.constant();
  std::optional<SmallVector<int64_t>> where;
  if (count)
    where = axes ? b.constantContents(axes) : llvm::to_vector(llvm::seq<int64_t>(0, *count));
  else if (!axes)
    axes = iota(b, given, b.i64());
  if (where && !steps)
    steps = b.integers(SmallVector<int64_t>(*count, 1));
  if (!where) {
    Value ones = b.integers(SmallVector<int64_t>(rank, 1));
    starts = spreadOverAxes(b, axes, starts, b.integers(SmallVector<int64_t>(rank, 0)));
    ends = spreadOverAxes(b, axes, ends, b.dims(shapeOf(input)));
    steps = steps ? spreadOverAxes(b, axes, steps, ones) : ones;
    where = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  auto first = b.scalars(starts), last = b.scalars(ends), stride = b.scalars(steps);
  if (!first || !last || !stride || last->size() != first->size() || where->size() != first->size() ||
      stride->size() != first->size())
    return b.hasFailed() ? Value() : b.fail("slice: expected as many starts, ends and steps as axes");
  for (auto [index, place] : llvm::enumerate(*where)) {
    int64_t axis = normalAxis(b, place, rank);
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
  axes = integers(b, axes);
  Value entries = axes ? entriesOfDims(b, axes, rank) : axes;
  return pointwise(b, entries, [](ArrayRef<Scalar> v) { return select(v[0] < 0, v[0].integer(0), v[0].integer(1)); });
}

/// Ends the run unless `count` dimensions are marked; axes named twice cause that.
static void requireMarked(Builder &b, Value mask, int64_t count) {
  if (mask)
    requireEqual(b, b.measure(b.reduce(ReductionKind::Sum, mask, {0}, /*keepDims=*/false), "axes"), SymbolicInt(count),
                 ("expected " + Twine(count) + " different axes").str());
}

/// The extents at positions where the mask is 0.
static Value unmasked(Builder &b, Value mask, const Shape &shape, int64_t count) {
  requireMarked(b, mask, static_cast<int64_t>(shape.size()) - count);
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
  std::optional<int64_t> removed = input ? numberOf(b, axes) : std::nullopt;
  if (!removed)
    return {};
  Value mask = axisMask(b, axes, rankOf(input));
  int64_t count = rankOf(input) - *removed;
  if (count < 0)
    return b.contradict("squeeze: more axes than dimensions");
  std::optional<Shape> shape = b.sizes(unmasked(b, mask, shapeOf(input), count), "dim");
  return shape ? b.reshape(input, *shape) : Value();
}

Value unsqueezeMeasured(Builder &b, Value input, Value axes) {
  std::optional<int64_t> added = input ? numberOf(b, axes) : std::nullopt;
  if (!added)
    return {};
  int64_t rank = rankOf(input), total = rank + *added;
  Value mask = axisMask(b, axes, total);
  requireMarked(b, mask, *added);
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

/// The tensor as a matrix: the dimensions where the mask is 0, then the others, each in their order.
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

/// No axes stand for all axes.
static Value allWhereNone(Builder &b, Value mask, const SymbolicInt &count) {
  Value isEmpty = number(b, max(1 - count, SymbolicInt(0)), b.i64());
  return pointwise(b, {mask, isEmpty}, [](ArrayRef<Scalar> v) { return max(v[0], v[1]); });
}

/// Of a scalar, whose axes may be 0 and -1, as if it had one dimension; the result has none.
static Value reduceScalar(Builder &b, Value input, Value axes, llvm::function_ref<Value(Value)> reduction) {
  (void)axisMask(b, axes, 1);
  Value one = b.reshape(input, {SymbolicInt(1), SymbolicInt(1)});
  return b.hasFailed() ? Value() : b.reshape(reduction(one), {});
}

Value reduceMeasured(Builder &b, Value input, Value axes, const MeasuredAxes &meaning,
                     llvm::function_ref<Value(Value)> reduction) {
  int64_t rank = input ? rankOf(input) : 0;
  if (input && rank == 0)
    return reduceScalar(b, input, axes, reduction);
  Value mask = input ? axisMask(b, axes, rank) : Value();
  std::optional<int64_t> remaining = meaning.remaining;
  if (mask && !remaining && !meaning.keepDims)
    if (std::optional<int64_t> count = numberOf(b, axes))
      remaining = std::max<int64_t>(rank - *count, 0);
  if (!mask || b.hasFailed())
    return {};
  if (meaning.noneMeansAll)
    mask = allWhereNone(b, mask, elementCount(shapeOf(axes)));
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
  std::optional<Shape> shape =
      b.sizes(meaning.keepDims ? keptExtents : unmasked(b, mask, shapeOf(input), *remaining), "dim");
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
