//===- Windows.cpp - convolutions and pooling -----------------------------===//
//
// Attributes as ONNX: kernel_shape, strides, pads (all begins, then all ends),
// dilations, group, auto_pad, ceil_mode. Tensors are channels first.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Windows.h"
#include "graph/composites/Division.h"

using namespace mlir;

namespace perpend::graph {

std::optional<Window> windowOf(Builder &b, size_t dims, const Attributes &a) {
  SmallVector<int64_t> ones(dims, 1), pads = a.getInts("pads", SmallVector<int64_t>(2 * dims, 0));
  Window window{a.getInts("strides", ones), {}, {}, a.getInts("dilations", ones), ones};
  window.groups = a.getInt("group", 1);
  window.ceilMode = a.getInt("ceil_mode");
  auto isPositive = [](int64_t value) { return value > 0; };
  if (pads.size() != 2 * dims || window.strides.size() != dims || window.dilations.size() != dims ||
      !llvm::all_of(window.strides, isPositive) || !llvm::all_of(window.dilations, isPositive)) {
    b.fail("expected " + Twine(dims) + " positive strides and dilations and " + Twine(2 * dims) +
           " pads, got strides " + toString(window.strides) + ", dilations " + toString(window.dilations) +
           " and pads " + toString(pads));
    return std::nullopt;
  }
  window.padLow.assign(pads.begin(), pads.begin() + dims);
  window.padHigh.assign(pads.begin() + dims, pads.end());
  return window;
}

/// Resolves auto_pad: constant amounts become the window's padding, symbolic amounts are padded onto the input with
/// `fill`.
static std::optional<WindowInput> resolveAutoPad(Builder &b, Value input, Window window, ArrayRef<SymbolicInt> kernel,
                                                 const Attributes &a, double fill) {
  StringRef mode = a.getString("auto_pad", "NOTSET");
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    if (mode == "VALID")
      window.padLow = window.padHigh = SmallVector<int64_t>(kernel.size(), 0);
    return WindowInput{input, window};
  }
  Shape shape = shapeOf(input), low(shape.size(), SymbolicInt(0)), high = low;
  bool isSymbolic = false;
  for (size_t i = 0; i < kernel.size(); ++i) {
    SymbolicInt stride(window.strides[i]), extent = shape[2 + i];
    SymbolicInt needed = (ceilDiv(extent, stride) - 1) * stride + (kernel[i] - 1) * window.dilations[i] + 1 - extent;
    SymbolicInt total = max(needed, SymbolicInt(0)), half = floorDiv(total, SymbolicInt(2));
    low[2 + i] = mode == "SAME_UPPER" ? half : total - half;
    high[2 + i] = total - low[2 + i];
    isSymbolic |= !total.constant();
  }
  for (size_t i = 0; i < kernel.size(); ++i) {
    window.padLow[i] = isSymbolic ? 0 : *low[2 + i].constant();
    window.padHigh[i] = isSymbolic ? 0 : *high[2 + i].constant();
  }
  if (isSymbolic)
    input = padTensor(b, input, low, high, "constant", fill);
  if (!input)
    return std::nullopt;
  return WindowInput{input, window};
}

Value addBias(Builder &b, Value result, Value bias) {
  if (!result || !bias)
    return result;
  return add(b, result, b.cast(alongAxis(b, bias, 1, shapeOf(result)), elementTypeOf(result)));
}

bool checkKernel(Builder &b, ArrayRef<SymbolicInt> kernel, const Attributes &a) {
  SmallVector<int64_t> wanted = a.getInts("kernel_shape");
  bool fits = wanted.empty() || wanted.size() == kernel.size();
  for (size_t i = 0; fits && i < wanted.size(); ++i)
    fits = !provablyDiffer(kernel[i], SymbolicInt(wanted[i]));
  if (!fits)
    b.fail("expected kernel_shape " + toString(kernel) + ", the window of the filter, got " + toString(wanted));
  return fits;
}

bool checkFilter(Builder &b, Value input, Value filter) {
  if (rankOf(input) >= 3 && rankOf(filter) == rankOf(input))
    return true;
  b.contradict("expected an input of rank 3 or more and a filter of the same rank, got shapes " +
               toString(shapeOf(input)) + " and " + toString(shapeOf(filter)) +
               "\nhint: a dimension with channels follows the batch dimension");
  return false;
}

std::optional<Pooling> poolingOf(Builder &b, Value input, const Attributes &a, double fill) {
  SmallVector<int64_t> size = a.getInts("kernel_shape");
  if (size.empty() || rankOf(input) != static_cast<int64_t>(size.size()) + 2) {
    b.contradict("pooling: expected kernel_shape with one entry per dimension after the channels, got " +
                 toString(size) + " for shape " + toString(shapeOf(input)));
    return std::nullopt;
  }
  std::optional<Window> window = windowOf(b, size.size(), a);
  if (!window)
    return std::nullopt;
  Shape kernel(size.begin(), size.end());
  std::optional<WindowInput> resolved = resolveAutoPad(b, input, *window, kernel, a, fill);
  if (!resolved)
    return std::nullopt;
  return Pooling{size, *resolved};
}

double lowestValue(Type elementType) {
  if (isa<FloatType>(elementType))
    return -std::numeric_limits<double>::infinity();
  return isUnsigned(elementType) ? 0 : -std::ldexp(1.0, static_cast<int>(bitWidth(elementType)) - 1);
}

