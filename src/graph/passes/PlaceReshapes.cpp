//===- PlaceReshapes.cpp - reshapes behind elementwise operators -------------===//
//
// A contraction computes rows by columns, and the model wants another shape.
// Elementwise operators that follow are done on rows by columns too, and the
// reshape comes last, so that they fuse with the contraction. Runs after
// packing, which makes these reshapes, and before fusion.
//
//   map(reshape(tile.matmul), broadcast(bias))  =>  reshape(map(tile.matmul, broadcast'(bias)))
//
//===----------------------------------------------------------------------===//

#include "graph/Builder.h"
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

/// Whether a value is, or is computed elementwise from, a reduction that lies behind no other reshape.
static bool endsReduction(Value value) {
  Operation *op = value.getDefiningOp();
  auto element = dyn_cast_or_null<ElementInterface>(op);
  if (!element)
    return false;
  if (element.elementKind() == ElementKind::Reduction)
    return true;
  return isa<MapOp>(op) && llvm::any_of(op->getOperands(), endsReduction);
}

namespace {
struct SinkReshape : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp op, PatternRewriter &rewriter) const override {
    ReshapeOp reshape;
    for (Value input : op.getInputs())
      if (auto candidate = input.getDefiningOp<ReshapeOp>();
          candidate && input.hasOneUse() && endsReduction(candidate.getInput()))
        reshape = reshape ? reshape : candidate;
    if (!reshape)
      return failure();
    Shape source = shapeOf(reshape.getInput());
    GraphBuilder builder(rewriter, op.getLoc());
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      Value reshaped = reshapedOperand(builder, input, reshape);
      if (!reshaped)
        return failure();
      inputs.push_back(reshaped);
    }
    auto map = rewriter.create<MapOp>(op.getLoc(), tensorType(source, tensorTypeOf(op.getResult()).getElementType()), inputs);
    rewriter.inlineRegionBefore(op.getBody(), map.getBody(), map.getBody().end());
    rewriter.replaceOp(op, builder.reshape(map, shapeOf(op.getResult())));
    return success();
  }

  /// `input` in the shape of the reshape's operand, where that needs no new memory traffic; else null.
  static Value reshapedOperand(GraphBuilder &builder, Value input, ReshapeOp reshape) {
    Shape source = shapeOf(reshape.getInput());
    if (auto own = input.getDefiningOp<ReshapeOp>(); own && shapeOf(own.getInput()) == source)
      return own.getInput();
    if (auto broadcast = input.getDefiningOp<BroadcastOp>())
      return reshapedBroadcast(builder, broadcast, reshape);
    auto element = dyn_cast_or_null<ElementInterface>(input.getDefiningOp());
    bool liesInMemory = !element || element.elementKind() != ElementKind::View || isa<ConcatOp, ReshapeOp>(*element);
    return liesInMemory ? builder.reshape(input, source) : Value();
  }

  /// A broadcast whose operand only has dimensions that the reshape leaves alone.
  static Value reshapedBroadcast(GraphBuilder &builder, BroadcastOp broadcast, ReshapeOp reshape) {
    Shape source = shapeOf(reshape.getInput()), result = shapeOf(reshape.getResult()),
          small = shapeOf(broadcast.getInput());
    Shape kept;
    SmallVector<int64_t> dims;
    for (auto [extent, dim] : llvm::zip(small, broadcast.getDims())) {
      if (extent == SymbolicInt(1))
        continue;
      // The dimension with as many elements behind it, and of the same extent.
      Shape resultStrides = rowMajorStrides(result), sourceStrides = rowMajorStrides(source);
      int64_t found = -1;
      for (size_t i = 0; i < source.size(); ++i)
        if (sourceStrides[i] == resultStrides[dim] && source[i] == result[dim])
          found = i;
      if (found < 0 || (!dims.empty() && found <= dims.back()))
        return {};
      dims.push_back(found);
      kept.push_back(extent);
    }
    return builder.broadcast(builder.reshape(broadcast.getInput(), kept), dims, source);
  }
};

struct PlaceReshapes : perpend::graph::impl::GraphPlaceReshapesBase<PlaceReshapes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkReshape>(&getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.maxIterations = 50;
    (void)applyPatternsAndFoldGreedily(getOperation(), std::move(patterns), config);
  }
};
} // namespace
