//===- PackOperands.cpp - operands as intrinsics want them ------------------===//
//
// Rewrites contractions and channels-last convolutions as tile.matmul and
// tile.conv on operands that lie as an intrinsic of the machine wants them
// (intrinsics/PanelLayout.h): the left one in rows, the right one in panels of
// columns. Of the intrinsics whose elements the operands can be had in
// (ExactOperands.h), the one with the least cycles for each product, of computing
// or of reading the right operand, is taken, those with a right operand of the
// asked precision first;
// where there is none, the operator stays. Packing is pads, reshapes and
// transposes of the graph, so constant weights are packed by folding and others
// by a kernel at run time. Depthwise convolutions and contractions with one column
// stay as they are.
//
// (FewRows.h says when a right operand that only a run knows is not packed.)
//
//   contract(x : [m, k], w : [k, n])  =>  tile.matmul(x, transpose(reshape(pad(w))) : [n/cols, k/g, cols, g])
//
//===----------------------------------------------------------------------===//

#include "tile/passes/PackOperands.h"
#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/builder/Builder.h"
#include "graph/composites/Formulas.h"
#include "tile/Tile.h"
#include "tile/intrinsics/Emitters.h"
#include "tile/intrinsics/WordProducts.h"
#include "tile/passes/ExactOperands.h"
#include "tile/passes/FewRows.h"
#include "tile/passes/GroupedWeights.h"
#include "tile/passes/Matrices.h"
#include "tile/passes/Passes.h"
#include "tile/rules/Rules.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEPACKOPERANDS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

#include <numeric>

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

//===----------------------------------------------------------------------===//
// Which intrinsic
//===----------------------------------------------------------------------===//

namespace {
/// An intrinsic, and the columns of a panel for it.
struct Choice {
  const Intrinsic *intrinsic;
  int64_t columns;
  /// Of computing, and of that or of reading the right operand, what takes longer.
  double cyclesOfProducts, cyclesPerPoint;
  const PanelLayout &panels() const { return *intrinsic->panels; }
};
} // namespace

/// Columns of a panel: one to four vectors, the least padding first, then two (enough accumulators for any number of
/// rows). Of a panel of one vector, each product reads an element of a row from the cache: it takes a sixteenth longer.
/// Few columns, from so many as `least`, and a single one, are a panel of their own.
static SmallVector<int64_t> panelSizes(const SymbolicInt &columns, int64_t lanes, int64_t least = 4) {
  std::optional<int64_t> count = columns.constant();
  SmallVector<int64_t> sizes;
  if (count == 1)
    sizes.push_back(1);
  for (int64_t narrow = least; count && narrow < lanes; narrow *= 2)
    if (*count <= narrow)
      sizes.push_back(narrow);
  auto padded = [&](int64_t size) { return count ? llvm::alignTo(*count, size) * (size == lanes ? 17 : 16) : 0; };
  size_t first = sizes.size();
  for (int64_t size : {2 * lanes, 3 * lanes, 4 * lanes, lanes}) {
    auto isWorse = [&](int64_t other) { return padded(size) < padded(other); };
    sizes.insert(std::find_if(sizes.begin() + first, sizes.end(), isWorse), size);
  }
  return sizes;
}

/// Reading the packed operand, which takes long where few rows use it; for each product of two elements.
static double cyclesOfReading(Type element, const ProductExtents &extents, const target::TargetInfo &target) {
  std::optional<int64_t> rows = extents.rows.constant();
  if (!rows || *rows < 1 || target.cyclesPerSecond == 0)
    return 0;
  double bytes = double(graph::bitWidth(element)) / 8, elements = 1;
  for (const SymbolicInt &extent : {extents.depth, extents.columns})
    elements *= double(extent.constant().value_or(1));
  return bytes / double(*rows) * target.cyclesPerSecond / target.bytesPerSecondOf(bytes * elements);
}

static std::optional<Choice> choiceOf(const Intrinsic &intrinsic, const ProductExtents &extents,
                                      const target::TargetInfo &target) {
  const PanelLayout &panels = *intrinsic.panels;
  SmallVector<int64_t> sizes{panels.columns.constant().value_or(0)};
  if (!panels.columns.isConstant())
    sizes = panelSizes(extents.columns, target.vectorLanes(panels.sum.getIntOrFloatBitWidth() / 8),
                       intrinsic.sumsOfColumn() > 4 ? 2 : 4);
  for (int64_t size : sizes) {
    int64_t rows = rowsAtOnce(intrinsic, size, extents.rows.constant(), target);
    if (std::optional<PanelLayout::Fit> fit = panels.fit(intrinsic, extents, size, rows, target))
      return Choice{&intrinsic, size, fit->cyclesPerPoint,
                    std::max(fit->cyclesPerPoint, cyclesOfReading(panels.right, extents, target))};
  }
  return std::nullopt;
}

