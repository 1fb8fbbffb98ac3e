//===- PlaceChannelsLast.cpp - channels-last convolutions and pools -------===//
//
// Makes convolutions channels-last, and pools that combine no batches or channels, so that the channels of a position
// are contiguous for vectors and micro-kernels. PlaceTransposes moves the transposes that this adds. Padding, and the
// zeros between the input elements of a transposed convolution, become separate operators, so that windows lie inside
// their input; but depthwise convolutions of floats keep their padding, and skip elements that do not exist; those of
// two or three channels become one for each. A transposed convolution whose windows are adjacent and do not overlap
// becomes a contraction.
//
//   conv(x : [n, c, h, w]) pad 1  =>  transpose(conv(pad(transpose(x))) channels_last)
//
//===----------------------------------------------------------------------===//

#include "graph/Rows.h"
#include "graph/Scalars.h"
#include "graph/builder/Builder.h"
#include "graph/passes/Passes.h"
#include "graph/primitives/FewChannels.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACECHANNELSLAST
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

/// The permutation [0, 2, 3, ..., 1], and its inverse.
static SmallVector<int64_t> toChannelsLast(size_t rank) {
  SmallVector<int64_t> permutation{0};
  for (size_t dim = 2; dim < rank; ++dim)
    permutation.push_back(dim);
  permutation.push_back(1);
  return permutation;
}
static SmallVector<int64_t> toChannelsFirst(size_t rank) {
  SmallVector<int64_t> permutation{0, static_cast<int64_t>(rank) - 1};
  for (size_t dim = 1; dim + 1 < rank; ++dim)
    permutation.push_back(dim);
  return permutation;
}

/// Inserts `step - 1` zeros after each element along dimension `dim`; an empty dimension stays empty.
static Value spread(GraphBuilder &builder, Value input, unsigned dim, int64_t step) {
  Shape shape = shapeOf(input);
  shape[dim] *= SymbolicInt(step);
  Type type = tensorTypeOf(input).getElementType();
  return builder.generate({input}, shape, type, [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
    Value stepValue = b.create<arith::ConstantIndexOp>(loc, step);
    SmallVector<Value> source(index);
    source[dim] = b.create<arith::DivUIOp>(loc, index[dim], stepValue);
    Value rest = b.create<arith::RemUIOp>(loc, index[dim], stepValue);
    Value isElement =
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, rest, b.create<arith::ConstantIndexOp>(loc, 0));
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(scalarType(type)));
    return b.create<arith::SelectOp>(loc, isElement, load(b, loc, tensors[0], source), zero).getResult();
  });
}

namespace {
/// The window along one dimension, for padding.
struct WindowExtent {
  unsigned dim;
  SymbolicInt size, result;
  int64_t stride, dilation, low;
};
} // namespace

/// Pads (or crops) so that every window lies inside the input and the first starts at 0.
static Value padWindows(GraphBuilder &builder, Value input, ArrayRef<WindowExtent> windows, TypedAttr value) {
  Shape shape = shapeOf(input), low(shape.size(), SymbolicInt(0)), high(shape.size(), SymbolicInt(0));
  bool needsPadding = false;
  for (const WindowExtent &window : windows) {
    SymbolicInt needed = (window.result - SymbolicInt(1)) * SymbolicInt(window.stride) +
                         (window.size - SymbolicInt(1)) * SymbolicInt(window.dilation) + SymbolicInt(1);
    SymbolicInt missing = needed - shape[window.dim] - SymbolicInt(window.low);
    if (window.low == 0 && (-missing).knownNonNegative())
      continue;
    low[window.dim] = SymbolicInt(window.low);
    high[window.dim] = missing;
    needsPadding = true;
  }
  return needsPadding ? builder.pad(input, low, high, value) : input;
}

/// Whether the windows of a transposed convolution are adjacent without overlap: each input position then produces its
/// own block of the result.
static bool makesBlocks(ConvOp conv) {
  Shape input = shapeOf(conv.getInput()), filter = shapeOf(conv.getFilter()), result = shapeOf(conv.getResult());
  if (conv.getGroups() != 1)
    return false;
  for (size_t i = 0; i < conv.getStrides().size(); ++i) {
    SymbolicInt step(conv.getInputDilation()[i]);
    if (step == SymbolicInt(1) || filter[conv.filterWindowDim(i)] != step || conv.getStrides()[i] != 1 ||
        conv.getDilations()[i] != 1 || SymbolicInt(conv.getPadLow()[i]) != step - SymbolicInt(1) ||
        result[conv.windowDim(i)] != input[conv.windowDim(i)] * step)
      return false;
  }
  return !conv.getStrides().empty();
}

