//===- Windows.cpp - gradients of convolutions and pools ------------------===//
//
// With stride s, dilation d, padding l, input dilation e and a window of K, the
// result y[p] uses x[(p s + k d - l) / e] with w[k]. So
//
//   dx[i] = sum of dy[p] w[k] over all p and k with p s + k d - l = i e: a convolution of dy, dilated by s, with the
//           reversed filter, of stride e and padding (K - 1) d - l
//   dw[k] = sum over p of dy[p] x[(p s + k d - l) / e]: a convolution of x with dy as the filter, where stride and
//           dilation change places, and so do batch and channels
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Windows.h"
#include "graph/gradients/Placement.h"

using namespace mlir;

namespace perpend::graph {

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// A convolution and the gradient of its result, channels first.
struct Convolution {
  Value input, filter, gradient;
  Window window;

  size_t dims() const { return window.strides.size(); }
  static Shape extents(Value tensor) { return Shape(llvm::drop_begin(shapeOf(tensor), 2)); }
};
} // namespace

/// [n, x..., c] to [n, c, x...]; of a filter, [k..., c, o] to [o, c, k...].
static SmallVector<int64_t> channelsFirst(int64_t rank, bool isFilter) {
  SmallVector<int64_t> order{isFilter ? rank - 1 : 0, isFilter ? rank - 2 : rank - 1};
  llvm::append_range(order, isFilter ? llvm::seq<int64_t>(0, rank - 2) : llvm::seq<int64_t>(1, rank - 1));
  return order;
}

static Value inputGradient(Builder &b, const Convolution &conv) {
  Window window = conv.window;
  std::swap(window.strides, window.inputDilation);
  Shape kernel = conv.extents(conv.filter);
  for (size_t i = 0; i < conv.dims(); ++i) {
    std::optional<int64_t> size = kernel[i].constant();
    if (!size)
      return b.fail("expected a filter whose window is known, got " + toString(kernel));
    window.padLow[i] = (*size - 1) * window.dilations[i] - window.padLow[i];
  }
  Value filter = transposedFilter(b, conv.filter, window.groups);
  return b.conv(conv.gradient, filter, window, conv.extents(conv.input), elementTypeOf(conv.gradient));
}

/// With groups: x as [c/g, g n, x...] and dy as the filter [o, n, y...] give [c/g, o, k...].
static Value filterGradient(Builder &b, const Convolution &conv) {
  Window window = conv.window;
  std::swap(window.strides, window.dilations);
  Shape shape = shapeOf(conv.input);
  SymbolicInt perGroup = shapeOf(conv.filter)[1];
  Shape split{shape[0], SymbolicInt(window.groups), perGroup}, merged{perGroup, shape[0] * window.groups};
  split.append(shape.begin() + 2, shape.end());
  merged.append(shape.begin() + 2, shape.end());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, split.size()));
  std::swap(order[0], order[2]);
  SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(swapped[0], swapped[1]);
  Value input = b.reshape(b.transpose(b.reshape(conv.input, split), order), merged);
  Value filter = b.transpose(conv.gradient, swapped);
  Value result = b.conv(input, filter, window, conv.extents(conv.filter), elementTypeOf(conv.gradient));
  return b.transpose(result, swapped);
}

