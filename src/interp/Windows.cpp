//===- Windows.cpp - conv and window_reduce -------------------------------===//
//
// The input of a convolution is first copied into a buffer of exactly the positions that the windows visit, which is 0
// at positions outside the input, so that the loops need no bounds. A pool skips positions outside the input.
//
//===----------------------------------------------------------------------===//

#include "interp/Accumulators.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

namespace {
/// A window along one dimension.
struct WindowDim {
  int64_t positions, window, stride, dilation, padLow, inputDilation, inputExtent, inputStride;

  /// The extent of the padded, dilated input that windows visit.
  int64_t bufferExtent() const {
    return positions == 0 || window == 0 ? 0 : (positions - 1) * stride + (window - 1) * dilation + 1;
  }
  /// The positions at which a tap of the window lies on an element of an input that is not dilated: [first, second).
  std::pair<int64_t, int64_t> positionsOf(int64_t tap) const {
    int64_t before = padLow - tap * dilation; // of the first position, elements before the input's first
    int64_t first = before <= 0 ? 0 : (before + stride - 1) / stride;
    int64_t end = inputExtent + before <= 0 ? 0 : (inputExtent + before - 1) / stride + 1;
    return {first, std::max(first, std::min(end, positions))};
  }
  /// The taps that lie on an element of such an input at some position.
  std::pair<int64_t, int64_t> tapsInside() const {
    int64_t low = padLow - (positions - 1) * stride, end = inputExtent + padLow;
    int64_t first = low <= 0 ? 0 : (low + dilation - 1) / dilation;
    return {first, std::max(first, std::min(window, end <= 0 ? 0 : (end - 1) / dilation + 1))};
  }
  /// The input's position that a buffer position holds, or -1.
  int64_t inputPosition(int64_t position) const {
    int64_t shifted = position - padLow;
    bool isElement = shifted >= 0 && shifted % inputDilation == 0 && shifted / inputDilation < inputExtent;
    return isElement ? shifted / inputDilation : -1;
  }
};

Extents bufferExtents(ArrayRef<WindowDim> dims) {
  return llvm::map_to_vector(dims, [](const WindowDim &dim) { return dim.bufferExtent(); });
}
double bufferSize(ArrayRef<WindowDim> dims) {
  double size = 1;
  for (const WindowDim &dim : dims)
    size *= static_cast<double>(dim.bufferExtent());
  return size;
}

/// Copies what the windows visit; the buffer is filled with neutral elements before.
template <typename T> void fillBuffer(const T *input, ArrayRef<WindowDim> dims, T *buffer) {
  if (dims.empty()) {
    *buffer = *input;
    return;
  }
  const WindowDim &dim = dims.front();
  int64_t stride = *countElements(bufferExtents(dims.drop_front()));
  for (int64_t i = 0; i < dim.bufferExtent(); ++i)
    if (int64_t position = dim.inputPosition(i); position >= 0)
      fillBuffer(input + position * dim.inputStride, dims.drop_front(), buffer + i * stride);
}
} // namespace

static bool isInvalid(const WindowDim &dim) {
  return dim.window < 0 || dim.stride < 1 || dim.dilation < 1 || dim.inputDilation < 1;
}
static LogicalResult checkWindows(Operation *op, ArrayRef<WindowDim> dims) {
  if (llvm::any_of(dims, isInvalid))
    return op->emitError("expected strides and dilations of at least 1");
  return success();
}

//===----------------------------------------------------------------------===//
// Convolution: for each image and group, filter x buffer
//===----------------------------------------------------------------------===//

namespace {
struct Convolution {
  ConvOp op;
  const Tensor &input, &filter;
  Extents inputStrides, filterStrides;
  /// The result with channels first.
  Extents resultShape;
  SmallVector<WindowDim> dims;

