//===- PackContractions.cpp - contractions for micro-kernels -----------------===//
//
// Rewrites contractions and channels-last convolutions as tile.matmul and
// tile.conv: the left operand as rows, the right one packed into panels of cols
// columns. Packing is pads, reshapes and transposes of the graph, so constant
// weights are packed by folding and others by a kernel at run time. Depthwise
// convolutions, products with one column and other types stay as they are.
//
//   contract(x : [m, k], w : [k, n])  =>  tile.matmul(x, transpose(reshape(pad(w))) : [n/cols, k, cols])
//
// Types: f32, and 8- and 16-bit integers that are summed as i32. Those become
// pairs of i16 or, where the target multiplies them, quadruples of bytes; the
// depth is padded to whole pairs or quadruples (docs/decisions/0010).
//
//===----------------------------------------------------------------------===//

#include "graph/builder/Builder.h"
#include "tile/Tile.h"
#include "tile/passes/IntegerOperands.h"
#include "tile/passes/Passes.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEPACKCONTRACTIONS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

/// Columns of a panel: one to four vectors, the least padding first, then two (enough accumulators for any number of
/// rows); a single one is a panel of its own.
static int64_t chooseCols(const SymbolicInt &columns, int64_t lanes) {
  std::optional<int64_t> count = columns.constant();
  if (!count)
    return 2 * lanes;
  if (*count == 1)
    return 1;
  for (int64_t narrow = 4; narrow < lanes; narrow *= 2)
    if (*count <= narrow)
      return narrow;
  int64_t best = 2 * lanes;
  for (int64_t vectors : {3, 4, 1})
    if (llvm::alignTo(*count, vectors * lanes) < llvm::alignTo(*count, best))
      best = vectors * lanes;
  return best;
}

static Type elementTypeOf(Value tensor) { return graph::tensorTypeOf(tensor).getElementType(); }

/// f32, or integers whose products are summed as i32.
static bool isMultipliedByWords(Operation *op, int64_t integersPerWord) {
  Type sum = elementTypeOf(op->getResult(0));
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Type type = elementTypeOf(operand);
    bool isInteger = integersPerWord > 1 && (type.isInteger(8) || type.isSignlessInteger(16));
    return sum.isF32() ? type.isF32() : sum.isSignlessInteger(32) && isInteger;
  });
}

namespace {
/// Operands whose elements can be multiplied word by word; those of bytes may have zero points.
struct WordOperands {
  CentredBytes lhs, rhs;
};

class Packer {
public:
  Packer(OpBuilder &operations, Location loc, const target::TargetInfo &target)
      : operations(operations), builder(operations, loc), target(target), lanes(target.vectorLanes(4)) {}

  Value contract(graph::ContractOp op);
  Value conv(graph::ConvOp op);

private:
  WordOperands words(Value lhs, Value rhs, bool mayHaveRightZero);
  Value wholeMultiples(Value tensor, ArrayRef<std::pair<int64_t, int64_t>> multiples);
  Value pack(Value matrix, size_t outerRank, int64_t cols);
  Value matmul(const WordOperands &operands);
  Value pointwiseConv(graph::ConvOp op, const WordOperands &operands);
  Value windowConv(graph::ConvOp op, const WordOperands &operands);
  Type sumType(Value rhs) { return elementTypeOf(rhs).isF32() ? builder.f32() : operations.getI32Type(); }

  OpBuilder &operations;
  graph::Builder builder;
  const target::TargetInfo &target;
  int64_t lanes; // f32 of a vector register
};
} // namespace

