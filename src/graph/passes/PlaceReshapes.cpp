//===- PlaceReshapes.cpp - moves reshapes past elementwise operators ------===//
//
// A packed contraction computes a matrix, and a reshape restores the model's shape. This pass moves the maps that
// follow before the reshape, so that they fuse with the contraction, unless another operand of theirs would cost
// memory traffic in the new shape. Runs after packing, which creates these reshapes, and before fusion.
//
//   map(reshape(tile.matmul), broadcast(bias))  =>  reshape(map(tile.matmul, broadcast'(bias)))
//
//===----------------------------------------------------------------------===//

#include "graph/builder/Builder.h"
#include "graph/passes/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACERESHAPES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

static bool isReduction(Value value) {
  auto element = value.getDefiningOp<ElementInterface>();
  return element && element.elementKind() == ElementKind::Reduction;
}

/// Whether a value is a reduction, or computed elementwise from one (maps have been merged before).
static bool endsReduction(Value value) {
  return isReduction(value) ||
         (value.getDefiningOp<MapOp>() && llvm::any_of(value.getDefiningOp()->getOperands(), isReduction));
}

/// Whether a value has other users, or was narrowed and hence not merged with the elementwise operator after it.
static bool willBeStored(Value value) {
  auto bits = [](Value tensor) { return bitWidth(tensorTypeOf(tensor).getElementType()); };
  auto map = value.getDefiningOp<MapOp>();
  return map && (!value.hasOneUse() || llvm::any_of(map.getInputs(), [&](Value input) {
           return isReduction(input) && bits(input) > bits(value);
         }));
}

namespace {
struct SinkReshape : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp op, PatternRewriter &rewriter) const override {
    ReshapeOp reshape;
    bool meetsStored = false;
    for (Value input : op.getInputs()) {
      // Otherwise two contractions of different shapes would move the map back and forth.
      if (endsReduction(input) && !willBeStored(input))
        return failure();
      meetsStored |= endsReduction(input);
      auto candidate = input.getDefiningOp<ReshapeOp>();
      if (!candidate || candidate->getBlock() != op->getBlock() || !endsReduction(candidate.getInput()))
        continue;
      if (reshape && shapeOf(reshape.getInput()) != shapeOf(candidate.getInput()))
        return failure();
      if (!reshape || input.hasOneUse())
        reshape = candidate;
    }
    if (!reshape || !reshape->hasOneUse() || (meetsStored && willBeStored(reshape.getInput())))
      return failure();
    SmallVector<Operand> operands;
    for (Value input : op.getInputs()) {
      std::optional<Operand> operand = reshapedOperand(input, reshape);
      if (!operand)
        return failure();
      operands.push_back(*operand);
    }
    Shape source = shapeOf(reshape.getInput());
    GraphBuilder builder(rewriter, op.getLoc());
    SmallVector<Value> inputs = llvm::map_to_vector(operands, [&](const Operand &operand) {
      Value shaped = builder.reshape(operand.value, operand.shape);
      return operand.broadcastDims ? builder.broadcast(shaped, *operand.broadcastDims, source) : shaped;
    });
    auto map =
        rewriter.create<MapOp>(op.getLoc(), tensorType(source, tensorTypeOf(op.getResult()).getElementType()), inputs);
    rewriter.inlineRegionBefore(op.getBody(), map.getBody(), map.getBody().end());
    rewriter.replaceOp(op, builder.reshape(map, shapeOf(op.getResult())));
    return success();
  }

  /// How an operand gets the shape of the reshape's operand: reshaped, then possibly broadcast.
  struct Operand {
    Value value;
    Shape shape;
    std::optional<SmallVector<int64_t>> broadcastDims;
  };

  /// nullopt if that would add memory traffic.
  static std::optional<Operand> reshapedOperand(Value input, ReshapeOp reshape) {
    Shape source = shapeOf(reshape.getInput());
    if (auto own = input.getDefiningOp<ReshapeOp>(); own && shapeOf(own.getInput()) == source)
      return Operand{own.getInput(), source, std::nullopt};
    if (auto broadcast = input.getDefiningOp<BroadcastOp>())
      return reshapedBroadcast(broadcast, reshape);
    auto element = dyn_cast_or_null<ElementInterface>(input.getDefiningOp());
    bool liesInMemory = !element || element.elementKind() != ElementKind::View || isa<ConcatOp, ReshapeOp>(*element);
    return liesInMemory ? std::optional<Operand>({input, source, std::nullopt}) : std::nullopt;
  }

  struct Range {
    int64_t first, last;
  };
  /// The consecutive dimensions with this combined extent and stride.
  static std::optional<Range> rangeOf(const SymbolicInt &extent, const SymbolicInt &stride, const Shape &shape) {
    Shape strides = rowMajorStrides(shape);
    for (int64_t last = int64_t(shape.size()) - 1; last >= 0; --last) {
      SymbolicInt count(1);
      for (int64_t first = last; first >= 0 && strides[last] == stride; --first)
        if ((count *= shape[first]) == extent && !count.isPoison())
          return Range{first, last};
    }
    return std::nullopt;
  }

  /// A broadcast whose operand has only dimensions that the reshape keeps or splits.
  static std::optional<Operand> reshapedBroadcast(BroadcastOp broadcast, ReshapeOp reshape) {
    Shape source = shapeOf(reshape.getInput()), result = shapeOf(reshape.getResult()), kept;
    Shape resultStrides = rowMajorStrides(result);
    SmallVector<int64_t> dims;
    for (auto [extent, dim] : llvm::zip(shapeOf(broadcast.getInput()), broadcast.getDims())) {
      if (extent == SymbolicInt(1))
        continue;
      std::optional<Range> range = rangeOf(result[dim], resultStrides[dim], source);
      if (!range || (!dims.empty() && range->first <= dims.back()))
        return std::nullopt;
      for (int64_t i = range->first; i <= range->last; ++i) {
        dims.push_back(i);
        kept.push_back(source[i]);
      }
    }
    return Operand{broadcast.getInput(), kept, dims};
  }
};

struct PlaceReshapes : perpend::graph::impl::GraphPlaceReshapesBase<PlaceReshapes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkReshape>(&getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.maxIterations = 50;
    config.maxNumRewrites = mostRewrites(getOperation()); // stops rules that undo each other
    (void)applyPatternsAndFoldGreedily(getOperation(), std::move(patterns), config);
  }
};
} // namespace