/// Multiplies [n, x..., c] by [c, k..., o] and moves each k next to its x. `filter` is [k..., c, o], mirrored.
static Value blockConv(GraphBuilder &builder, Value input, Value filter) {
  Shape shape = shapeOf(input), window = shapeOf(filter), starts, result{shape[0]};
  int64_t windows = shape.size() - 2;
  SmallVector<int64_t> steps(windows, -1), permutation{0};
  for (int64_t i = 0; i < windows; ++i) {
    starts.push_back(window[i] - SymbolicInt(1));
    permutation.append({1 + i, 1 + windows + i});
    result.push_back(shape[1 + i] * window[i]);
  }
  steps.append(2, 1);
  starts.append(2, SymbolicInt(0));
  permutation.push_back(1 + 2 * windows);
  result.push_back(window.back());
  Value straight = builder.slice(filter, starts, window, steps);
  Value blocks = builder.contract(input, straight, {}, {}, {windows + 1}, {windows});
  return builder.reshape(builder.transpose(blocks, permutation), result);
}

/// Products, and words of bytes, need operands without holes. Depthwise convolutions of floats skip missing elements
/// instead.
static bool skipsHoles(ConvOp conv) {
  return conv.isDepthwise() && isa<FloatType>(tensorTypeOf(conv.getInput()).getElementType());
}

/// Products skip what is outside of an image if the channels of a pixel are a row by themselves: shorter ones are
/// multiplied as rows of the window, which need the border.
static bool hasLongPixels(const SymbolicInt &channels) {
  constexpr int64_t least = 16;
  return channels.constant().value_or(0) >= least;
}

/// Converts padding with zeros of a convolution that skips holes into holes, also padding of narrower floats.
static void takePadding(ConvOp conv) {
  Operation *extension = conv.getInput().getDefiningOp();
  bool isExtended = extension && extendsFloats(extension);
  auto pad = (isExtended ? extension->getOperand(0) : conv.getInput()).getDefiningOp<PadOp>();
  bool isDense = llvm::all_of(conv.getInputDilation(), [](int64_t step) { return step == 1; });
  if (!pad || !isDense || !matchPattern(pad.getValue(), m_PosZeroFloat()))
    return;
  Shape low(pad.getLow().values()), inner = shapeOf(pad.getInput()), padded = shapeOf(pad.getResult());
  SmallVector<int64_t> lows(conv.getPadLow());
  for (unsigned i = 0; i < lows.size(); ++i) {
    unsigned dim = conv.windowDim(i);
    std::optional<int64_t> here = low[dim].constant();
    if (!here || *here < 0 || !(padded[dim] - low[dim] - inner[dim]).knownNonNegative())
      return;
    lows[i] += *here;
    inner[dim] = padded[dim];
  }
  if (inner != padded)
    return;
  conv.setPadLow(lows);
  OpBuilder operations(conv);
  GraphBuilder builder(operations, conv.getLoc());
  conv.getInputMutable().assign(builder.cast(pad.getInput(), tensorTypeOf(conv.getInput()).getElementType()));
}

static void placeConv(ConvOp conv, bool skipsBorders) {
  const Shape given = shapeOf(conv.getFilter());
  const bool isDense = llvm::all_of(conv.getInputDilation(), [](int64_t step) { return step == 1; });
  const bool keepsPadding =
      skipsHoles(conv) || (skipsBorders && isDense && isa<FloatType>(scalarTypeOf(conv.getInput())) &&
                           hasLongPixels(conv.getChannelsLast() ? given[given.size() - 2] : given[1]));
  if (keepsPadding)
    takePadding(conv);
  OpBuilder operations(conv);
  GraphBuilder builder(operations, conv.getLoc());
  size_t rank = shapeOf(conv.getInput()).size(), windows = conv.getStrides().size();
  Value input = conv.getInput(), filter = conv.getFilter();
  Shape resultShape = shapeOf(conv.getResult()), resultExtents;
  for (size_t i = 0; i < windows; ++i)
    resultExtents.push_back(resultShape[conv.windowDim(i)]);
  if (!conv.getChannelsLast()) {
    SmallVector<int64_t> filterPermutation;
    for (size_t i = 0; i < windows; ++i)
      filterPermutation.push_back(2 + i);
    filterPermutation.append({1, 0});
    input = builder.transpose(input, toChannelsLast(rank));
    filter = builder.transpose(filter, filterPermutation);
  }
  auto replace = [&](Value result) {
    conv.replaceAllUsesWith(conv.getChannelsLast() ? result : builder.transpose(result, toChannelsFirst(rank)));
    conv.erase();
  };
  if (makesBlocks(conv) && scalarTypeOf(input) == scalarTypeOf(conv.getResult()))
    return replace(blockConv(builder, input, filter));
  Window window;
  SmallVector<WindowExtent> extents;
  for (size_t i = 0; i < windows; ++i) {
    if (conv.getInputDilation()[i] != 1)
      input = spread(builder, input, 1 + i, conv.getInputDilation()[i]);
    extents.push_back({static_cast<unsigned>(1 + i), shapeOf(filter)[i], resultExtents[i], conv.getStrides()[i],
                       conv.getDilations()[i], conv.getPadLow()[i]});
    window.strides.push_back(conv.getStrides()[i]);
    window.dilations.push_back(conv.getDilations()[i]);
  }
  if (keepsPadding)
    window.padLow.assign(conv.getPadLow().begin(), conv.getPadLow().end());
  else
    window.padLow.assign(windows, 0);
  window.inputDilation.assign(windows, 1);
  window.groups = conv.getGroups();
  window.channelsLast = true;
  auto zero = operations.getZeroAttr(scalarTypeOf(input));
  if (!keepsPadding)
    input = padWindows(builder, input, extents, zero);
  replace(builder.conv(input, filter, window, resultExtents, tensorTypeOf(conv.getResult()).getElementType()));
}

