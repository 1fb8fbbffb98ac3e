//===- TransposedConvolution.cpp - convolutions that enlarge --------------===//
//
// The result of a transposed convolution with stride s consists of s interleaved phases per dimension: the positions
// r, r + s, r + 2 s, ... are a convolution without stride, with the elements r, r + s, r + 2 s, ... of the filter. If
// the strides divide the extents of the filter, one convolution with more channels computes up to 256 phases;
// otherwise each of at most 16 phases has its own. If there are more, if there is a dilation, or if the filter's
// extents or the padding are symbols, the operator is one convolution of an input with zeros between its elements.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Division.h"
#include "graph/composites/Windows.h"

#include <numeric>

using namespace mlir;

namespace perpend::graph {

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

/// Whether all phases take as many elements of the filter.
static bool hasEvenPhases(const Window &window, ArrayRef<SymbolicInt> kernel) {
  return llvm::all_of(llvm::zip(window.strides, kernel), [](auto pair) {
    auto [stride, extent] = pair;
    return *extent.constant() % stride == 0;
  });
}

/// Whether the result has phases, of which each is a convolution without stride of the elements r, r + stride,
/// r + 2 stride, ... of the filter.
static bool hasPhases(const Window &window, ArrayRef<SymbolicInt> kernel, const TransposedPart &part) {
  constexpr int64_t mostPhases = 16;
  int64_t phases = 1;
  for (auto [stride, dilation, extent, low] : llvm::zip(window.strides, window.dilations, kernel, part.low)) {
    phases *= stride;
    if (dilation != 1 || !low.isConstant() || !extent.isConstant() || phases > mostPhases * mostPhases)
      return false;
  }
  return phases > 1 && (phases <= mostPhases || hasEvenPhases(window, kernel));
}

/// [c, o/group, k...] becomes [o * phases, c/group, k/stride...]: the filters of all phases, the elements r, r +
/// stride, r + 2 stride, ... of each dimension, in reverse order.
static Value phaseFilters(Builder &b, Value filter, ArrayRef<int64_t> strides, int64_t groups) {
  Shape shape = shapeOf(filter);
  std::optional<SymbolicInt> perGroup = divideEvenly(shape[0], SymbolicInt(groups));
  if (!perGroup)
    return b.fail("conv_transpose: " + shape[0].str() + " channels do not divide into " + Twine(groups) + " groups");
  Shape apart{SymbolicInt(groups), *perGroup, shape[1]};
  Shape together{shape[1] * groups, apart[1]};
  SmallVector<int64_t> permutation{0, 2}, taps{1}, steps(3, 1);
  Shape starts(3, SymbolicInt(0));
  for (auto [extent, stride] : llvm::zip(ArrayRef(shape).drop_front(2), strides)) {
    SymbolicInt count(*extent.constant() / stride);
    taps.push_back(apart.size());
    permutation.push_back(apart.size() + 1);
    apart.append({count, SymbolicInt(stride)});
    starts.append({count - 1, SymbolicInt(0)});
    steps.append({-1, 1});
    together[0] *= SymbolicInt(stride);
    together.push_back(count);
  }
  permutation.append(taps);
  Value reversed = b.slice(b.reshape(filter, apart), starts, apart, steps);
  return b.reshape(b.transpose(reversed, permutation), together);
}

namespace {
/// y[a * stride + r - low] = sum over t of x[a - t] filter[t * stride + r]
struct Phases {
  Builder &b;
  Value x, filter;
  Window window; ///< without strides
  SmallVector<int64_t> strides;
  Shape kernel, positions;          ///< extents of the filter, and of each phase
  SmallVector<int64_t> first, rest; ///< low = first * stride + rest

  Phases(Builder &b, Value x, Value filter, const Window &strided, const TransposedPart &part)
      : b(b), x(x), filter(filter), window(strided), strides(strided.strides),
        kernel(ArrayRef(shapeOf(filter)).drop_front(2)) {
    window.strides.assign(strides.size(), 1);
    window.padHigh.assign(strides.size(), 0);
    for (auto [low, extent, stride] : llvm::zip(part.low, part.extents, strides)) {
      first.push_back(*low.constant() / stride);
      rest.push_back(*low.constant() % stride);
      positions.push_back(ceilDiv(extent + rest.back(), SymbolicInt(stride)));
    }
  }

