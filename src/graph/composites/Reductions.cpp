//===- Reductions.cpp - reductions, and formulas made of them -------------===//

#include "graph/Attributes.h"
#include "graph/LibraryCalls.h"
#include "graph/Scalars.h"
#include "graph/composites/Softmax.h"

using namespace mlir;

namespace perpend::graph {

static constexpr double infinity = std::numeric_limits<double>::infinity();

int64_t normalAxis(Builder &builder, int64_t axis, int64_t rank) {
  int64_t dim = axis < 0 ? axis + rank : axis;
  if (dim >= 0 && dim < rank)
    return dim;
  builder.contradict(rank == 0
                         ? "expected a tensor with dimensions, got one of rank 0 and the axis " + Twine(axis)
                         : "expected an axis from " + Twine(-rank) + " to " + Twine(rank - 1) + ", got " + Twine(axis));
  return -1;
}

std::optional<SmallVector<int64_t>> normalAxes(Builder &builder, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> dims;
  for (int64_t axis : axes) {
    int64_t dim = normalAxis(builder, axis, rank);
    if (dim < 0)
      return std::nullopt;
    dims.push_back(dim);
  }
  llvm::sort(dims);
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

/// A reduction in the compute type; the result is rounded to the input's type.
static Value reduceRounded(Builder &b, ReductionKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  Value reduced = b.reduce(kind, toCompute(b, x), axes, keepDims);
  return reduced ? b.cast(reduced, elementTypeOf(x)) : reduced;
}

Value sum(Builder &b, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  return x ? reduceRounded(b, ReductionKind::Sum, x, axes, keepDims) : x;
}

Value mean(Builder &b, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  if (!x)
    return {};
  std::optional<SmallVector<int64_t>> dims = normalAxes(b, axes, rankOf(x));
  if (!dims)
    return {};
  SymbolicInt count(1);
  for (int64_t dim : *dims)
    count *= shapeOf(x)[dim];
  Value total = b.reduce(ReductionKind::Sum, toCompute(b, x), *dims, keepDims);
  if (!total)
    return {};
  return b.cast(div(b, total, number(b, count, elementTypeOf(total))), elementTypeOf(x));
}

/// The shift of exponents that prevents overflow: the maximum along some axes, kept as extents of 1. The result does
/// not depend on it, so its derivative is omitted, which would only add rounding errors.
static Value exponentShift(Builder &b, Value x, ArrayRef<int64_t> axes) {
  Value largest = b.reduce(ReductionKind::Max, x, axes, false);
  auto reduce = largest && largest != x ? largest.getDefiningOp<ReduceOp>() : ReduceOp();
  if (!reduce)
    return largest; // no axes
  reduce->setAttr(cancelsAttribute, b.operations.getUnitAttr());
  Shape shape = shapeOf(x);
  for (int64_t dim : reduce.getDims())
    shape[dim] = SymbolicInt(1);
  return b.reshape(largest, shape);
}

/// The powers e^x, where subnormal ones are 0: each of those would cost a multiplication some hundred cycles, and a sum
/// that is at least 1 does not notice them.
static Value normalPowers(Builder &b, Value x) {
  Value powers = applyComposite(b, "exp", x)[0];
  auto type = dyn_cast<FloatType>(elementTypeOf(x));
  if (!type)
    return powers;
  APFloat least = APFloat::getSmallestNormalized(type.getFloatSemantics());
  Value limit = b.scalar(std::log(least.convertToDouble()), type);
  return where(b, call(b, "less", {x, limit}), b.scalar(0, type), powers);
}

Value softmax(Builder &b, Value input, int64_t axis, bool isLogarithmic) {
  return softmaxWith(b, input, axis, isLogarithmic, {});
}

Value softmaxWith(Builder &b, Value input, int64_t axis, bool isLogarithmic, Value further) {
  if (!input)
    return {};
  if (rankOf(input) == 0)
    input = b.reshape(input, {SymbolicInt(1)});
  int64_t dim = normalAxis(b, axis, rankOf(input));
  if (dim < 0)
    return {};
  Value x = toCompute(b, input), shift = exponentShift(b, x, dim);
  if (further && shift)
    shift = call(b, "max", {shift, further = castLike(b, further, x)});
  Value shifted = sub(b, x, shift);
  Value power = shifted ? normalPowers(b, shifted) : Value();
  Value total = b.reduce(ReductionKind::Sum, power, dim, true);
  if (further && total)
    total = add(b, total, applyComposite(b, "exp", sub(b, further, shift))[0]);
  if (!total)
    return {};
  // One division per sum: a multiplication is cheaper than a division, at the cost of one more rounding.
  Value result = isLogarithmic ? sub(b, shifted, applyComposite(b, "log", total)[0])
                               : mul(b, power, applyComposite(b, "reciprocal", total)[0]);
  return result ? b.cast(result, elementTypeOf(input)) : result;
}

namespace composites {
namespace {
/// A reduction's common attributes: axes (all when absent), keepdims (default 1).
struct Reduction {
  SmallVector<int64_t> axes;
  bool keepDims;
};
} // namespace

static Reduction reductionOf(Value x, const Attributes &attributes) {
  Reduction result{attributes.getInts("axes"), attributes.getInt("keepdims", 1) != 0};
  if (result.axes.empty() && !attributes.getInt("noop_with_empty_axes"))
    result.axes = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  return result;
}

static Value square(Builder &b, Value x) { return mul(b, x, x); }
/// Integers as f64.
static Value asReal(Builder &b, Value x) { return !x || isFloat(x) ? x : b.cast(x, b.operations.getF64Type()); }

/// sum over the axes of f(x), in the compute type, then g of it.
static Results reduceWith(Builder &b, Value input, const Attributes &attributes,
                          llvm::function_ref<Value(Value)> before, llvm::function_ref<Value(Value)> after) {
  Reduction reduction = reductionOf(input, attributes);
  Value total = b.reduce(ReductionKind::Sum, before(toCompute(b, input)), reduction.axes, reduction.keepDims);
  Value result = total ? after(total) : total;
  return {result ? b.cast(result, elementTypeOf(input)) : result};
}
static Value same(Value x) { return x; }

static Results reduceKind(Builder &b, ReductionKind kind, Values in, const Attributes &attributes) {
  Reduction reduction = reductionOf(in[0], attributes);
  Value result = reduceRounded(b, kind, in[0], reduction.axes, reduction.keepDims);
  std::optional<Shape> known = b.contents(in[0]);
  if (!result || !known || tensorTypeOf(result).getNumElements() != 1)
    return {result};
  bool isSum = kind == ReductionKind::Sum, isProduct = kind == ReductionKind::Product;
  if (known->empty() && !isSum && !isProduct)
    return {result};
  SymbolicInt value = known->empty() ? SymbolicInt(isProduct ? 1 : 0) : known->front();
  for (const SymbolicInt &next : ArrayRef(*known).drop_front(known->empty() ? 0 : 1))
    value = isSum                        ? value + next
            : isProduct                  ? value * next
            : kind == ReductionKind::Max ? max(value, next)
                                         : min(value, next);
  if (isa<IntegerType>(elementTypeOf(result)))
    return {knownIntegers(b, value, shapeOf(result), elementTypeOf(result))};
  b.recordContents(result, value);
  return {result};
}

Results reduce_sum(Builder &b, Values in, const Attributes &a) { return reduceKind(b, ReductionKind::Sum, in, a); }
Results reduce_prod(Builder &b, Values in, const Attributes &a) { return reduceKind(b, ReductionKind::Product, in, a); }
Results reduce_max(Builder &b, Values in, const Attributes &a) { return reduceKind(b, ReductionKind::Max, in, a); }
Results reduce_min(Builder &b, Values in, const Attributes &a) { return reduceKind(b, ReductionKind::Min, in, a); }
Results reduce_mean(Builder &b, Values in, const Attributes &attributes) {
  Reduction reduction = reductionOf(in[0], attributes);
  return {graph::mean(b, in[0], reduction.axes, reduction.keepDims)};
}
Results reduce_l1(Builder &b, Values in, const Attributes &a) {
  return reduceWith(b, in[0], a, [&](Value x) { return call(b, "abs", x); }, same);
}
Results reduce_l2(Builder &b, Values in, const Attributes &a) {
  auto root = [&](Value x) { // the slope of sqrt at 0, infinity, would meet the 0 of the square's
    return pointwise(b, asReal(b, x),
                     [](ArrayRef<Scalar> v) { return select(equal(v[0], 0), v[0].constant(0), sqrt(v[0])); });
  };
  return reduceWith(b, in[0], a, [&](Value x) { return square(b, x); }, root);
}
Results reduce_sum_square(Builder &b, Values in, const Attributes &a) {
  return reduceWith(b, in[0], a, [&](Value x) { return square(b, x); }, same);
}
Results reduce_log_sum(Builder &b, Values in, const Attributes &a) {
  return reduceWith(b, in[0], a, same, [&](Value x) { return call(b, "log", asReal(b, x)); });
}
Results reduce_log_sum_exp(Builder &b, Values in, const Attributes &attributes) {
  Reduction reduction = reductionOf(in[0], attributes);
  Value x = asReal(b, toCompute(b, in[0])), largest = exponentShift(b, x, reduction.axes);
  Value total = b.reduce(ReductionKind::Sum, call(b, "exp", graph::sub(b, x, largest)), reduction.axes, true);
  Value result = pointwise(b, {call(b, "log", total), largest}, [](ArrayRef<Scalar> v) {
    return select(equal(graph::abs(v[1]), infinity), v[1], v[0] + v[1]); // infinity - infinity is NaN
  });
  if (result && !reduction.keepDims)
    result = b.squeeze(result, reduction.axes);
  return {result ? b.cast(result, elementTypeOf(in[0])) : result};
}

/// Whether an element of `x` is the extremum that stands at its place; a NaN counts as one.
static Value isExtremum(Builder &b, Value x, Value extremum) {
  return pointwise(
      b, {x, extremum},
      [](ArrayRef<Scalar> v) {
        Scalar hit = equal(v[0], v[1]);
        return v[0].isFloat() ? hit | notEqual(v[0], v[0]) : hit;
      },
      b.operations.getI1Type());
}

/// The first (or last) position of the extremum. Loops that compare floats of 16 bits themselves stay scalar.
static Results argExtremum(Builder &b, ReductionKind kind, Values in, const Attributes &attributes) {
  int64_t axis = normalAxis(b, attributes.getInt("axis"), rankOf(in[0]));
  if (axis < 0)
    return {};
  bool wantsLast = attributes.getInt("select_last_index");
  Value x = toCompute(b, in[0]);
  Shape shape = shapeOf(x);
  Value hits = isExtremum(b, x, b.reduce(kind, x, axis, true));
  Value positions = alongAxis(b, iota(b, shape[axis], b.i64()), axis, shape);
  Value other = wantsLast ? b.scalar(-1, b.i64()) : number(b, shape[axis], b.i64());
  Value candidates = graph::where(b, hits, positions, other);
  return {b.reduce(wantsLast ? ReductionKind::Max : ReductionKind::Min, candidates, axis,
                   attributes.getInt("keepdims", 1) != 0)};
}
Results argmax(Builder &b, Values in, const Attributes &a) { return argExtremum(b, ReductionKind::Max, in, a); }
Results argmin(Builder &b, Values in, const Attributes &a) { return argExtremum(b, ReductionKind::Min, in, a); }

Results softmax(Builder &b, Values in, const Attributes &a) {
  return {graph::softmax(b, in[0], a.getInt("axis", -1), false)};
}
Results log_softmax(Builder &b, Values in, const Attributes &a) {
  return {graph::softmax(b, in[0], a.getInt("axis", -1), true)};
}

/// 1 at the first maximum along `axis`, 0 elsewhere.
Results hardmax(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis", -1), rankOf(in[0]));
  if (axis < 0)
    return {};
  NamedAttribute along = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(axis));
  Value first = argmax(b, in, Attributes(b.context(), along))[0];
  Shape shape = shapeOf(in[0]);
  Value positions = alongAxis(b, iota(b, shape[axis], b.i64()), axis, shape);
  Value isFirst = first ? applyComposite(b, "equal", {positions, first})[0] : first;
  return {isFirst ? b.cast(isFirst, elementTypeOf(in[0])) : isFirst};
}

static Value reversed(Builder &b, Value x, int64_t axis) {
  if (!x)
    return x;
  Shape shape = shapeOf(x), starts(shape.size(), SymbolicInt(0));
  SmallVector<int64_t> steps(shape.size(), 1);
  starts[axis] = shape[axis] - SymbolicInt(1);
  steps[axis] = -1;
  return b.slice(x, starts, shape, steps);
}

/// Exclusive sums cover the elements before each one: inclusive sums shifted by one after the neutral element.
static Results cumulate(Builder &b, ReductionKind kind, Values in, const Attributes &attributes) {
  int64_t axis = normalAxis(b, attributes.getInt("axis"), rankOf(in[0]));
  if (axis < 0)
    return {};
  bool isReverse = attributes.getInt("reverse");
  Value x = toCompute(b, in[0]);
  if (isReverse)
    x = reversed(b, x, axis);
  if (attributes.getInt("exclusive")) {
    Shape low(rankOf(x), SymbolicInt(0)), high = low;
    low[axis] = SymbolicInt(1);
    high[axis] = SymbolicInt(-1);
    x = padTensor(b, x, low, high, "constant", kind == ReductionKind::Product);
  }
  Value result = b.scan(kind, x, axis);
  if (isReverse)
    result = reversed(b, result, axis);
  return {result ? b.cast(result, elementTypeOf(in[0])) : result};
}
Results cumsum(Builder &b, Values in, const Attributes &a) { return cumulate(b, ReductionKind::Sum, in, a); }
Results cumprod(Builder &b, Values in, const Attributes &a) { return cumulate(b, ReductionKind::Product, in, a); }

/// The last position of the extremum up to each element; after a NaN, of the last NaN. From these the elements.
static Results extremaOfScans(Builder &b, bool isMinimum, Value x, int64_t axis) {
  Shape shape = shapeOf(x);
  Value hits = isExtremum(b, x, b.scan(isMinimum ? ReductionKind::Min : ReductionKind::Max, x, axis));
  Value places = alongAxis(b, iota(b, shape[axis], b.i64()), axis, shape);
  Value positions = b.scan(ReductionKind::Max, graph::where(b, hits, places, b.scalar(0, b.i64())), axis);
  NamedAttribute along = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(axis));
  return {applyComposite(b, "gather_elements", {x, positions}, Attributes(b.context(), along))[0], positions};
}

/// Of a function of the library, unless lines are short.
static Results extremaOfLines(Builder &b, bool isMinimum, Value x, int64_t axis) {
  Shape shape = shapeOf(x);
  Shape lines{elementCount(ArrayRef(shape).take_front(axis)), shape[axis],
              elementCount(ArrayRef(shape).drop_front(axis + 1))};
  NamedAttribute minimum = b.operations.getNamedAttr("minimum", b.operations.getI64IntegerAttr(isMinimum));
  CallResult results[] = {{lines, elementTypeOf(x)}, {lines, b.i64()}};
  SmallVector<Value> found = b.callLibrary("order.extremes", b.reshape(x, lines), results, minimum);
  return {b.reshape(found[0], shape), b.reshape(found[1], shape)};
}

/// Running extrema and their positions. Narrower types than the library has are cast to wider ones.
static Results cumulateExtremum(Builder &b, bool isMinimum, Values in, const Attributes &attributes) {
  int64_t axis = normalAxis(b, attributes.getInt("axis"), rankOf(in[0]));
  Type type = elementTypeOf(in[0]);
  if (axis < 0 || isHandle(type))
    return {axis < 0 ? Value()
                     : b.fail("no order of elements of type " + nameOf(type) + "\nhint: cast them to numbers first")};
  const bool isReal = isFloat(in[0]), isNarrow = bitWidth(type) < (isReal ? 16 : 32);
  Value x = isNarrow ? b.cast(in[0], isReal ? Type(b.f32()) : b.operations.getI32Type()) : in[0];
  bool isShort = areShortLines(shapeOf(x)[axis], bitWidth(elementTypeOf(x)));
  Results found = isShort ? extremaOfScans(b, isMinimum, x, axis) : extremaOfLines(b, isMinimum, x, axis);
  return {b.cast(found[0], type), found[1]};
}
Results cummax(Builder &b, Values in, const Attributes &a) { return cumulateExtremum(b, false, in, a); }
Results cummin(Builder &b, Values in, const Attributes &a) { return cumulateExtremum(b, true, in, a); }

/// log(e^a + e^b), shifted by the larger one.
static Scalar logOfSum(Scalar a, Scalar b) {
  Scalar largest = graph::max(a, b);
  return select(graph::abs(largest) < infinity, largest + graph::log1p(graph::exp(-graph::abs(a - b))), largest);
}

/// Each element with the one `distance` before it, where there is one.
static Value withEarlier(Builder &b, Value x, int64_t axis, Value distance) {
  return b.generate({x, distance}, shapeOf(x), elementTypeOf(x),
                    [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
                      Scalar at(builder, loc, index[axis]);
                      Scalar before = at - at.with(load(builder, loc, in[1], {})).to(builder.getIndexType());
                      Scalar isThere = before >= 0;
                      SmallVector<Value> source(index);
                      source[axis] = select(isThere, before, at.integer(0)).value;
                      Scalar own = at.with(load(builder, loc, in[0], index));
                      Scalar earlier = at.with(load(builder, loc, in[0], source));
                      return select(isThere, logOfSum(earlier, own), own).value;
                    });
}

/// In steps of which each doubles how many elements a sum has (Hillis and Steele, 1986): an element depends on those
/// before it alone, and no exponent on what lies far from it.
Results cumlogsumexp(Builder &b, Values in, const Attributes &a) {
  Value x = toCompute(b, in[0]);
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(x));
  if (axis < 0 || !isFloat(x))
    return {axis < 0 ? Value() : b.fail("expected floating-point elements, got " + nameOf(elementTypeOf(x)))};
  Value count = number(b, shapeOf(x)[axis], b.i64());
  auto goesOn = [&](Value distance) { return applyComposite(b, "less", {distance, count})[0]; };
  Value one = b.scalar(1, b.i64());
  SmallVector<Value> results = b.loop({{}, goesOn(one)}, {x, one}, [&](Value, ValueRange carried) {
    Value next = withEarlier(b, carried[0], axis, carried[1]), distance = graph::add(b, carried[1], carried[1]);
    return Iteration{goesOn(distance), {next, distance}, {}};
  });
  return {results.empty() ? Value() : b.cast(results[0], elementTypeOf(in[0]))};
}
} // namespace composites
} // namespace perpend::graph