bool hasChannels(Builder &b, Value x) {
  if (rankOf(x) < 2)
    b.contradict("expected batch and channels, then the window's dimensions, got " + toString(shapeOf(x)));
  return rankOf(x) >= 2;
}

/// A window that is all of its dimensions has one position: it is a plain reduction.
static Value reduceWindows(Builder &b, ReductionKind kind, const Pooling &pooling) {
  const auto &[input, window] = pooling.resolved;
  bool isWhole = true;
  SmallVector<int64_t> dims;
  for (auto [i, extent] : llvm::enumerate(pooling.size)) {
    isWhole &= shapeOf(input)[2 + i] == SymbolicInt(extent) && window.padLow[i] == 0 && window.padHigh[i] == 0 &&
               window.dilations[i] == 1;
    dims.push_back(2 + static_cast<int64_t>(i));
  }
  return isWhole ? b.reduce(kind, input, dims, /*keepDims=*/true) : b.windowReduce(kind, input, pooling.size, window);
}

namespace composites {
/// in: x [n, c, x...], filter [o, c/group, k...], bias [o] (optional). The result has the type `accumulator`, or x's.
Results conv(Builder &b, Values in, const Attributes &a) {
  if (!checkFilter(b, in[0], in[1]))
    return {};
  Shape filterShape = shapeOf(in[1]);
  ArrayRef<SymbolicInt> kernel = ArrayRef(filterShape).drop_front(2);
  std::optional<Window> window = windowOf(b, kernel.size(), a);
  if (!window || !checkKernel(b, kernel, a))
    return {};
  std::optional<WindowInput> resolved = resolveAutoPad(b, toCompute(b, in[0]), *window, kernel, a, 0);
  if (!resolved)
    return {};
  Type accumulator = a.getType("accumulator");
  Value result = b.conv(resolved->input, toCompute(b, in[1]), resolved->window, accumulator);
  result = addBias(b, result, optionalInput(in, 2));
  return {result ? b.cast(result, accumulator ? accumulator : elementTypeOf(in[0])) : result};
}

Results max_pool(Builder &b, Values in, const Attributes &a) {
  auto pooling = poolingOf(b, in[0], a, lowestValue(elementTypeOf(in[0])));
  if (!pooling)
    return {};
  return {reduceWindows(b, ReductionKind::Max, *pooling)};
}

/// How many elements each window covers, as a tensor [1, 1, y...] or a number.
static Value windowPopulation(Builder &b, Value input, Value total, const Pooling &pooling, const Attributes &a) {
  bool includesPadding = a.getInt("count_include_pad");
  const Window &window = pooling.resolved.window;
  auto isZero = [](int64_t value) { return value == 0; };
  bool isPadded =
      pooling.resolved.input != input || !llvm::all_of(window.padLow, isZero) || !llvm::all_of(window.padHigh, isZero);
  if (!window.ceilMode && (includesPadding || !isPadded)) {
    int64_t volume = 1;
    for (int64_t extent : pooling.size)
      volume *= extent;
    return b.scalar(static_cast<double>(volume), elementTypeOf(input));
  }
  Shape shape = shapeOf(input);
  shape[0] = shape[1] = SymbolicInt(1);
  std::optional<Pooling> counted = poolingOf(b, b.splat(shape, 1, elementTypeOf(input)), a, includesPadding ? 1 : 0);
  if (!counted)
    return {};
  Value ones = counted->resolved.input;
  if (includesPadding) {
    Shape low(2, SymbolicInt(0)), high(2, SymbolicInt(0));
    low.append(window.padLow.begin(), window.padLow.end());
    high.append(window.padHigh.begin(), window.padHigh.end());
    ones = padTensor(b, ones, low, high, "constant", 1);
    counted->resolved.window.padLow = counted->resolved.window.padHigh = SmallVector<int64_t>(pooling.size.size(), 0);
  }
  Value counts = b.windowReduce(ReductionKind::Sum, ones, pooling.size, counted->resolved.window);
  if (!counts)
    return {};
  // If the padding were in the tensor, a window that starts there would count.
  Shape extents = shapeOf(total);
  extents[0] = extents[1] = SymbolicInt(1);
  return b.slice(counts, Shape(extents.size(), SymbolicInt(0)), extents, SmallVector<int64_t>(extents.size(), 1));
}

Results average_pool(Builder &b, Values in, const Attributes &a) {
  Value x = toCompute(b, in[0]);
  auto pooling = poolingOf(b, x, a, 0);
  if (!pooling)
    return {};
  Value total = reduceWindows(b, ReductionKind::Sum, *pooling);
  Value population;
  if (total)
    population =
        a.has("divisor") ? b.scalar(a.getInt("divisor"), elementTypeOf(x)) : windowPopulation(b, x, total, *pooling, a);
  Value result = div(b, total, population);
  return {result ? b.cast(result, elementTypeOf(in[0])) : result};
}

static SmallVector<int64_t> windowAxes(Value x) { return llvm::to_vector(llvm::seq<int64_t>(2, rankOf(x))); }

Results global_average_pool(Builder &b, Values in, const Attributes &) {
  if (!hasChannels(b, in[0]))
    return {};
  return {graph::mean(b, in[0], windowAxes(in[0]), true)};
}
Results global_max_pool(Builder &b, Values in, const Attributes &) {
  if (!hasChannels(b, in[0]))
    return {};
  return {b.reduce(ReductionKind::Max, in[0], windowAxes(in[0]), true)};
}
} // namespace composites
} // namespace perpend::graph
