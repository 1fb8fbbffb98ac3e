//===- PlaceTransposes.cpp - moves transposes towards the results ---------===//
//
// Moves a transpose from an operand of an operator to its result, if that adds no cost for the other operands.
// Adjacent transposes are then composed by their folder, and usually vanish. Runs after PlaceChannelsLast.
//
//   map(transpose(a), transpose(b), broadcast(c))  =>  transpose(map(a, b, broadcast'(c)))
//
//===----------------------------------------------------------------------===//

#include "graph/Orders.h"
#include "graph/builder/Builder.h"
#include "graph/passes/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACETRANSPOSES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

/// Reorders a list for the transposed tensor into the order of the original tensor.
template <typename T> static SmallVector<T> unpermuted(ArrayRef<T> values, ArrayRef<int64_t> permutation) {
  SmallVector<T> result(values);
  for (auto [position, dim] : llvm::enumerate(permutation))
    result[dim] = values[position];
  return result;
}

/// Whether transposing the value costs nothing at run time.
static bool isFreeToTranspose(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return llvm::count_if(shapeOf(broadcast.getInput()), [](const SymbolicInt &e) { return e != SymbolicInt(1); }) <=
               1 ||
           isFreeToTranspose(broadcast.getInput()) || broadcast.getInput().getDefiningOp<TransposeOp>() ||
           broadcast.getInput().getDefiningOp<ReshapeOp>();
  return op->hasTrait<OpTrait::ConstantLike>();
}

/// The transpose that computes an operand, if it is in the same block: one outside a loop must not move into the loop.
static TransposeOp transposeOf(Value operand, Operation *op) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  return transpose && transpose->getBlock() == op->getBlock() ? transpose : nullptr;
}

/// The permutation shared by all operands that are transposes, if the others are free to transpose. A transpose of a
/// value that is free to transpose does not count: moving it down would create another one in its place, for ever.
static std::optional<SmallVector<int64_t>> commonPermutation(Operation *op) {
  std::optional<SmallVector<int64_t>> common;
  for (Value operand : op->getOperands()) {
    TransposeOp transpose = transposeOf(operand, op);
    if (transpose && !isFreeToTranspose(transpose.getInput())) {
      SmallVector<int64_t> permutation(transpose.getPermutation());
      if (common && *common != permutation)
        return std::nullopt;
      common = permutation;
    } else if (!transpose && !isFreeToTranspose(operand)) {
      return std::nullopt;
    }
  }
  return common;
}

static Value withoutTranspose(GraphBuilder &builder, Value operand, ArrayRef<int64_t> permutation) {
  if (auto transpose = operand.getDefiningOp<TransposeOp>(); transpose && transpose.getPermutation() == permutation)
    return transpose.getInput();
  if (auto broadcast = operand.getDefiningOp<BroadcastOp>(); broadcast && broadcast.getDims().size() == 1)
    return builder.broadcast(broadcast.getInput(), permutation[broadcast.getDims().front()],
                             unpermuted<SymbolicInt>(shapeOf(operand), permutation));
  return builder.transpose(operand, inverse(permutation));
}

static SmallVector<Value> withoutTransposes(GraphBuilder &builder, ValueRange operands, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(operands, [&](Value operand) { return withoutTranspose(builder, operand, permutation); });
}

