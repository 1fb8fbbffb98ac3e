//===- Random.cpp - random values from a counter --------------------------===//
//
// Word k of a stream is output k of SplitMix64 (Steele, Lea and Flood, 2014) with a hash of `seed` as its initial
// state. It is computed from k alone, so values depend neither on order nor on threads, and are the same at every
// optimisation level (docs/decisions/0006).
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

#include <numbers>

using namespace mlir;

namespace perpend::graph {

static constexpr uint64_t increment = 0x9e3779b97f4a7c15;

static uint64_t foldedRight(uint64_t z, int bits) { return z ^ (z >> bits); }
static uint64_t times(uint64_t z, uint64_t factor) { return z * factor; }
static Scalar shiftedRight(Scalar z, int bits) { return z.call<arith::ShRUIOp>(z.value, z.integer(bits).value); }
static Scalar foldedRight(Scalar z, int bits) { return z ^ shiftedRight(z, bits); }
static Scalar times(Scalar z, uint64_t factor) { return z * z.integer(static_cast<int64_t>(factor)); }

/// A bijection in which each output bit depends on all input bits; on numbers at compile time, or on scalar code.
template <typename Word> static Word mixed(Word z) {
  z = times(foldedRight(z, 30), 0xbf58476d1ce4e5b9);
  z = times(foldedRight(z, 27), 0x94d049bb133111eb);
  return foldedRight(z, 31);
}

/// The word at a position (i64) of the stream of a seed.
static Scalar wordAt(Scalar position, int64_t seed) {
  return mixed(times(position + position.integer(1), increment) +
               position.integer(static_cast<int64_t>(mixed(static_cast<uint64_t>(seed)))));
}

static Scalar rowMajor(OpBuilder &builder, Location loc, ValueRange index, ArrayRef<SymbolicInt> shape) {
  Scalar position(builder, loc, builder.create<arith::ConstantIndexOp>(loc, 0));
  for (auto [at, size] : llvm::zip_equal(index, shape))
    position = position * position.with(extent(builder, loc, size)) + position.with(at);
  return position.to(builder.getI64Type());
}

/// The first `digits` bits of a word as a fraction in [0, 1).
static Scalar fraction(Scalar word, unsigned digits, Type type) {
  return shiftedRight(word, 64 - digits).to(type) * std::ldexp(1.0, -static_cast<int>(digits));
}

/// Numbers in [0, 1), multiples of 2^-digits.
static Value uniform(Builder &b, ArrayRef<SymbolicInt> shape, Type type, unsigned digits, int64_t seed) {
  return b.generate({}, shape, type, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
    return fraction(wordAt(rowMajor(builder, loc, index, shape), seed), digits, type).value;
  });
}

static unsigned digitsOf(Type type) { return APFloat::semanticsPrecision(cast<FloatType>(type).getFloatSemantics()); }
static Value uniform(Builder &b, ArrayRef<SymbolicInt> shape, Type type, int64_t seed) {
  return uniform(b, shape, type, digitsOf(type), seed);
}

/// Box and Muller: sqrt(-2 log u) cos(2 pi v), from two words per element. u has 53 bits also in f32, where a float
/// near 0 can hold them, so that values up to 8.5 deviations occur.
static Value standardNormal(Builder &b, ArrayRef<SymbolicInt> shape, Type type, int64_t seed) {
  return b.generate({}, shape, type, [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange) {
    Scalar first = rowMajor(builder, loc, index, shape) * 2;
    Scalar bits = shiftedRight(wordAt(first, seed), 11);
    Scalar u = (bits + bits.integer(1)).to(type) * std::ldexp(1.0, -53);
    Scalar angle = fraction(wordAt(first + 1, seed), digitsOf(type), type) * (2 * std::numbers::pi);
    return (sqrt(-2.0 * log(u)) * angle.call<math::CosOp>(angle.value)).value;
  });
}

/// The attributes `shape` and `type` of a tensor to fill.
static std::optional<Shape> filledShape(Builder &b, const Attributes &a) {
  std::optional<Shape> shape = a.getDims("shape");
  if (!shape || !isa_and_nonnull<FloatType>(a.getType("type")))
    b.fail("expected a shape and a floating-point type");
  return b.hasFailed() ? std::nullopt : shape;
}

/// values * factor + offset, rounded to `type` at last.
static Value scaled(Builder &b, Value values, double factor, double offset, Type type) {
  return b.cast(pointwise(b, values, [=](ArrayRef<Scalar> v) { return v[0] * factor + offset; }), type);
}