/// Those of the precision first, then the cheapest; of equal ones, that which reads fewer bytes, then that which
/// computes less.
static SmallVector<Choice> choicesFor(Type sum, const ProductExtents &extents, const target::TargetInfo &target,
                                      Type precision) {
  SmallVector<Choice> choices;
  auto isBetter = [&](const Choice &a, const Choice &b) {
    auto key = [&](const Choice &choice) {
      Type right = choice.panels().right;
      return std::tuple(right != precision, choice.cyclesPerPoint, right.getIntOrFloatBitWidth(),
                        choice.cyclesOfProducts);
    };
    return key(a) < key(b);
  };
  for (const auto &intrinsic : IntrinsicLibrary::of(sum.getContext()).list())
    if (intrinsic->panels && intrinsic->panels->sum == sum && intrinsic->missingOn(target).empty())
      if (std::optional<Choice> choice = choiceOf(*intrinsic, extents, target))
        choices.insert(llvm::upper_bound(choices, *choice, isBetter), *choice);
  return choices;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

namespace {
/// In the elements of an intrinsic.
struct Operands {
  CentredNumbers lhs, rhs;
};

class Packer {
public:
  Packer(OpBuilder &operations, Operation *op, const target::TargetInfo &target, Type precision)
      : operations(operations), builder(operations, op->getLoc()), target(target), precision(precision),
        sum(graph::tensorTypeOf(op->getResult(0)).getElementType()) {}

  Value packed(graph::ProductInterface op);

private:
  std::optional<Operands> operandsFor(const Choice &choice, Value lhs, Value rhs, bool mayHaveRightZero);
  Value wholeMultiples(Value tensor, ArrayRef<std::pair<int64_t, int64_t>> multiples);
  Value pack(Value matrix, size_t outerRank, const Choice &choice, int64_t depth);
  Value matmul(const Operands &operands, const Choice &choice);
  Value groupedProduct(Value rows, Value matrix);
  Value product(graph::ProductInterface op, const Matrices &matrices);
  Value transposedProduct(Operation *op, const Matrices &matrices);
  Value depthwiseConv(graph::ConvOp op);
  Value windowConv(graph::ConvOp op);
  Value windowConv(graph::ConvOp op, const Operands &operands, const Choice &choice, bool byRows);
  std::optional<Choice> choiceByRows(graph::ConvOp op, ProductExtents extents, const Choice &other);
  void joinRows(Value &x, Value &w, int64_t &stride, const Choice &choice);

  OpBuilder &operations;
  graph::Builder builder;
  const target::TargetInfo &target;
  Type precision, sum;
};
} // namespace

std::optional<Operands> Packer::operandsFor(const Choice &choice, Value lhs, Value rhs, bool mayHaveRightZero) {
  std::optional<CentredNumbers> right = asNumbersOf(builder, rhs, choice.panels().right);
  if (!right || (right->zero && !mayHaveRightZero))
    return std::nullopt;
  std::optional<CentredNumbers> left = asNumbersOf(builder, lhs, choice.panels().left);
  return left ? std::optional(Operands{*left, *right}) : std::nullopt;
}

/// A tensor with zeros behind some dimensions, so that their extents are multiples.
Value Packer::wholeMultiples(Value tensor, ArrayRef<std::pair<int64_t, int64_t>> multiples) {
  Shape shape = shapeOf(tensor), low(shape.size(), SymbolicInt(0)), high(low);
  for (auto [dim, multiple] : multiples)
    high[dim] = ceilDiv(shape[dim], SymbolicInt(multiple)) * SymbolicInt(multiple) - shape[dim];
  if (high == low)
    return tensor;
  return builder.pad(tensor, low, high, operations.getZeroAttr(graph::scalarTypeOf(tensor)));
}

/// [outer..., inner..., k, n] to [outer..., n / cols, inner..., k / g, n mod cols, k mod g], the last dimension only
/// where words have several elements; k becomes a multiple of `depth`.
Value Packer::pack(Value matrix, size_t outerRank, const Choice &choice, int64_t depth) {
  int64_t group = choice.panels().group, rank = graph::tensorTypeOf(matrix).getRank();
  matrix = wholeMultiples(matrix, {{rank - 1, choice.columns}, {rank - 2, depth}});
  Shape shape = shapeOf(matrix);
  shape.back() = ceilDiv(shape.back(), SymbolicInt(choice.columns));
  shape.emplace_back(choice.columns);
  if (group > 1) {
    shape[rank - 2] = ceilDiv(shape[rank - 2], SymbolicInt(group));
    shape.insert(shape.begin() + rank - 1, SymbolicInt(group));
  }
  // The panels behind the outer dimensions, the elements of a word to the end.
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  int64_t panels = shape.size() - 2;
  permutation.erase(permutation.begin() + panels);
  if (group > 1)
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  permutation.insert(permutation.begin() + outerRank, panels);
  return builder.transpose(builder.reshape(matrix, shape), permutation);
}

/// [..., m, k] times [..., k, n].
Value Packer::matmul(const Operands &operands, const Choice &choice) {
  Value lhs = operands.lhs.numbers, rhs = operands.rhs.numbers;
  Shape shape = shapeOf(lhs);
  int64_t depth = shape.size() - 1;
  shape.back() = shapeOf(rhs).back();
  Value rows = wholeMultiples(lhs, {{depth, choice.panels().depth}});
  Value packed = pack(rhs, shape.size() - 2, choice, choice.panels().depth);
  Value product = operations.create<MatmulOp>(builder.location, graph::tensorType(shape, sum), rows, packed);
  return subtractZeros(builder, product, operands.lhs, operands.rhs);
}

/// Of a product with numbers in groups: where a row or two share what a number costs, as many as there are registers
/// for the sums of the block, of two copies of a group, and for words and numbers.
static int64_t groupedPanel(int64_t columns, const SymbolicInt &rows, const target::TargetInfo &target) {
  int64_t lanes = target.vectorLanes(4), count = rows.constant().value_or(target.gemmRows);
  SmallVector<int64_t> sizes = panelSizes(SymbolicInt(columns), lanes);
  int64_t best = sizes.front();
  for (int64_t size : sizes) {
    int64_t vectors = size / lanes;
    bool isWider = size > best && llvm::alignTo(columns, size) == llvm::alignTo(columns, best);
    if (isWider && vectors * (3 * count + 2) + 2 <= int64_t(target.vectorRegisters))
      best = size;
  }
  return best;
}

/// Of rows with a constant matrix of numbers in groups, where an intrinsic reads these; or null.
Value Packer::groupedProduct(Value rows, Value matrix) {
  std::optional<GroupedWeights> weights =
      sum.isF32() && graph::tensorTypeOf(rows).getElementType() == sum ? GroupedWeights::of(matrix) : std::nullopt;
  if (!weights)
    return {};
  for (const auto &intrinsic : IntrinsicLibrary::of(sum.getContext()).list())
    if (intrinsic->groups && intrinsic->missingOn(target).empty() && weights->fits(*intrinsic->groups))
      return weights->multiply(builder, rows, *intrinsic,
                               groupedPanel(weights->columns, shapeOf(rows).front(), target));
  return {};
}

//===----------------------------------------------------------------------===//
// Products of matrices
//===----------------------------------------------------------------------===//

/// With the right operand as the left one, in words that need no padding of the depth.
Value Packer::transposedProduct(Operation *op, const Matrices &matrices) {
  ProductExtents extents{matrices.extents.columns, matrices.extents.rows, matrices.extents.depth};
  for (const Choice &choice : choicesFor(sum, extents, target, precision)) {
    if (mod(extents.depth, SymbolicInt(choice.panels().depth)) != SymbolicInt(0))
      continue;
    auto operands = operandsFor(choice, op->getOperand(1), op->getOperand(0), /*mayHaveRightZero=*/false);
    if (!operands)
      continue;
    operands->lhs.numbers = matrices.transposedRight(builder, operands->lhs.numbers);
    operands->rhs.numbers = matrices.transposedLeft(builder, operands->rhs.numbers);
    Value transposed = matmul(*operands, choice);
    SmallVector<int64_t> permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, graph::tensorTypeOf(transposed).getRank()));
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
    return matrices.result(builder, builder.transpose(transposed, permutation));
  }
  return {};
}