  Value convolution(Value filters) {
    if (!filters)
      return {};
    for (auto [index, extent] : llvm::enumerate(ArrayRef(shapeOf(filters)).drop_front(2)))
      window.padLow[index] = *extent.constant() - 1 - first[index];
    return b.conv(x, filters, window, positions);
  }

  /// One convolution with the filters of all phases: [n, o, phases..., positions...].
  Value together() { return split(convolution(phaseFilters(b, filter, strides, window.groups)), true); }

  /// One convolution for each phase: [n, phases..., o, positions...].
  Value oneByOne() {
    SmallVector<Value> all;
    SmallVector<int64_t> phase(strides.size(), 0);
    for (int64_t left = std::accumulate(strides.begin(), strides.end(), int64_t(1), std::multiplies<>()); left > 0;
         --left) {
      all.push_back(ofPhase(phase));
      for (size_t dim = strides.size(); dim-- > 0 && ++phase[dim] == strides[dim];)
        phase[dim] = 0;
    }
    return split(llvm::is_contained(all, Value()) ? Value() : b.concat(all, 1), false);
  }

private:
  SymbolicInt channels() { return shapeOf(filter)[1] * window.groups; }

  Value ofPhase(ArrayRef<int64_t> phase) {
    Shape shape = shapeOf(filter), starts(2, SymbolicInt(0)), result{shapeOf(x)[0], channels()};
    SmallVector<int64_t> steps(2, 1);
    bool isEmpty = false;
    for (auto [dim, first] : llvm::enumerate(phase)) {
      shape[2 + dim] =
          SymbolicInt(llvm::divideCeil(std::max<int64_t>(*kernel[dim].constant() - first, 0), strides[dim]));
      isEmpty |= shape[2 + dim] == SymbolicInt(0);
      starts.emplace_back(first);
      steps.push_back(strides[dim]);
    }
    result.append(positions);
    if (isEmpty)
      return b.splat(result, 0, elementTypeOf(x));
    Value part = b.slice(filter, starts, shape, steps);
    return part ? convolution(transposedFilter(b, part, window.groups)) : part;
  }

  /// The phases as dimensions of their own, before or behind the channels, become every stride-th position.
  Value split(Value phases, bool channelsFirst) {
    size_t dims = strides.size();
    Shape apart{shapeOf(x)[0]}, joined{shapeOf(x)[0], channels()};
    SmallVector<int64_t> permutation{0, static_cast<int64_t>(channelsFirst ? 1 : 1 + dims)};
    if (channelsFirst)
      apart.push_back(channels());
    for (int64_t stride : strides)
      apart.emplace_back(stride);
    if (!channelsFirst)
      apart.push_back(channels());
    apart.append(positions);
    for (size_t i = 0; i < dims; ++i) {
      permutation.append({static_cast<int64_t>(2 + dims + i), static_cast<int64_t>((channelsFirst ? 2 : 1) + i)});
      joined.push_back(positions[i] * SymbolicInt(strides[i]));
    }
    return phases ? b.reshape(b.transpose(b.reshape(phases, apart), permutation), joined) : phases;
  }
};
} // namespace

static Value convByPhases(Builder &b, Value x, Value filter, const Window &window, ArrayRef<SymbolicInt> kernel,
                          const TransposedPart &part) {
  if (!x || !filter)
    return {};
  Phases phases(b, x, filter, window, part);
  Value whole = hasEvenPhases(window, kernel) ? phases.together() : phases.oneByOne();
  if (!whole)
    return {};
  Shape starts(2, SymbolicInt(0)), result(ArrayRef(shapeOf(whole)).take_front(2));
  for (int64_t rest : phases.rest)
    starts.emplace_back(rest);
  result.append(part.extents);
  return b.slice(whole, starts, result, SmallVector<int64_t>(result.size(), 1));
}

/// Computes in the compute type. Constant amounts become padding of the convolution; with symbolic ones, the full sum
/// is computed.
static Value convTransposed(Builder &b, Value x, Value filter, Window window, ArrayRef<SymbolicInt> kernel,
                            const TransposedPart &part) {
  size_t dims = kernel.size();
  auto isNumber = [](const SymbolicInt &value) { return value.isConstant(); };
  if (hasPhases(window, kernel, part))
    return convByPhases(b, x, filter, window, kernel, part);
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

namespace composites {
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
} // namespace composites
} // namespace perpend::graph
