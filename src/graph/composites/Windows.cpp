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

static std::optional<Window> windowOf(Builder &b, size_t dims, const Attributes &a) {
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

static Value addBias(Builder &b, Value result, Value bias) {
  if (!result || !bias)
    return result;
  return add(b, result, b.cast(alongAxis(b, bias, 1, shapeOf(result)), elementTypeOf(result)));
}

static bool checkKernel(Builder &b, ArrayRef<SymbolicInt> kernel, const Attributes &a) {
  SmallVector<int64_t> wanted = a.getInts("kernel_shape");
  bool fits = wanted.empty() || wanted.size() == kernel.size();
  for (size_t i = 0; fits && i < wanted.size(); ++i)
    fits = !provablyDiffer(kernel[i], SymbolicInt(wanted[i]));
  if (!fits)
    b.fail("expected kernel_shape " + toString(kernel) + ", the window of the filter, got " + toString(wanted));
  return fits;
}

static bool checkFilter(Builder &b, Value input, Value filter) {
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

Value transposedFilter(Builder &b, Value filter, int64_t groups) {
  Shape shape = shapeOf(filter);
  std::optional<SymbolicInt> perGroup = divideEvenly(shape[0], SymbolicInt(groups));
  if (!perGroup)
    return b.fail("conv_transpose: " + shape[0].str() + " channels do not divide into " + Twine(groups) + " groups");
  Shape grouped{SymbolicInt(groups), *perGroup}, merged{shape[1] * groups, *perGroup};
  grouped.append(shape.begin() + 1, shape.end());
  merged.append(shape.begin() + 2, shape.end());
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, grouped.size()));
  std::swap(permutation[1], permutation[2]);
  Value result = b.reshape(b.transpose(b.reshape(filter, grouped), permutation), merged);
  Shape starts(merged.size(), SymbolicInt(0));
  SmallVector<int64_t> steps(merged.size(), 1);
  for (size_t i = 2; i < merged.size(); ++i) {
    starts[i] = merged[i] - 1;
    steps[i] = -1;
  }
  return b.slice(result, starts, merged, steps);
}

