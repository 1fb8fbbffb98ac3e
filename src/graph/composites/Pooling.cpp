//===- Pooling.cpp - pooling by norm, maxima with positions, unpooling ----===//
//
// Sources: ONNX LpPool-22, GlobalLpPool-22, MaxPool-22, MaxUnpool-22.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Windows.h"

using namespace mlir;

namespace perpend::graph {

/// |x|^p, and its inverse on a sum of them.
static Value powerOf(Builder &b, Value x, double p) {
  return pointwise(b, x, [=](ArrayRef<Scalar> v) {
    Scalar magnitude = abs(v[0]);
    return p == 1 ? magnitude : p == 2 ? magnitude * magnitude : pow(magnitude, magnitude.constant(p));
  });
}
static Value rootOf(Builder &b, Value total, double p) {
  return pointwise(b, total, [=](ArrayRef<Scalar> v) {
    return p == 1 ? v[0] : p == 2 ? sqrt(v[0]) : pow(v[0], v[0].constant(1 / p));
  });
}

namespace {
/// The positions of one window in the input, element by element.
class WindowTaps {
public:
  WindowTaps(const Pooling &pooling) : pooling(pooling), offsets(pooling.size.size(), 0) {}

  /// The position of the current element along window dimension `dim`, not clamped.
  Scalar at(Scalar output, size_t dim) const {
    const Window &window = pooling.resolved.window;
    double shift = static_cast<double>(offsets[dim] * window.dilations[dim] - window.padLow[dim]);
    return output * static_cast<double>(window.strides[dim]) + shift;
  }
  /// Goes to the next element in row-major order; false after the last.
  bool next() {
    for (size_t dim = offsets.size(); dim-- > 0;) {
      if (++offsets[dim] < pooling.size[dim])
        return true;
      offsets[dim] = 0;
    }
    return false;
  }

private:
  const Pooling &pooling;
  SmallVector<int64_t> offsets;
};

/// A running maximum with its position, once an element of the window lies in the input.
struct Best {
  Scalar value, position, isFound;
};
} // namespace

/// The row-major (or, inside an image, column-major) position of an element.
static Scalar flatPosition(OpBuilder &builder, Location loc, ArrayRef<Value> at, const Shape &shape, bool columnMajor) {
  Scalar flat(builder, loc, builder.create<arith::ConstantIndexOp>(loc, 0));
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, at.size()));
  if (columnMajor)
    std::reverse(order.begin() + 2, order.end());
  for (size_t dim : order)
    flat = flat * flat.with(extent(builder, loc, shape[dim])) + flat.with(at[dim]);
  return flat;
}

static Best better(const Best &best, const Best &next) {
  Scalar isLarger = next.value > best.value;
  if (next.value.isFloat())
    isLarger = isLarger | notEqual(next.value, next.value);
  Scalar wins = next.isFound & (isLarger | ~best.isFound);
  return {select(wins, next.value, best.value), select(wins, next.position, best.position),
          best.isFound | next.isFound};
}

/// Larger windows would make bodies that take too long to compile.
static constexpr int64_t mostTaps = 4096;

/// The position of each window's first maximum, or last NaN; examines the elements of a window one after another.
static Value maximaPositions(Builder &b, Value input, ArrayRef<SymbolicInt> result, const Pooling &pooling,
                             bool columnMajor) {
  Shape shape = shapeOf(input);
  Type type = elementTypeOf(input);
  return b.generate(input, result, b.i64(), [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
    std::optional<Best> best;
    WindowTaps taps(pooling);
    do {
      SmallVector<Value> at(index);
      std::optional<Scalar> inside;
      for (size_t dim = 2; dim < shape.size(); ++dim) {
        Scalar position = taps.at(Scalar(builder, loc, index[dim]), dim - 2);
        Scalar count = position.with(extent(builder, loc, shape[dim]));
        Scalar fits = (position >= 0) & (position < count);
        inside = inside ? *inside & fits : fits;
        at[dim] = max(min(position, count - 1), 0).value;
      }
      Scalar value(builder, loc, load(builder, loc, in[0], at), isUnsigned(type));
      Scalar flat = flatPosition(builder, loc, at, shape, columnMajor);
      best = best ? better(*best, {value, flat, *inside}) : Best{value, flat, *inside};
    } while (taps.next());
    return best->position.to(builder.getI64Type()).value;
  });
}

namespace composites {
Results lp_pool(Builder &b, Values in, const Attributes &a) {
  Type type = elementTypeOf(in[0]);
  double p = a.getFloat("p", 2);
  Value powers = powerOf(b, b.cast(in[0], computeType(type)), p);
  std::optional<Pooling> pooling = powers ? poolingOf(b, powers, a, 0) : std::nullopt;
  if (!pooling)
    return {};
  const WindowInput &resolved = pooling->resolved;
  Value total = b.windowReduce(ReductionKind::Sum, resolved.input, pooling->size, resolved.window);
  return {total ? b.cast(rootOf(b, total, p), type) : total};
}

Results global_lp_pool(Builder &b, Values in, const Attributes &a) {
  if (!hasChannels(b, in[0]))
    return {};
  Type type = elementTypeOf(in[0]);
  double p = a.getFloat("p", 2);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(2, rankOf(in[0])));
  Value total = sum(b, powerOf(b, b.cast(in[0], computeType(type)), p), axes, true);
  return {total ? b.cast(rootOf(b, total, p), type) : total};
}

/// Results: the maxima, and the position of each in the whole input (storage_order 1: column-major in an image).
Results max_pool_with_positions(Builder &b, Values in, const Attributes &a) {
  std::optional<Pooling> pooling = poolingOf(b, in[0], a, lowestValue(elementTypeOf(in[0])));
  if (!pooling)
    return {};
  const WindowInput &resolved = pooling->resolved;
  int64_t taps = 1;
  for (int64_t extent : pooling->size)
    taps *= extent;
  if (resolved.input != in[0] || taps > mostTaps)
    return {b.fail("the positions of maxima need padding that is known, and windows of at most " + Twine(mostTaps) +
                   " elements")};
  Value maxima = b.windowReduce(ReductionKind::Max, resolved.input, pooling->size, resolved.window);
  if (!maxima)
    return {};
  return {maxima, maximaPositions(b, in[0], shapeOf(maxima), *pooling, a.getInt("storage_order"))};
}
} // namespace composites
} // namespace perpend::graph