/// Bytes if they can be had, and else pairs, which hold any operand.
WordOperands Packer::words(Value lhs, Value rhs, bool mayHaveRightZero) {
  if (elementTypeOf(lhs).isF32())
    return {{lhs, {}}, {rhs, {}}};
  std::optional<CentredBytes> left, right;
  if (target.integersPerWord == 4 && (right = asSignedBytes(builder, rhs)) && (mayHaveRightZero || !right->zero))
    left = asUnsignedBytes(builder, lhs);
  if (left)
    return {*left, *right};
  Type half = operations.getI16Type();
  return {{builder.cast(lhs, half), {}}, {builder.cast(rhs, half), {}}};
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

/// [outer..., inner..., columns] to [outer..., ceil(columns / cols), inner..., cols], and where g elements of the last
/// inner dimension k make a word to [outer..., ceil(columns / cols), inner..., ceil(k / g), cols * g].
Value Packer::pack(Value matrix, size_t outerRank, int64_t cols) {
  int64_t group = elementsPerWord(elementTypeOf(matrix)), rank = graph::tensorTypeOf(matrix).getRank();
  Shape shape = shapeOf(matrix);
  matrix = wholeMultiples(matrix, {{rank - 1, cols}, {rank - 2, group}});
  shape.back() = ceilDiv(shape.back(), SymbolicInt(cols));
  shape.emplace_back(cols);
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
  Value packed = builder.transpose(builder.reshape(matrix, shape), permutation);
  if (group == 1)
    return packed;
  Shape merged = shapeOf(packed);
  merged.pop_back();
  merged.back() = SymbolicInt(cols * group);
  return builder.reshape(packed, merged);
}

/// [..., m, k] times [..., k, n].
Value Packer::matmul(const WordOperands &operands) {
  Value lhs = operands.lhs.numbers, rhs = operands.rhs.numbers;
  Shape shape = shapeOf(lhs);
  int64_t depth = shape.size() - 1;
  shape.back() = shapeOf(rhs).back();
  Value rows = wholeMultiples(lhs, {{depth, elementsPerWord(elementTypeOf(rhs))}});
  Value packed = pack(rhs, shape.size() - 2, chooseCols(shape.back(), lanes));
  Value product = operations.create<MatmulOp>(builder.location, graph::tensorType(shape, sumType(rhs)), rows, packed);
  return subtractZeros(builder, product, operands.lhs, operands.rhs);
}

static SymbolicInt product(const Shape &shape, ArrayRef<int64_t> dims) {
  SymbolicInt count(1);
  for (int64_t dim : dims)
    count = count * shape[dim];
  return count;
}

static SmallVector<int64_t> freeDims(size_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracted) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(rank); ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contracted, dim))
      dims.push_back(dim);
  return dims;
}

Value Packer::contract(graph::ContractOp op) {
  Shape left = shapeOf(op.getLhs()), right = shapeOf(op.getRhs()), result = shapeOf(op.getResult());
  SmallVector<int64_t> leftFree = freeDims(left.size(), op.getLhsBatch(), op.getLhsContracted());
  SmallVector<int64_t> rightFree = freeDims(right.size(), op.getRhsBatch(), op.getRhsContracted());
  SymbolicInt columns = product(right, rightFree);
  if (columns == SymbolicInt(1) || op.getLhsContracted().empty())
    return {};
  // To [batch..., rows, depth] and [batch..., depth, columns].
  auto ordered = [&](Value value, std::initializer_list<ArrayRef<int64_t>> parts) {
    SmallVector<int64_t> permutation;
    for (ArrayRef<int64_t> part : parts)
      llvm::append_range(permutation, part);
    return builder.transpose(value, permutation);
  };
  Shape lhsShape, rhsShape;
  for (auto [leftDim, rightDim] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch())) {
    lhsShape.push_back(left[leftDim]);
    rhsShape.push_back(right[rightDim]);
  }
  lhsShape.append({product(left, leftFree), product(left, op.getLhsContracted())});
  rhsShape.append({lhsShape.back(), columns});
  WordOperands operands = words(op.getLhs(), op.getRhs(), /*mayHaveRightZero=*/true);
  Value &lhs = operands.lhs.numbers, &rhs = operands.rhs.numbers;
  lhs = builder.reshape(ordered(lhs, {op.getLhsBatch(), leftFree, op.getLhsContracted()}), lhsShape);
  rhs = builder.reshape(ordered(rhs, {op.getRhsBatch(), op.getRhsContracted(), rightFree}), rhsShape);
  return builder.reshape(matmul(operands), result);
}