namespace composites {
/// Uses as many digits as the result type holds, so that rounding never yields 1.
Results random_uniform(Builder &b, Values, const Attributes &a) {
  std::optional<Shape> shape = filledShape(b, a);
  if (!shape)
    return {};
  Type type = a.getType("type");
  double low = a.getFloat("low"), high = a.getFloat("high", 1);
  Value values = uniform(b, *shape, computeType(type), digitsOf(type), a.getInt("seed"));
  return {scaled(b, values, high - low, low, type)};
}

Results random_normal(Builder &b, Values, const Attributes &a) {
  std::optional<Shape> shape = filledShape(b, a);
  if (!shape)
    return {};
  Type type = a.getType("type");
  Value values = standardNormal(b, *shape, computeType(type), a.getInt("seed"));
  return {scaled(b, values, a.getFloat("scale", 1), a.getFloat("mean"), type)};
}

/// in: probabilities.
Results bernoulli(Builder &b, Values in, const Attributes &a) {
  if (!isFloat(in[0]))
    return {b.fail("expected floating-point probabilities")};
  Type compute = computeType(elementTypeOf(in[0]));
  Value u = uniform(b, shapeOf(in[0]), compute, a.getInt("seed"));
  Value hits = pointwise(
      b, {u, b.cast(in[0], compute)}, [](ArrayRef<Scalar> v) { return v[0] < v[1]; }, b.operations.getI1Type());
  return {b.cast(hits, a.getType("type", elementTypeOf(in[0])))};
}

/// in: logarithms of weights [batch, classes]. The class where the running sum of weights passes u times their sum.
Results multinomial(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]);
  int64_t samples = a.getInt("sample_size", 1);
  if (shape.size() != 2 || !isFloat(in[0]) || samples < 0)
    return {b.contradict("expected logarithms of weights [batch, classes], got shape " + toString(shape))};
  SymbolicInt batch = shape[0], classes = shape[1];
  b.require(classes - SymbolicInt(1), "samples of no classes");
  Type f64 = b.operations.getF64Type();
  Value logarithms = b.cast(in[0], f64), highest = b.reduce(ReductionKind::Max, logarithms, {1}, true);
  Value weights = pointwise(b, {logarithms, highest}, [](ArrayRef<Scalar> v) { return exp(v[0] - v[1]); });
  Value sums = b.scan(ReductionKind::Sum, weights, 1);
  Value u = uniform(b, {batch, SymbolicInt(samples)}, f64, a.getInt("seed"));
  Value limits = mul(b, u, b.reduce(ReductionKind::Max, sums, {1}, true));
  Value passed = pointwise(
      b, {b.unsqueeze(sums, {1}), b.unsqueeze(limits, {2})}, [](ArrayRef<Scalar> v) { return v[0] <= v[1]; },
      b.operations.getI1Type());
  return {b.cast(b.reduce(ReductionKind::Sum, b.cast(passed, b.i64()), {2}, false), a.getType("type", b.i64()))};
}

/// in: x, ratio (default 0.5), whether to train (default false). Results: x / (1 - ratio) where u >= ratio, else 0; and
/// that mask.
Results dropout(Builder &b, Values in, const Attributes &a) {
  Value ratio = optionalInput(in, 1), training = optionalInput(in, 2);
  Type boolean = b.operations.getI1Type(), type = elementTypeOf(in[0]);
  if (!training || constantNumber(training) == 0 || (ratio && constantNumber(ratio) == 0))
    return {in[0], b.splat(shapeOf(in[0]), 1, boolean)};
  if (!isFloat(in[0]))
    return {b.fail("dropout: expected floating-point elements")};
  Type compute = computeType(type);
  ratio = ratio ? b.reshape(b.cast(ratio, compute), {}) : b.scalar(0.5, compute);
  ratio = where(b, b.reshape(training, {}), ratio, b.scalar(0, compute));
  Value u = uniform(b, shapeOf(in[0]), compute, a.getInt("seed"));
  Value mask = pointwise(b, {u, ratio}, [](ArrayRef<Scalar> v) { return v[0] >= v[1]; }, boolean);
  Value grown = pointwise(b, {b.cast(in[0], compute), ratio}, [](ArrayRef<Scalar> v) { return v[0] / (1.0 - v[1]); });
  Value result = where(b, mask, grown, b.scalar(0, compute));
  return {result ? b.cast(result, type) : result, mask};
}
} // namespace composites
} // namespace perpend::graph
