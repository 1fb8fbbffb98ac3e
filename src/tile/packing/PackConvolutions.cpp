//===- PackConvolutions.cpp - convolutions on packed operands -------------===//

#include "tile/packing/Packer.h"

#include "graph/ElementTypes.h"
#include "graph/composites/Formulas.h"
#include "tile/intrinsics/Words.h"
#include "tile/ir/Tile.h"
#include "tile/kernel/Buffers.h"

#include <numeric>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

/// Whether no window provably extends beyond the input, into the implicit zeros.
static bool windowsEndInside(graph::ConvOp op) {
  Shape input = shapeOf(op.getInput()), filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
  for (unsigned i = 0; i < op.getStrides().size(); ++i) {
    SymbolicInt needed = lengthOfWindows(result[op.windowDim(i)], op.getStrides()[i], filter[op.filterWindowDim(i)],
                                         op.getDilations()[i]);
    if (!(input[op.windowDim(i)] - needed).knownNonNegative())
      return false;
  }
  return true;
}

Value Packer::convolution(graph::ConvOp op) {
  bool isPadded = llvm::any_of(op.getPadLow(), [](int64_t low) { return low != 0; }) || !windowsEndInside(op);
  if (!op.getChannelsLast() || isPadded)
    return {};
  return op.isDepthwise() ? depthwiseConv(op) : windowConv(op);
}

/// Computes in elements of words of products (tile/intrinsics/Words.h). Those are integers without zero points, whose
/// contribution is added to the sum afterwards.
Value Packer::depthwiseConv(graph::ConvOp op) {
  if (!isa<IntegerType>(sum))
    return {};
  int64_t lanes = target.vectorLanes(elementBytes(sum));
  Type own = graph::elementTypeOf(op.getInput()), ownFilter = graph::elementTypeOf(op.getFilter());
  for (auto [left, right] : betterFactors(own, ownFilter, sum, lanes, target)) {
    std::optional<CentredNumbers> filter = asNumbersOf(builder, op.getFilter(), right);
    std::optional<CentredNumbers> input =
        filter && !filter->zero ? asNumbersOf(builder, op.getInput(), left) : std::nullopt;
    if (!input)
      continue;
    auto copy = cast<graph::ConvOp>(operations.clone(*op));
    copy->setOperands({input->numbers, filter->numbers});
    return subtractInputZero(builder, copy.getResult(), input->zero, filter->numbers);
  }
  return {};
}

Value Packer::windowConv(graph::ConvOp op) {
  Shape filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
  std::optional<SymbolicInt> columns = exactDiv(filter.back(), SymbolicInt(op.getGroups()));
  if (!columns)
    return {};
  ProductExtents extents{result[result.size() - 2], *columns, filter[filter.size() - 2]};
  // Channels of neighbouring positions are contiguous.
  auto last = static_cast<unsigned>(op.getStrides().size() - 1);
  bool isOneRow = op.getGroups() == 1 && op.getDilations()[last] == 1;
  for (unsigned i = 0; i <= last; ++i)
    extents.windows += filter[op.filterWindowDim(i)] != SymbolicInt(1) && !(i == last && isOneRow);
  for (const PanelChoice &choice : choicesFor(extents, op.getInput(), op.getFilter())) {
    if (op.getGroups() > 1 && mod(extents.depth, SymbolicInt(choice.panels().depth)) != SymbolicInt(0))
      continue; // a word would mix channels of two groups
    auto operands = operandsFor(choice, op.getInput(), op.getFilter(), /*mayHaveRightZero=*/false);
    if (!operands)
      continue;
    std::optional<PanelChoice> byRows = isOneRow ? choiceByRows(op, extents, choice) : std::nullopt;
    return windowConv(op, *operands, byRows.value_or(choice), byRows.has_value());
  }
  return {};
}

/// Pads channels so that each window of a row starts with a word. For sums in the operands' own type, it must also end
/// with one: otherwise elements after the window are multiplied by zero, which yields NaN for infinities.
static int64_t channelsOfRow(int64_t channels, int64_t stride, int64_t width, const Intrinsic &intrinsic) {
  int64_t group = intrinsic.panels->group;
  bool isWhole = stride * channels % group == 0 && (intrinsic.sumsOfColumn() == 1 || width * channels % group == 0);
  return isWhole ? channels : llvm::alignTo(channels, group);
}