Value Packer::pointwiseConv(graph::ConvOp op, const WordOperands &operands) {
  Shape input = shapeOf(op.getInput()), filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
  ArrayRef<SymbolicInt> inputWindow = ArrayRef<SymbolicInt>(input).slice(1, input.size() - 2);
  ArrayRef<SymbolicInt> resultWindow = ArrayRef<SymbolicInt>(result).slice(1, input.size() - 2);
  ArrayRef<SymbolicInt> filterWindow = ArrayRef<SymbolicInt>(filter).drop_back(2);
  SymbolicInt depth = graph::elementCount(filterWindow) * input.back();
  auto isOne = [](const SymbolicInt &extent) { return extent == SymbolicInt(1); };
  bool isPointwise = llvm::all_of(filterWindow, isOne) && inputWindow == resultWindow;
  bool coversInput = llvm::all_of(resultWindow, isOne) && inputWindow == filterWindow;
  if (!isPointwise && !coversInput)
    return {};
  SymbolicInt rows = isPointwise ? graph::elementCount(ArrayRef<SymbolicInt>(input).drop_back()) : input[0];
  Value lhs = builder.reshape(operands.lhs.numbers, {rows, depth});
  Value rhs = builder.reshape(operands.rhs.numbers, {depth, result.back()});
  return builder.reshape(matmul({{lhs, operands.lhs.zero}, {rhs, operands.rhs.zero}}), result);
}

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

Value Packer::conv(graph::ConvOp op) {
  Shape filter = shapeOf(op.getFilter());
  bool isDepthwise = op.getGroups() > 1 && filter[filter.size() - 2] == SymbolicInt(1);
  bool isValid = llvm::all_of(op.getPadLow(), [](int64_t low) { return low == 0; }) &&
                 llvm::all_of(op.getInputDilation(), [](int64_t dilation) { return dilation == 1; }) &&
                 windowsEndInside(op);
  if (!op.getChannelsLast() || isDepthwise || !isValid || op.getStrides().size() > 2 || op.getStrides().empty())
    return {};
  WordOperands operands = words(op.getInput(), op.getFilter(), /*mayHaveRightZero=*/false);
  if (op.getGroups() == 1)
    if (Value pointwise = pointwiseConv(op, operands))
      return pointwise;
  return windowConv(op, operands);
}

Value Packer::windowConv(graph::ConvOp op, const WordOperands &operands) {
  Value x = operands.lhs.numbers, w = operands.rhs.numbers;
  Shape input = shapeOf(x), filter = shapeOf(w), result = shapeOf(op.getResult());
  int64_t group = elementsPerWord(elementTypeOf(w)), channelDim = input.size() - 1;
  SymbolicInt groups(op.getGroups());
  if (op.getGroups() > 1 && mod(filter[filter.size() - 2], SymbolicInt(group)) != SymbolicInt(0))
    return {}; // channels of two groups in one word
  x = wholeMultiples(x, {{channelDim, group}});
  w = wholeMultiples(w, {{channelDim - 1, group}});
  SmallVector<int64_t> strides(op.getStrides()), dilations(op.getDilations());
  if (strides.size() == 1) { // one row
    x = builder.unsqueeze(x, {1});
    w = builder.unsqueeze(w, {0});
    strides.insert(strides.begin(), 1);
    dilations.insert(dilations.begin(), 1);
  }
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
  std::optional<SymbolicInt> perGroup = exactDiv(window[3], groups);
  if (!perGroup)
    return {};
  // [kh, kw, c, groups, o] to [groups, kh, kw, c, o], then panels.
  Value grouped = builder.reshape(w, {window[0], window[1], window[2], groups, *perGroup});
  grouped = builder.transpose(grouped, {3, 0, 1, 2, 4});
  Value packed = pack(grouped, 1, chooseCols(*perGroup, lanes));
  if (op.getGroups() > 1) {
    resultShape.back() = groups;
    resultShape.push_back(*perGroup);
  }
  Value y =
      operations.create<ConvOp>(op.getLoc(), graph::tensorType(resultShape, sumType(w)), x, packed, strides, dilations);
  y = builder.reshape(y, result);
  return subtractInputZero(builder, y, operands.lhs.zero, operands.rhs.numbers);
}

namespace {
struct PackContractions : perpend::tile::impl::TilePackContractionsBase<PackContractions> {
  using TilePackContractionsBase::TilePackContractionsBase;

  void runOnOperation() override {
    SmallVector<Operation *> operators;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::ContractOp, graph::ConvOp>(op) && isMultipliedByWords(op, target.integersPerWord))
        operators.push_back(op);
    });
    for (Operation *op : operators) {
      OpBuilder operations(op);
      Packer packer(operations, op->getLoc(), target);
      auto contract = dyn_cast<graph::ContractOp>(op);
      Value packed = contract ? packer.contract(contract) : packer.conv(cast<graph::ConvOp>(op));
      if (!packed)
        continue;
      op->replaceAllUsesWith(ValueRange(packed));
      op->erase();
    }
  }
};
} // namespace