Value ConvOp::operandGradient(Builder &b, Value gradient, unsigned operand) {
  Window window{SmallVector<int64_t>(getStrides()),
                SmallVector<int64_t>(getPadLow()),
                {},
                SmallVector<int64_t>(getDilations()),
                SmallVector<int64_t>(getInputDilation())};
  window.groups = getGroups();
  SmallVector<int64_t> order = channelsFirst(rankOf(gradient), operand == 1);
  Convolution conv{getInput(), getFilter(), gradient, window};
  if (getChannelsLast()) {
    conv.input = b.transpose(conv.input, channelsFirst(rankOf(gradient), false));
    conv.gradient = b.transpose(conv.gradient, channelsFirst(rankOf(gradient), false));
    conv.filter = b.transpose(conv.filter, channelsFirst(rankOf(gradient), true));
  }
  Value result = operand == 0 ? inputGradient(b, conv) : filterGradient(b, conv);
  if (!result)
    return {};
  if (getChannelsLast()) {
    SmallVector<int64_t> inverse(order.size());
    for (auto [to, from] : llvm::enumerate(order))
      inverse[from] = to;
    result = b.transpose(result, inverse);
  }
  return b.cast(result, elementTypeOf(operand == 0 ? getInput() : getFilter()));
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// The sum over all windows that contain an element.
static Value windowSumGradient(Builder &b, WindowReduceOp op, Value gradient) {
  SmallVector<int64_t> low(op.getPadLow()), ones(op.getWindow().size(), 1);
  for (size_t dim = 0; dim < low.size(); ++dim) {
    low[dim] = (op.getWindow()[dim] - 1) * op.getDilations()[dim] - op.getPadLow()[dim];
    gradient = stretched(b, gradient, dim, op.getStrides()[dim]);
  }
  return b.operations.create<WindowReduceOp>(b.location, op.getInput().getType(), gradient, ReductionKind::Sum,
                                             op.getWindow(), ones, low, op.getDilations());
}

/// Larger windows would make bodies that take too long to compile.
static constexpr int64_t mostTaps = 4096;

namespace {
/// The elements of a window, from the last to the first.
class WindowTaps {
public:
  explicit WindowTaps(WindowReduceOp op) : op(op) {
    for (int64_t extent : op.getWindow())
      offsets.push_back(extent - 1);
  }
  bool previous() {
    for (size_t dim = offsets.size(); dim-- > 0;) {
      if (offsets[dim]-- > 0)
        return true;
      offsets[dim] = op.getWindow()[dim] - 1;
    }
    return false;
  }
  Scalar at(Scalar output, size_t dim) {
    int64_t shift = offsets[dim] * op.getDilations()[dim] - op.getPadLow()[dim];
    return output * output.integer(op.getStrides()[dim]) + output.integer(shift);
  }

private:
  WindowReduceOp op;
  SmallVector<int64_t> offsets;
};
} // namespace

/// The row-major position of each window's first extremum (or NaN); -1 if there is none.
static Value extremumPositions(Builder &b, WindowReduceOp op) {
  Shape shape = shapeOf(op.getInput());
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange in) {
    Scalar zero(builder, loc, builder.create<arith::ConstantIndexOp>(loc, 0)), position = zero.integer(-1);
    Scalar extremum(builder, loc, load(builder, loc, in[1], index));
    WindowTaps taps(op);
    do {
      Scalar inside = equal(zero, zero), flat = zero;
      SmallVector<Value> at;
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        Scalar place = taps.at(zero.with(index[dim]), dim), count = zero.with(extent(builder, loc, shape[dim]));
        inside = inside & (place >= 0) & (place < count);
        place = max(min(place, count - 1), 0);
        flat = flat * count + place;
        at.push_back(place.value);
      }
      Scalar value = extremum.with(load(builder, loc, in[0], at));
      Scalar wins = inside & (equal(value, extremum) | notEqual(value, value));
      position = select(wins, flat, position);
    } while (taps.previous());
    return position.to(builder.getI64Type()).value;
  };
  return b.generate({op.getInput(), op.getResult()}, shapeOf(op.getResult()), b.i64(), body);
}

Value WindowReduceOp::operandGradient(Builder &b, Value gradient, unsigned) {
  if (getKind() == ReductionKind::Sum)
    return windowSumGradient(b, *this, gradient);
  if (getKind() == ReductionKind::Product)
    return b.fail("no derivative of the product of a window");
  int64_t taps = 1;
  for (int64_t extent : getWindow())
    taps *= extent;
  if (taps > mostTaps)
    return b.fail("expected a window of at most " + Twine(mostTaps) + " elements, got " + Twine(taps));
  return scatterSum(b, shapeOf(getInput()), extremumPositions(b, *this), gradient);
}
} // namespace perpend::graph