  Convolution(ConvOp op, const Tensor &input, const Tensor &filter, ArrayRef<int64_t> result)
      : op(op), input(input), filter(filter), inputStrides(rowMajorStrides(input.shape)),
        filterStrides(rowMajorStrides(filter.shape)), resultShape{result[0], result[op.channelDim()]} {
    for (unsigned i = 0; i < op.getStrides().size(); ++i) {
      unsigned dim = op.windowDim(i);
      resultShape.push_back(result[dim]);
      dims.push_back({result[dim], filter.shape[op.filterWindowDim(i)], op.getStrides()[i], op.getDilations()[i],
                      op.getPadLow()[i], op.getInputDilation()[i], input.shape[dim], inputStrides[dim]});
    }
  }

  int64_t groups() { return static_cast<int64_t>(op.getGroups()); }
  int64_t channels() { return filter.shape[op.filterInputDim()]; }
  int64_t groupOutputs() { return filter.shape[op.filterOutputDim()] / groups(); }
  LogicalResult check();
  template <typename T> void run(Tensor &result);
};
} // namespace

LogicalResult Convolution::check() {
  bool fits = channels() * groups() == input.shape[op.channelDim()] && resultShape[0] == input.shape[0] &&
              resultShape[1] == filter.shape[op.filterOutputDim()] && resultShape[1] % groups() == 0;
  if (fits)
    return checkWindows(op, dims);
  return op->emitError("expected an input of ")
         << groups() << " groups of " << channels() << " channels, got " << describe(input.shape)
         << " with a filter of " << describe(filter.shape) << " and a result of " << describe(resultShape);
}

template <typename T> void Convolution::run(Tensor &result) {
  std::vector<T> inputs(input.elementCount()), filters(filter.elementCount());
  widen(input, result.elementType, 0, input.elementCount(), inputs.data());
  widen(filter, result.elementType, 0, filter.elementCount(), filters.data());
  Extents buffer = bufferExtents(dims), bufferStrides = rowMajorStrides(buffer);
  int64_t bufferCount = *countElements(buffer);
  Extents taps = {channels()}, filterTapStrides = {filterStrides[op.filterInputDim()]},
          bufferTapStrides = {bufferCount}, positions, positionStrides;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    taps.push_back(dim.window);
    filterTapStrides.push_back(filterStrides[op.filterWindowDim(i)]);
    bufferTapStrides.push_back(bufferStrides[i] * dim.dilation);
    positions.push_back(dim.positions);
    positionStrides.push_back(bufferStrides[i] * dim.stride);
  }
  SmallVector<int64_t> rows = offsetsOf({groupOutputs()}, {filterStrides[op.filterOutputDim()]}),
                       filterDepth = offsetsOf(taps, filterTapStrides), bufferDepth = offsetsOf(taps, bufferTapStrides),
                       columns = offsetsOf(positions, positionStrides);
  std::vector<T> padded(channels() * bufferCount), sums(rows.size() * columns.size());
  int64_t first = 0, channelStride = inputStrides[op.channelDim()];
  for (int64_t image = 0; image < resultShape[0]; ++image)
    for (int64_t group = 0; group < groups(); ++group) {
      std::fill(sums.begin(), sums.end(), T(0));
      for (int64_t c = 0; c < channels(); ++c)
        fillBuffer(inputs.data() + image * inputStrides[0] + (group * channels() + c) * channelStride,
                   ArrayRef<WindowDim>(dims), padded.data() + c * bufferCount);
      const T *groupFilters = filters.data() + group * groupOutputs() * filterStrides[op.filterOutputDim()];
      OffsetProduct<T>{groupFilters, padded.data(), sums.data(), rows, filterDepth, bufferDepth, columns}.run();
      narrow(sums.data(), static_cast<int64_t>(sums.size()), result, first);
      first += static_cast<int64_t>(sums.size());
    }
}

