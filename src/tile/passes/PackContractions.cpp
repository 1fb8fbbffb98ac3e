//===- PackContractions.cpp - contractions for micro-kernels -----------------===//
//
// Rewrites contractions and channels-last convolutions of f32 as tile.matmul and
// tile.conv: the left operand as rows, the right one packed into panels of cols
// columns. Packing is pads, reshapes and transposes of the graph, so constant
// weights are packed by folding and others by a kernel at run time. Depthwise
// convolutions, products with one column and other types stay as they are.
//
//   contract(x : [m, k], w : [k, n])  =>  tile.matmul(x, transpose(reshape(pad(w))) : [n/cols, k, cols])
//
//===----------------------------------------------------------------------===//

#include "graph/Builder.h"
#include "tile/Tile.h"
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
/// rows).
static int64_t chooseCols(const SymbolicInt &columns, int64_t lanes) {
  std::optional<int64_t> count = columns.constant();
  if (!count)
    return 2 * lanes;
  for (int64_t narrow = 4; narrow < lanes; narrow *= 2)
    if (*count <= narrow)
      return narrow;
  int64_t best = 2 * lanes;
  for (int64_t vectors : {3, 4, 1})
    if (llvm::alignTo(*count, vectors * lanes) < llvm::alignTo(*count, best))
      best = vectors * lanes;
  return best;
}

namespace {
class Packer {
public:
  Packer(OpBuilder &operations, Location loc, int64_t lanes)
      : operations(operations), builder(operations, loc), lanes(lanes) {}

  Value contract(graph::ContractOp op);
  Value conv(graph::ConvOp op);

private:
  /// [outer..., inner..., columns] to [outer..., ceil(columns / cols), inner..., cols].
  Value pack(Value matrix, size_t outerRank, int64_t cols) {
    Shape shape = shapeOf(matrix), low(shape.size(), SymbolicInt(0)), high(low);
    SymbolicInt panels = ceilDiv(shape.back(), SymbolicInt(cols));
    high.back() = panels * SymbolicInt(cols) - shape.back();
    if (high.back() != SymbolicInt(0))
      matrix = builder.pad(matrix, low, high, operations.getF32FloatAttr(0));
    shape.back() = panels;
    shape.emplace_back(cols);
    SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    int64_t panelDim = shape.size() - 2;
    permutation.erase(permutation.begin() + panelDim);
    permutation.insert(permutation.begin() + outerRank, panelDim);
    return builder.transpose(builder.reshape(matrix, shape), permutation);
  }

  Value matmul(Value lhs, Value rhs) {
    Shape shape = shapeOf(lhs);
    shape.back() = shapeOf(rhs).back();
    Value packed = pack(rhs, shape.size() - 2, chooseCols(shape.back(), lanes));
    return operations.create<MatmulOp>(builder.location, graph::tensorType(shape, builder.f32()), lhs, packed);
  }

  Value pointwiseConv(graph::ConvOp op);

  OpBuilder &operations;
  graph::Builder builder;
  int64_t lanes;
};
} // namespace

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
  // To [batch, rows, depth] and [batch, depth, columns]; no batch dimension when there is none.
  auto ordered = [&](Value value, std::initializer_list<ArrayRef<int64_t>> parts) {
    SmallVector<int64_t> permutation;
    for (ArrayRef<int64_t> part : parts)
      llvm::append_range(permutation, part);
    return builder.transpose(value, permutation);
  };
  Shape lhsShape, rhsShape;
  if (!op.getLhsBatch().empty()) {
    lhsShape.push_back(product(left, op.getLhsBatch()));
    rhsShape.push_back(lhsShape[0]);
  }
  lhsShape.append({product(left, leftFree), product(left, op.getLhsContracted())});
  rhsShape.append({lhsShape.back(), columns});
  Value lhs = builder.reshape(ordered(op.getLhs(), {op.getLhsBatch(), leftFree, op.getLhsContracted()}), lhsShape);
  Value rhs = builder.reshape(ordered(op.getRhs(), {op.getRhsBatch(), op.getRhsContracted(), rightFree}), rhsShape);
  return builder.reshape(matmul(lhs, rhs), result);
}

Value Packer::pointwiseConv(graph::ConvOp op) {
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
  Value lhs = builder.reshape(op.getInput(), {rows, depth});
  Value rhs = builder.reshape(op.getFilter(), {depth, result.back()});
  return builder.reshape(matmul(lhs, rhs), result);
}

Value Packer::conv(graph::ConvOp op) {
  Shape input = shapeOf(op.getInput()), filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
  SymbolicInt groups(op.getGroups());
  bool isDepthwise = op.getGroups() > 1 && filter[filter.size() - 2] == SymbolicInt(1);
  bool isValid = llvm::all_of(op.getPadLow(), [](int64_t low) { return low == 0; }) &&
                 llvm::all_of(op.getInputDilation(), [](int64_t dilation) { return dilation == 1; });
  if (!op.getChannelsLast() || isDepthwise || !isValid || op.getStrides().size() > 2 || op.getStrides().empty())
    return {};
  if (op.getGroups() == 1)
    if (Value pointwise = pointwiseConv(op))
      return pointwise;
  Value x = op.getInput(), w = op.getFilter();
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
  Value y = operations.create<ConvOp>(op.getLoc(), graph::tensorType(resultShape, builder.f32()), x, packed, strides,
                                      dilations);
  return builder.reshape(y, result);
}

namespace {
struct PackContractions : perpend::tile::impl::TilePackContractionsBase<PackContractions> {
  using TilePackContractionsBase::TilePackContractionsBase;

  void runOnOperation() override {
    SmallVector<Operation *> operators;
    getOperation().walk([&](Operation *op) {
      bool isCandidate = isa<graph::ContractOp, graph::ConvOp>(op);
      auto isF32 = [](Type type) { return cast<RankedTensorType>(type).getElementType().isF32(); };
      if (isCandidate && llvm::all_of(op->getOperandTypes(), isF32) && llvm::all_of(op->getResultTypes(), isF32))
        operators.push_back(op);
    });
    for (Operation *op : operators) {
      OpBuilder operations(op);
      Packer packer(operations, op->getLoc(), lanes);
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