/// An intrinsic with the same elements as `other` that is cheaper if the sum runs along a row of the window.
std::optional<PanelChoice> Packer::choiceByRows(graph::ConvOp op, ProductExtents extents, const PanelChoice &other) {
  auto last = static_cast<unsigned>(op.getStrides().size() - 1);
  SymbolicInt width = shapeOf(op.getFilter())[op.filterWindowDim(last)];
  std::optional<int64_t> channels = extents.depth.constant();
  if (!channels || !width.isConstant() || width == SymbolicInt(1))
    return std::nullopt;
  SymbolicInt columns = shapeOf(op.getInput())[last + 1];
  if (other.panels().group > 1 && !columns.isConstant()) // rows of unknown width may not be whole words
    return std::nullopt;
  int64_t group = other.panels().group,
          together = channelsOfRow(*channels, op.getStrides()[last], *width.constant(), *other.intrinsic);
  double padded = double(together) / double(*channels);
  extents.depth = width * together;
  for (const PanelChoice &choice : choicesFor(extents, op.getInput(), op.getFilter())) {
    const PanelLayout &panels = choice.panels();
    if (group > 1 && panels.group == group && panels.left == other.panels().left &&
        panels.right == other.panels().right)
      return choice.cyclesPerPoint * padded < other.cyclesPerPoint ? std::optional(choice) : std::nullopt;
  }
  return std::nullopt;
}

/// With few channels, words and registers would be mostly zeros. So the channels of a window's row are joined into one
/// sum of words: x [n, h, w, c] becomes [n, h, w c / g, g], and the filter [kh, kw, c, o] becomes [kh, kw c / g, g, o].
/// Zeros that pad the filter meet elements after the window.
void Packer::joinRows(Value &x, Value &w, int64_t &stride, const PanelChoice &choice) {
  int64_t group = choice.panels().group, width = *shapeOf(w)[1].constant();
  int64_t channels = channelsOfRow(*shapeOf(x)[3].constant(), stride, width, *choice.intrinsic);
  x = wholeMultiples(x, {{3, channels}});
  w = wholeMultiples(w, {{2, channels}});
  Shape image = shapeOf(x), filter = shapeOf(w);
  int64_t depth = llvm::alignTo(width * channels, choice.panels().depth);
  SymbolicInt columns = image[2] + SymbolicInt(llvm::divideCeil(depth, channels) - width);
  int64_t columnsOfWords = group / std::gcd(channels, group);
  columns = ceilDiv(columns, SymbolicInt(columnsOfWords)) * columnsOfWords;
  Shape none(4, SymbolicInt(0)), behind(none);
  behind[2] = columns - image[2];
  x = builder.pad(x, none, behind, operations.getZeroAttr(graph::scalarTypeOf(x)));
  SymbolicInt words = *exactDiv(columns * channels, SymbolicInt(group));
  x = builder.reshape(x, {image[0], image[1], words, SymbolicInt(group)});
  w = builder.reshape(w, {filter[0], SymbolicInt(width * channels), filter[3]});
  w = wholeMultiples(w, {{1, choice.panels().depth}});
  w = builder.reshape(w, {filter[0], SymbolicInt(depth / group), SymbolicInt(group), filter[3]});
  stride = stride * channels / group;
}

Value Packer::windowConv(graph::ConvOp op, const Operands &operands, const PanelChoice &choice, bool byRows) {
  Value x = operands.lhs.numbers, w = operands.rhs.numbers;
  Shape result = shapeOf(op.getResult());
  int64_t depth = byRows ? choice.panels().group : choice.panels().depth, channelDim = result.size() - 1;
  SymbolicInt groups(op.getGroups());
  if (!byRows) {
    x = wholeMultiples(x, {{channelDim, depth}});
    w = wholeMultiples(w, {{channelDim - 1, depth}});
  }
  SmallVector<int64_t> strides(op.getStrides()), dilations(op.getDilations());
  if (strides.size() == 1) { // a single row
    x = builder.unsqueeze(x, {1});
    w = builder.unsqueeze(w, {0});
    strides.insert(strides.begin(), 1);
    dilations.insert(dilations.begin(), 1);
  }
  if (byRows)
    joinRows(x, w, strides[1], choice);
  Shape image = shapeOf(x), window = shapeOf(w), resultShape{result[0]};
  if (result.size() == 3)
    resultShape.emplace_back(1);
  resultShape.append(result.begin() + 1, result.end());
  if (image[2] == SymbolicInt(1) && window[1] == SymbolicInt(1)) { // one column: make it one row
    x = builder.reshape(x, {image[0], image[2], image[1], image[3]});
    w = builder.reshape(w, {window[1], window[0], window[2], window[3]});
    std::swap(strides[0], strides[1]);
    std::swap(dilations[0], dilations[1]);
    std::swap(resultShape[1], resultShape[2]);
    window = shapeOf(w);
  }
  // Reshapes [kh, kw, c, groups, o] to [groups, kh, kw, c, o], then packs panels.
  SymbolicInt perGroup = floorDiv(window[3], groups);
  Value grouped = builder.reshape(w, {window[0], window[1], window[2], groups, perGroup});
  grouped = builder.transpose(grouped, {3, 0, 1, 2, 4});
  Value packed = pack(grouped, 1, choice, depth);
  if (op.getGroups() > 1) {
    resultShape.back() = groups;
    resultShape.push_back(perGroup);
  }
  Value y = operations.create<ConvOp>(op.getLoc(), graph::tensorType(resultShape, sum), x, packed, strides, dilations);
  y = builder.reshape(y, result);
  return subtractInputZero(builder, y, operands.lhs.zero, operands.rhs.numbers);
}