Value Packer::product(graph::ProductInterface op, const Matrices &matrices) {
  RightOperand reading = cheapestReading(op, matrices, target);
  if (reading == RightOperand::AsItIs)
    return {};
  if (Value product = reading == RightOperand::Transposed ? transposedProduct(op, matrices) : Value())
    return product;
  if (!matrices.hasBatch())
    if (Value product =
            groupedProduct(matrices.left(builder, op->getOperand(0)), matrices.right(builder, op->getOperand(1))))
      return matrices.result(builder, product);
  for (const Choice &choice : choicesFor(sum, matrices.extents, target, precision)) {
    auto operands = operandsFor(choice, op->getOperand(0), op->getOperand(1), /*mayHaveRightZero=*/true);
    if (!operands)
      continue;
    operands->lhs.numbers = matrices.left(builder, operands->lhs.numbers);
    operands->rhs.numbers = matrices.right(builder, operands->rhs.numbers);
    return matrices.result(builder, matmul(*operands, choice));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Provably no window runs over the end of the input, where it would meet zeros.
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

static StringRef whyUnpacked(graph::ConvOp op) {
  bool isOfWindow = op.getStrides().size() == 1 || op.getStrides().size() == 2;
  if (!llvm::all_of(op.getInputDilation(), [](int64_t dilation) { return dilation == 1; }))
    return "transposed convolution";
  if (op.isDepthwise())
    return "depthwise convolution";
  return isOfWindow ? "" : "convolution over more than two dimensions";
}

/// One column is a sum along each row; but of a convolution, rows are many and short.
StringRef perpend::tile::whyUnpacked(graph::ProductInterface op) {
  std::optional<Matrices> matrices = Matrices::of(op);
  if (!matrices || !matrices->readsAll())
    return ::whyUnpacked(cast<graph::ConvOp>(op));
  if (!matrices->hasSum())
    return "product without a sum";
  bool isColumn = matrices->extents.columns == SymbolicInt(1) && !isa<graph::ConvOp>(op);
  return isColumn ? "product with one column" : "";
}

Value Packer::packed(graph::ProductInterface op) {
  if (std::optional<Matrices> matrices = Matrices::of(op); matrices && matrices->readsAll())
    return perpend::tile::whyUnpacked(op).empty() ? product(op, *matrices) : Value();
  auto conv = cast<graph::ConvOp>(op);
  bool isPadded = llvm::any_of(conv.getPadLow(), [](int64_t low) { return low != 0; }) || !windowsEndInside(conv);
  if (!conv.getChannelsLast() || isPadded)
    return {};
  if (conv.isDepthwise())
    return depthwiseConv(conv);
  return ::whyUnpacked(conv).empty() ? windowConv(conv) : Value();
}

/// In the elements of words of products (FuseProducts.cpp), which are of integers, without zero points, which the sum
/// gets behind it.
Value Packer::depthwiseConv(graph::ConvOp op) {
  if (!isa<IntegerType>(sum))
    return {};
  int64_t lanes = target.vectorLanes(sum.getIntOrFloatBitWidth() / 8);
  Type own = graph::elementTypeOf(op.getInput()), ownFilter = graph::elementTypeOf(op.getFilter());
  for (auto [left, right] : WordProducts::betterFactors(own, ownFilter, sum, lanes, target)) {
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
  // Channels of neighbours follow one another.
  auto last = static_cast<unsigned>(op.getStrides().size() - 1);
  bool isOneRow = op.getGroups() == 1 && op.getDilations()[last] == 1;
  for (unsigned i = 0; i <= last; ++i)
    extents.windows += filter[op.filterWindowDim(i)] != SymbolicInt(1) && !(i == last && isOneRow);
  for (const Choice &choice : choicesFor(sum, extents, target, precision)) {
    if (op.getGroups() > 1 && mod(extents.depth, SymbolicInt(choice.panels().depth)) != SymbolicInt(0))
      continue; // channels of two groups in one word
    auto operands = operandsFor(choice, op.getInput(), op.getFilter(), /*mayHaveRightZero=*/false);
    if (!operands)
      continue;
    std::optional<Choice> byRows = isOneRow ? choiceByRows(op, extents, choice) : std::nullopt;
    return windowConv(op, *operands, byRows.value_or(choice), byRows.has_value());
  }
  return {};
}

/// So many channels that each window of a row begins with a word; and ends with one where sums are of the operands' own
/// type, which are exact: behind it, neighbours are multiplied by zero, which is NaN for an infinite one.
static int64_t channelsOfRow(int64_t channels, int64_t stride, int64_t width, const Intrinsic &intrinsic) {
  int64_t group = intrinsic.panels->group;
  bool isWhole = stride * channels % group == 0 && (intrinsic.sumsOfColumn() == 1 || width * channels % group == 0);
  return isWhole ? channels : llvm::alignTo(channels, group);
}

/// Of intrinsics with the elements of `other`, one that is cheaper where the sum runs along a row of the window.
std::optional<Choice> Packer::choiceByRows(graph::ConvOp op, ProductExtents extents, const Choice &other) {
  auto last = static_cast<unsigned>(op.getStrides().size() - 1);
  SymbolicInt width = shapeOf(op.getFilter())[op.filterWindowDim(last)];
  std::optional<int64_t> channels = extents.depth.constant();
  if (!channels || !width.isConstant() || width == SymbolicInt(1))
    return std::nullopt;
  SymbolicInt columns = shapeOf(op.getInput())[last + 1];
  if (other.panels().group > 1 && !columns.isConstant()) // whole words of a row, of a width that is not known
    return std::nullopt;
  int64_t group = other.panels().group,
          together = channelsOfRow(*channels, op.getStrides()[last], *width.constant(), *other.intrinsic);
  double padded = double(together) / double(*channels);
  extents.depth = width * together;
  for (const Choice &choice : choicesFor(sum, extents, target, precision)) {
    const PanelLayout &panels = choice.panels();
    if (group > 1 && panels.group == group && panels.left == other.panels().left &&
        panels.right == other.panels().right)
      return choice.cyclesPerPoint * padded < other.cyclesPerPoint ? std::optional(choice) : std::nullopt;
  }
  return std::nullopt;
}

/// Of few channels, words and registers would be mostly zeros. So the channels of a window's row become one sum, in
/// words: x [n, h, w, c] is [n, h, w c / g, g], and the filter [kh, kw, c, o] is [kh, kw c / g, g, o]. What the zeros
/// behind it are multiplied by, if any, are neighbours of the window.
void Packer::joinRows(Value &x, Value &w, int64_t &stride, const Choice &choice) {
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

Value Packer::windowConv(graph::ConvOp op, const Operands &operands, const Choice &choice, bool byRows) {
  Value x = operands.lhs.numbers, w = operands.rhs.numbers;
  Shape result = shapeOf(op.getResult());
  int64_t depth = byRows ? choice.panels().group : choice.panels().depth, channelDim = result.size() - 1;
  SymbolicInt groups(op.getGroups());
  if (!byRows) {
    x = wholeMultiples(x, {{channelDim, depth}});
    w = wholeMultiples(w, {{channelDim - 1, depth}});
  }
  SmallVector<int64_t> strides(op.getStrides()), dilations(op.getDilations());
  if (strides.size() == 1) { // one row
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
  if (image[2] == SymbolicInt(1) && window[1] == SymbolicInt(1)) { // one column: rows of a block run along the width
    x = builder.reshape(x, {image[0], image[2], image[1], image[3]});
    w = builder.reshape(w, {window[1], window[0], window[2], window[3]});
    std::swap(strides[0], strides[1]);
    std::swap(dilations[0], dilations[1]);
    std::swap(resultShape[1], resultShape[2]);
    window = shapeOf(w);
  }
  // [kh, kw, c, groups, o] to [groups, kh, kw, c, o], then panels.
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

namespace {
struct PackOperands : perpend::tile::impl::TilePackOperandsBase<PackOperands> {
  using TilePackOperandsBase::TilePackOperandsBase;

  void runOnOperation() override {
    SmallVector<graph::ProductInterface> operators;
    auto isPacked = [](Value operand) {
      return operand.getDefiningOp() && operand.getDefiningOp()->hasAttr(graph::computedByUsersAttribute);
    };
    getOperation().walk([&](graph::ProductInterface op) {
      if (llvm::none_of(op->getOperands(), isPacked))
        operators.push_back(op);
    });
    Type preferred = precision == "f32" ? Type() : graph::elementTypeNamed(&getContext(), precision);
    for (graph::ProductInterface op : operators) {
      OpBuilder operations(op);
      Value packed = Packer(operations, op, target, preferred).packed(op);
      if (!packed)
        continue;
      op->replaceAllUsesWith(ValueRange(packed));
      op->erase();
    }
  }
};
} // namespace
