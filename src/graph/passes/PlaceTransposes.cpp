//===- PlaceTransposes.cpp - transposes towards the results -----------------===//
//
// Moves a transpose from an operator's operand to its result wherever that costs
// nothing for the other operands. Transposes only move down, so this ends; two
// that meet are composed by their folder, and mostly vanish. Runs after
// PlaceChannelsLast.
//
//   map(transpose(a), transpose(b), broadcast(c))  =>  transpose(map(a, b, broadcast'(c)))
//
//===----------------------------------------------------------------------===//

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

static SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [position, dim] : llvm::enumerate(permutation))
    result[dim] = position;
  return result;
}

/// Values that were listed for the transposed tensor, in the order of the tensor itself.
template <typename T> static SmallVector<T> unpermuted(ArrayRef<T> values, ArrayRef<int64_t> permutation) {
  SmallVector<T> result(values);
  for (auto [position, dim] : llvm::enumerate(permutation))
    result[dim] = values[position];
  return result;
}

/// A transpose of this costs nothing at run time.
static bool isFreeToTranspose(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return llvm::count_if(shapeOf(broadcast.getInput()), [](const SymbolicInt &e) { return e != SymbolicInt(1); }) <=
               1 ||
           isFreeToTranspose(broadcast.getInput()) || broadcast.getInput().getDefiningOp<TransposeOp>() ||
           broadcast.getInput().getDefiningOp<ReshapeOp>();
  return isa<ConstantOp>(op);
}

/// The transpose that computes an operand, in the operator's own block: one outside a loop is not moved into it.
static TransposeOp transposeOf(Value operand, Operation *op) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  return transpose && transpose->getBlock() == op->getBlock() ? transpose : TransposeOp();
}

/// The permutation that all operands share, if every operand has it or is free to get its inverse. A transpose of what
/// is free to transpose asks for nothing: moving it down would put another one in its place, again and again.
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
  return builder.transpose(operand, inverse(permutation));
}

static SmallVector<Value> withoutTransposes(GraphBuilder &builder, ValueRange operands, ArrayRef<int64_t> permutation) {
  return llvm::map_to_vector(operands, [&](Value operand) { return withoutTranspose(builder, operand, permutation); });
}

namespace {
/// The operator's lists get the other order.
struct SinkThroughDimensions : OpTraitRewritePattern<DimensionWise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto permutation = commonPermutation(op);
    if (!permutation)
      return failure();
    GraphBuilder builder(rewriter, op->getLoc());
    SmallVector<Value> operands = withoutTransposes(builder, op->getOperands(), *permutation);
    Operation *clone = rewriter.clone(*op);
    Value result = clone->getResult(0);
    Shape shape = unpermuted<SymbolicInt>(shapeOf(result), *permutation);
    rewriter.modifyOpInPlace(clone, [&] {
      clone->setOperands(operands);
      result.setType(tensorType(shape, tensorTypeOf(result).getElementType()));
      for (StringAttr name : clone->getName().getAttributeNames())
        if (Attribute attribute = clone->getAttr(name))
          clone->setAttr(name, reordered(attribute, *permutation));
    });
    rewriter.replaceOp(op, builder.transpose(result, *permutation));
    return success();
  }

  static Attribute reordered(Attribute attribute, ArrayRef<int64_t> permutation) {
    if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute))
      return DenseI64ArrayAttr::get(attribute.getContext(), unpermuted<int64_t>(numbers, permutation));
    if (auto shape = dyn_cast<ShapeAttr>(attribute))
      return ShapeAttr::get(attribute.getContext(), unpermuted<SymbolicInt>(shape.values(), permutation));
    return attribute;
  }
};

struct SinkThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    auto permutation = commonPermutation(op);
    if (!permutation)
      return failure();
    GraphBuilder builder(rewriter, op.getLoc());
    SmallVector<Value> inputs = withoutTransposes(builder, op.getInputs(), *permutation);
    rewriter.replaceOp(op, builder.transpose(builder.concat(inputs, (*permutation)[op.getAxis()]), *permutation));
    return success();
  }
};

struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    TransposeOp transpose = transposeOf(op.getInput(), op);
    if (!transpose)
      return failure();
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<int64_t> dims = llvm::map_to_vector(op.getDims(), [&](int64_t dim) { return permutation[dim]; });
    GraphBuilder builder(rewriter, op.getLoc());
    Value reduced = builder.reduce(op.getKind(), transpose.getInput(), dims, false);
    // The kept dimensions of the transposed tensor, numbered among the kept ones of the original.
    SmallVector<int64_t> kept, sorted, order;
    for (auto [position, dim] : llvm::enumerate(permutation))
      if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(position)))
        kept.push_back(dim);
    sorted = kept;
    llvm::sort(sorted);
    for (int64_t dim : kept)
      order.push_back(llvm::find(sorted, dim) - sorted.begin());
    rewriter.replaceOp(op, builder.transpose(reduced, order));
    return success();
  }
};

/// reshape(transpose(x)) where what the reshape merges or divides are neighbours in x, too:
/// [n, h, w, c] to [n, c, h, w] to [n, c, h * w] is [n, h, w, c] to [n, h * w, c] to [n, c, h * w].
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
    // The result's dimensions in the order of the source; those of extent 1 stay where they are.
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
  /// Dimensions of the result, and the place of the first one of the source, that hold the same elements in the same
  /// order.
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

  /// The least numbers of first extents that have the same product.
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

  /// The smallest ones, of dimensions that are not 1. nullopt: one is not together in the source.
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
    patterns.add<SinkThroughDimensions, SinkThroughConcat, SinkThroughReduce, SinkThroughReshape>(&getContext());
    GreedyRewriteConfig config;
    config.maxIterations = 50;
    config.maxNumRewrites = mostRewrites(getOperation()); // two rules that undo each other would not end
    (void)applyPatternsAndFoldGreedily(getOperation(), std::move(patterns), config);
  }
};
} // namespace