static FailureOr<Tensor> evaluate(ConvOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result))
    return failure();
  Convolution convolution(op, operands[0], operands[1], result->shape);
  double scratch = static_cast<double>(operands[0].elementCount()) + static_cast<double>(operands[1].elementCount()) +
                   static_cast<double>(result->elementCount()) +
                   bufferSize(convolution.dims) * static_cast<double>(convolution.channels());
  if (failed(convolution.check()) || failed(environment.checkScratch(op, 8.0 * scratch)))
    return failure();
  if (result->elementCount() == 0)
    return result;
  FailureOr<Tensor> channelsFirst =
      op.getChannelsLast() ? environment.allocate(op, result->elementType, convolution.resultShape) : result;
  if (failed(channelsFirst))
    return failure();
  if (result->format().isFloat())
    convolution.run<double>(*channelsFirst);
  else
    convolution.run<uint64_t>(*channelsFirst);
  if (op.getChannelsLast()) {
    Extents strides = rowMajorStrides(convolution.resultShape);
    std::rotate(strides.begin() + 1, strides.begin() + 2, strides.end());
    copyStrided(result->mutableData(), rowMajorStrides(result->shape), channelsFirst->data(), strides, result->shape,
                result->format().bytes());
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

namespace {
/// A pool: of each dimension, one after another, each tap of the window with the positions at which it is in the input.
template <typename T> struct Pool {
  ReductionKind kind;
  Type type;
  ArrayRef<WindowDim> dims;
  Extents carriedStrides;

  void combineFrom(size_t number, const T *input, T *carried) const {
    if (number == dims.size())
      return combine(kind, type, 1, carried, 1, input, 1);
    const WindowDim &dim = dims[number];
    auto [firstTap, endTap] = dim.tapsInside();
    for (int64_t tap = firstTap; tap < endTap; ++tap) {
      auto [first, end] = dim.positionsOf(tap);
      if (first == end)
        continue;
      const T *next = input + (first * dim.stride + tap * dim.dilation - dim.padLow) * dim.inputStride;
      int64_t step = dim.stride * dim.inputStride, carriedStep = carriedStrides[number];
      if (number + 1 == dims.size())
        combine(kind, type, end - first, carried + first * carriedStep, carriedStep, next, step);
      else
        for (int64_t i = first; i < end; ++i)
          combineFrom(number + 1, next + (i - first) * step, carried + i * carriedStep);
    }
  }
};
} // namespace

template <typename T>
static void reduceWindows(WindowReduceOp op, ArrayRef<WindowDim> dims, const Tensor &input, Tensor &result) {
  std::vector<T> inputs(input.elementCount()),
      carried(result.elementCount(), initialValue<T>(op.getKind(), result.elementType));
  widen(input, result.elementType, 0, input.elementCount(), inputs.data());
  Pool<T>{op.getKind(), result.elementType, dims, rowMajorStrides(result.shape)}.combineFrom(0, inputs.data(),
                                                                                             carried.data());
  narrow(carried.data(), result.elementCount(), result, 0);
}

static FailureOr<Tensor> evaluate(WindowReduceOp op, ArrayRef<Tensor> operands, const Environment &environment) {
  FailureOr<Tensor> result = environment.allocateResult(op);
  if (failed(result))
    return failure();
  const Tensor &input = operands[0];
  Extents inputStrides = rowMajorStrides(input.shape);
  SmallVector<WindowDim> dims;
  for (size_t i = 0; i < input.shape.size(); ++i)
    dims.push_back({result->shape[i], op.getWindow()[i], op.getStrides()[i], op.getDilations()[i], op.getPadLow()[i], 1,
                    input.shape[i], inputStrides[i]});
  double scratch = static_cast<double>(input.elementCount()) + static_cast<double>(result->elementCount());
  if (failed(checkWindows(op, dims)) || failed(environment.checkScratch(op, 8.0 * scratch)))
    return failure();
  if (result->elementCount() == 0)
    return result;
  if (result->format().isFloat())
    reduceWindows<double>(op, dims, input, *result);
  else
    reduceWindows<uint64_t>(op, dims, input, *result);
  return result;
}

Evaluated evaluateWindow(Operation *op, Operands operands, const Environment &environment) {
  return evaluateOneOf<ConvOp, WindowReduceOp>(
      op, [&](auto specific) { return evaluate(specific, operands, environment); });
}
} // namespace perpend::interp