/// The neutral element of a reduction, as an attribute.
static TypedAttr neutral(OpBuilder &builder, WindowReduceOp op) {
  Value value = initialValue(builder, op.getLoc(), op.getKind(), tensorTypeOf(op.getResult()).getElementType());
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  TypedAttr attribute = constant.getValue();
  constant.erase();
  return attribute;
}

static void placeWindowReduce(WindowReduceOp op, bool skipsBorders) {
  Shape shape = shapeOf(op.getInput());
  size_t rank = shape.size();
  bool isChannelsFirst = rank >= 3 && op.getWindow()[0] == 1 && op.getWindow()[1] == 1 && op.getStrides()[1] == 1 &&
                         op.getPadLow()[1] == 0;
  if (!isChannelsFirst)
    return;
  OpBuilder operations(op);
  GraphBuilder builder(operations, op.getLoc());
  SmallVector<int64_t> permutation = toChannelsLast(rank);
  auto permuted = [&](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(permutation, [&](int64_t dim) { return values[dim]; });
  };
  Value input = builder.transpose(op.getInput(), permutation);
  Shape resultShape = shapeOf(op.getResult()), last;
  SmallVector<WindowExtent> extents;
  for (auto [position, dim] : llvm::enumerate(permutation)) {
    last.push_back(resultShape[dim]);
    if (op.getWindow()[dim] != 1 || op.getStrides()[dim] != 1 || op.getPadLow()[dim] != 0)
      extents.push_back({static_cast<unsigned>(position), SymbolicInt(op.getWindow()[dim]), resultShape[dim],
                         op.getStrides()[dim], op.getDilations()[dim], op.getPadLow()[dim]});
  }
  SmallVector<int64_t> padLow(rank, 0);
  if (skipsBorders)
    padLow = permuted(op.getPadLow());
  else
    input = padWindows(builder, input, extents, neutral(operations, op));
  Type type = tensorTypeOf(op.getResult()).getElementType();
  Value result = operations.create<WindowReduceOp>(op.getLoc(), tensorType(last, type), input, op.getKindAttr(),
                                                   operations.getDenseI64ArrayAttr(permuted(op.getWindow())),
                                                   operations.getDenseI64ArrayAttr(permuted(op.getStrides())),
                                                   operations.getDenseI64ArrayAttr(padLow),
                                                   operations.getDenseI64ArrayAttr(permuted(op.getDilations())));
  op.replaceAllUsesWith(builder.transpose(result, toChannelsFirst(rank)));
  op.erase();
}

namespace {
struct PlaceChannelsLast : perpend::graph::impl::GraphPlaceChannelsLastBase<PlaceChannelsLast> {
  using GraphPlaceChannelsLastBase::GraphPlaceChannelsLastBase;

  void runOnOperation() override {
    SmallVector<Operation *> operators;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvOp, WindowReduceOp>(op))
        operators.push_back(op);
    });
    for (Operation *op : operators) {
      if (auto conv = dyn_cast<ConvOp>(op))
        for (auto single : separateFewChannels(conv))
          placeConv(single, skipsBorders);
      else
        placeWindowReduce(cast<WindowReduceOp>(op), skipsBorders);
    }
  }
};
} // namespace