namespace {
/// An operator all of whose operands have the order of its result.
struct SinkThroughDimensions : RewritePattern {
  explicit SinkThroughDimensions(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto permutation = keepsOrder(op) ? commonPermutation(op) : std::nullopt;
    if (!permutation)
      return failure();
    GraphBuilder builder(rewriter, op->getLoc());
    SmallVector<Value> operands = withoutTransposes(builder, op->getOperands(), *permutation);
    Value result = transposed(builder, op, operands, inverse(*permutation));
    rewriter.replaceOp(op, builder.transpose(result, *permutation));
    return success();
  }
};

/// An operator with one transposed operand, whose result has other dimensions.
struct SinkThroughInput : RewritePattern {
  explicit SinkThroughInput(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto transpose = op->getNumOperands() ? transposeOf(op->getOperand(0), op) : nullptr;
    if (!transpose)
      return failure();
    GraphBuilder builder(rewriter, op->getLoc());
    Value result = transposedBehind(builder, op, transpose.getInput(), transpose.getPermutation());
    return result ? rewriter.replaceOp(op, result), success() : failure();
  }
};

/// reshape(transpose(x)), if the dimensions that the reshape merges or splits are adjacent in x, too: [n, h, w, c] to
/// [n, c, h, w] to [n, c, h * w] becomes [n, h, w, c] to [n, h * w, c] to [n, c, h * w].
struct SinkThroughReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = transposeOf(op.getInput(), op);
    if (!transpose)
      return failure();
    Shape result = shapeOf(op.getResult());
    std::optional<SmallVector<Group>> groups = groupsOf(transpose, result);
    if (!groups)
      return failure();
    llvm::sort(*groups, [](const Group &a, const Group &b) { return a.source < b.source; });
    // The result's dimensions in the order of the source; those of extent 1 keep their places.
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, result.size())), places = largeDims(result);
    size_t next = 0;
    for (const Group &group : *groups)
      for (int64_t dim : group.result)
        order[places[next++]] = dim;
    Shape straight = llvm::map_to_vector(order, [&](int64_t dim) { return result[dim]; });
    GraphBuilder builder(rewriter, op.getLoc());
    rewriter.replaceOp(op, builder.transpose(builder.reshape(transpose.getInput(), straight), inverse(order)));
    return success();
  }

private:
  /// Dimensions of the result, and the first of the source's dimensions that hold the same elements in the same order.
  struct Group {
    int64_t source;
    SmallVector<int64_t> result;
  };

  static SmallVector<int64_t> largeDims(const Shape &shape) {
    SmallVector<int64_t> dims;
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (extent != SymbolicInt(1))
        dims.push_back(dim);
    return dims;
  }

  /// The shortest prefixes with the same product.
  static std::optional<std::pair<size_t, size_t>> equalParts(ArrayRef<SymbolicInt> a, ArrayRef<SymbolicInt> b) {
    SymbolicInt left(1);
    for (size_t i = 0; i < a.size(); ++i) {
      left *= a[i];
      if (left.isPoison())
        return std::nullopt;
      SymbolicInt right(1);
      for (size_t j = 0; j < b.size(); ++j)
        if ((right *= b[j]) == left)
          return std::pair(i + 1, j + 1);
    }
    return std::nullopt;
  }

  /// The smallest groups, ignoring dimensions of extent 1; nullopt if one is not contiguous in the source.
  static std::optional<SmallVector<Group>> groupsOf(TransposeOp transpose, const Shape &result) {
    SmallVector<int64_t> sourceDims = largeDims(shapeOf(transpose.getInput())), resultDims = largeDims(result), places;
    Shape left, right;
    for (int64_t dim : largeDims(shapeOf(transpose.getResult()))) {
      left.push_back(shapeOf(transpose.getResult())[dim]);
      places.push_back(llvm::find(sourceDims, transpose.getPermutation()[dim]) - sourceDims.begin());
    }
    for (int64_t dim : resultDims)
      right.push_back(result[dim]);
    SmallVector<Group> groups;
    size_t i = 0, j = 0;
    while (i < left.size() || j < right.size()) {
      auto parts = equalParts(ArrayRef(left).drop_front(i), ArrayRef(right).drop_front(j));
      if (!parts)
        return std::nullopt;
      for (size_t k = 1; k < parts->first; ++k)
        if (places[i + k] != places[i] + static_cast<int64_t>(k))
          return std::nullopt;
      groups.push_back({places[i], SmallVector<int64_t>(ArrayRef(resultDims).slice(j, parts->second))});
      i += parts->first;
      j += parts->second;
    }
    return groups;
  }
};

struct PlaceTransposes : perpend::graph::impl::GraphPlaceTransposesBase<PlaceTransposes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkThroughDimensions, SinkThroughInput, SinkThroughReshape>(&getContext());
    GreedyRewriteConfig config;
    config.maxIterations = 50;
    config.maxNumRewrites = mostRewrites(getOperation()); // stops rules that undo each other
    (void)applyPatternsAndFoldGreedily(getOperation(), std::move(patterns), config);
  }
};
} // namespace