bool hasChannels(Builder &b, Value x) {
  if (rankOf(x) < 2)
    b.contradict("expected batch and channels, then the window's dimensions, got " + toString(shapeOf(x)));
  return rankOf(x) >= 2;
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

namespace {
/// For each window dimension of a transposed convolution: the extents of the full sum, and the part of it that is the
/// result.
struct TransposedPart {
  Shape full, low, extents;
};
} // namespace

static std::optional<TransposedPart> transposedPart(Builder &b, ArrayRef<SymbolicInt> input,
                                                    ArrayRef<SymbolicInt> kernel, const Window &window,
                                                    const Attributes &a) {
  size_t dims = kernel.size();
  SmallVector<int64_t> outputPadding = a.getInts("output_padding", SmallVector<int64_t>(dims, 0));
  SmallVector<int64_t> wanted = a.getInts("output_shape");
  StringRef mode = a.getString("auto_pad", "NOTSET");
  bool isSame = mode.starts_with("SAME");
  if (wanted.size() == dims + 2)
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (outputPadding.size() != dims || (!wanted.empty() && wanted.size() != dims)) {
    b.fail("conv_transpose: expected output_padding and output_shape of " + Twine(dims) + " numbers, got " +
           toString(outputPadding) + " and " + toString(wanted));
    return std::nullopt;
  }
  TransposedPart part;
  for (size_t i = 0; i < dims; ++i) {
    SymbolicInt full =
        (input[i] - 1) * window.strides[i] + outputPadding[i] + (kernel[i] - 1) * window.dilations[i] + 1;
    part.full.push_back(full);
    if (wanted.empty() && !isSame) {
      int64_t low = mode == "VALID" ? 0 : window.padLow[i], high = mode == "VALID" ? 0 : window.padHigh[i];
      part.low.emplace_back(low);
      part.extents.push_back(full - low - high);
      continue;
    }
    SymbolicInt extent = wanted.empty() ? input[i] * window.strides[i] : SymbolicInt(wanted[i]);
    SymbolicInt total = max(full - extent, SymbolicInt(0)), half = floorDiv(total, SymbolicInt(2));
    part.low.push_back(mode == "SAME_UPPER" ? half : total - half);
    part.extents.push_back(extent);
  }
  return part;
}

/// The input with stride - 1 zeros after each element, and padded with zeros by the filter's extent: its convolution
/// is the full sum of the transposed one, for any extents of the filter.
static Value spreadForFilter(Builder &b, Value x, ArrayRef<SymbolicInt> kernel, ArrayRef<SymbolicInt> full,
                             const Window &window) {
  for (auto [index, stride] : llvm::enumerate(window.strides)) {
    int64_t dim = 2 + static_cast<int64_t>(index);
    Shape shape = shapeOf(x), low(shape.size() + 1, SymbolicInt(0)), high = low;
    SymbolicInt around = (kernel[index] - 1) * window.dilations[index], needed = full[index] + around;
    high[dim + 1] = SymbolicInt(stride - 1);
    Value spread = stride == 1 ? x : padTensor(b, b.unsqueeze(x, dim + 1), low, high, "constant");
    shape[dim] *= SymbolicInt(stride);
    low.pop_back();
    high.assign(low.size(), SymbolicInt(0));
    low[dim] = around;
    high[dim] = max(needed - around - shape[dim], SymbolicInt(0));
    x = padTensor(b, b.reshape(spread, shape), low, high, "constant");
    x = sliceAxis(b, x, dim, SymbolicInt(0), needed);
    if (!x)
      return {};
  }
  return x;
}

/// Cuts out the result, with zeros where it extends beyond the full sum.
static Value cutPart(Builder &b, Value whole, const TransposedPart &part) {
  for (auto [index, low, extent] : llvm::enumerate(part.low, part.extents)) {
    if (!whole)
      return {};
    Shape none(rankOf(whole), SymbolicInt(0)), behind = none;
    behind[2 + index] = max(extent + low - part.full[index], SymbolicInt(0));
    whole = sliceAxis(b, padTensor(b, whole, none, behind, "constant"), 2 + static_cast<int64_t>(index), low, extent);
  }
  return whole;
}

/// Computes in the compute type. Constant amounts become padding of the convolution; with symbolic ones, the full sum
/// is computed.
static Value convTransposed(Builder &b, Value x, Value filter, Window window, ArrayRef<SymbolicInt> kernel,
                            const TransposedPart &part) {
  size_t dims = kernel.size();
  auto isNumber = [](const SymbolicInt &value) { return value.isConstant(); };
  filter = transposedFilter(b, filter, window.groups);
  SmallVector<int64_t> ones(dims, 1), none(dims, 0);
  window.padHigh = none;
  if (!llvm::all_of(kernel, isNumber)) {
    x = spreadForFilter(b, x, kernel, part.full, window);
    window.strides = window.inputDilation = ones;
    window.padLow = none;
    return cutPart(b, b.conv(x, filter, window, part.full), part);
  }
  window.inputDilation = window.strides;
  window.strides = ones;
  bool isWhole = !llvm::all_of(part.low, isNumber);
  for (size_t i = 0; i < dims; ++i)
    window.padLow[i] = window.dilations[i] * (*kernel[i].constant() - 1) - (isWhole ? 0 : *part.low[i].constant());
  Value result = b.conv(x, filter, window, isWhole ? part.full : part.extents);
  return isWhole ? cutPart(b, result, part) : result;
}

/// in: x [n, c, x...], filter [c, o/group, k...], bias [o] (optional).
Results conv_transpose(Builder &b, Values in, const Attributes &a) {
  if (!checkFilter(b, in[0], in[1]))
    return {};
  Shape shape = shapeOf(in[0]), filterShape = shapeOf(in[1]);
  ArrayRef<SymbolicInt> kernel = ArrayRef(filterShape).drop_front(2);
  std::optional<Window> window = windowOf(b, kernel.size(), a);
  if (!window || !checkKernel(b, kernel, a))
    return {};
  if (window->groups < 1 || provablyDiffer(shape[1], filterShape[0]))
    return {b.contradict("conv_transpose: expected an input with " + filterShape[0].str() + " channels, for a filter " +
                         toString(filterShape) + ", got " + shape[1].str() + " in " + toString(shape))};
  auto part = transposedPart(b, ArrayRef(shape).drop_front(2), kernel, *window, a);
  if (!part)
    return {};
  Value result = convTransposed(b, toCompute(b, in[0]), toCompute(b, in[1]), *window, kernel, *part);
  result = addBias(b, result, optionalInput(in, 2));
  return {result ? b.cast(result, elementTypeOf(in[0])) : result};
}

Results max_pool(Builder &b, Values in, const Attributes &a) {
  auto pooling = poolingOf(b, in[0], a, lowestValue(elementTypeOf(in[0])));
  if (!pooling)
    return {};
  return {b.windowReduce(ReductionKind::Max, pooling->resolved.input, pooling->size, pooling->resolved.window)};
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
  Value total = b.windowReduce(ReductionKind::Sum, pooling->resolved.input, pooling->size, pooling->resolved.window);
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
