//===- FuseMaps.cpp - fuses elementwise operators -------------------------===//
//
// Merges a map into the only map that uses it, and a map that only widens its operand into every map that uses it, so
// that these read the narrower elements. Merged bodies stay below 100 operations. Runs before FuseKernels, which fuses
// a pointwise value only if it has a single use: after merging, x * sigmoid(x) uses x once. If a map reads two
// reductions, FuseKernels stores one of them; so a map that narrows a reduction is not merged into one that reads
// another reduction: its narrow result is stored instead.
//
//   %s = graph.map (%x) { sigmoid }        %y = graph.map (%x) { x * sigmoid(x) }
//   %y = graph.map (%x, %s) { mul }    =>
//
//===----------------------------------------------------------------------===//

#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/Work.h"
#include "graph/passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHFUSEMAPS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

/// Most operations of a body, for the sake of registers and of passes that copy bodies.
static constexpr size_t maxBodyOperations = 100;

static bool makeLargeBody(MapOp producer, MapOp consumer) {
  return producer.getBody().front().getOperations().size() + consumer.getBody().front().getOperations().size() >
             maxBodyOperations ||
         scalarWork(*producer) + scalarWork(*consumer) > mostKernelWork;
}

static bool hasOneUser(Value value) {
  if (value.use_empty())
    return false;
  Operation *first = *value.user_begin();
  return llvm::all_of(value.getUsers(), [&](Operation *user) { return user == first; });
}

static bool isReduction(Value value) {
  auto element = originOf(value).getDefiningOp<ElementInterface>();
  return element && element.elementKind() == ElementKind::Reduction;
}

/// Bits of the reduction from which a value is computed elementwise without other users in between; 0 if there is none.
static unsigned bitsOfReduction(Value value) {
  unsigned bits = isReduction(value) ? bitWidth(tensorTypeOf(value).getElementType()) : 0;
  auto map = value.getDefiningOp<MapOp>();
  for (Value input : map ? ValueRange(map.getInputs()) : ValueRange())
    if (input.hasOneUse())
      bits = std::max(bits, bitsOfReduction(input));
  return bits;
}

/// Whether the consumer reads two reductions: one is stored, preferably after the producer's map.
static bool meetsOtherReduction(MapOp producer, MapOp consumer) {
  return llvm::any_of(consumer.getInputs(), isReduction) &&
         bitWidth(tensorTypeOf(producer.getResult()).getElementType()) < bitsOfReduction(producer.getResult());
}

/// Whether users read the operand in place of the result.
static bool mergesIntoAll(MapOp map, bool keepsNarrow) {
  return onlyWidens(map) || (keepsNarrow && extendsFloats(map));
}

/// Whether a value will be merged into its users, which then read fewer bits. Until then nothing is merged into it.
/// computed inside of it.
static bool isReadNarrow(MapOp map, bool keepsNarrow) {
  return mergesIntoAll(map, keepsNarrow) && llvm::any_of(map->getUsers(), llvm::IsaPred<ElementInterface>);
}

namespace {
struct MergeProducer : OpRewritePattern<MapOp> {
  MergeProducer(MLIRContext *context, bool keepsNarrow) : OpRewritePattern(context), keepsNarrow(keepsNarrow) {}

  LogicalResult matchAndRewrite(MapOp consumer, PatternRewriter &rewriter) const override {
    for (Value input : consumer.getInputs()) {
      auto producer = input.getDefiningOp<MapOp>();
      if (!producer || !(hasOneUser(input) || mergesIntoAll(producer, keepsNarrow)) ||
          producer->getBlock() != consumer->getBlock() || meetsOtherReduction(producer, consumer) ||
          isReadNarrow(consumer, keepsNarrow) || makeLargeBody(producer, consumer))
        continue;
      merge(producer, consumer, rewriter);
      return success();
    }
    return failure();
  }

  static void merge(MapOp producer, MapOp consumer, PatternRewriter &rewriter) {
    SmallVector<Value> inputs(producer.getInputs());
    for (Value input : consumer.getInputs())
      if (input != producer.getResult())
        inputs.push_back(input);
    auto merged = rewriter.create<MapOp>(rewriter.getFusedLoc({producer.getLoc(), consumer.getLoc()}),
                                         consumer.getType(), inputs);
    Block *body = rewriter.createBlock(&merged.getBody());
    for (Value input : inputs)
      body->addArgument(scalarTypeOf(input), merged.getLoc());
    IRMapping mapping;
    Block &producerBody = producer.getBody().front(), &consumerBody = consumer.getBody().front();
    mapping.map(producerBody.getArguments(), body->getArguments().take_front(producer.getInputs().size()));
    for (Operation &op : producerBody.without_terminator())
      rewriter.clone(op, mapping);
    Value produced = mapping.lookupOrDefault(producerBody.getTerminator()->getOperand(0));
    unsigned next = producer.getInputs().size();
    for (auto [argument, input] : llvm::zip(consumerBody.getArguments(), consumer.getInputs()))
      mapping.map(argument, input == producer.getResult() ? produced : body->getArgument(next++));
    for (Operation &op : consumerBody)
      rewriter.clone(op, mapping);
    rewriter.replaceOp(consumer, merged);
    if (producer->use_empty())
      rewriter.eraseOp(producer);
  }

  bool keepsNarrow;
};

/// Widens behind a view, which then moves fewer bits: view(widen(x)) = widen(view(x)).
struct MoveWidening : OpInterfaceRewritePattern<ElementInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ElementInterface view, PatternRewriter &rewriter) const override {
    Operation *map = view->getNumOperands() == 1 ? view->getOperand(0).getDefiningOp() : nullptr;
    TypedAttr filling = view.getFilling();
    if (!map || view.elementKind() != ElementKind::View || !extendsFloats(map) || !map->hasOneUse() ||
        (filling && !matchPattern(filling, m_PosZeroFloat())))
      return failure();
    Value narrow = map->getOperand(0);
    Type element = tensorTypeOf(narrow).getElementType();
    auto moved = cast<ElementInterface>(rewriter.clone(*view));
    moved->setOperand(0, narrow);
    moved->getResult(0).setType(tensorType(shapeOf(view->getResult(0)), element));
    if (filling)
      moved.setFilling(rewriter.getFloatAttr(element, 0));
    Operation *widened = rewriter.clone(*map);
    widened->setOperand(0, moved->getResult(0));
    widened->getResult(0).setType(view->getResult(0).getType());
    rewriter.replaceOp(view, widened);
    return success();
  }
};

struct FuseMaps : perpend::graph::impl::GraphFuseMapsBase<FuseMaps> {
  using GraphFuseMapsBase::GraphFuseMapsBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeProducer>(&getContext(), keepsNarrow);
    if (keepsNarrow)
      patterns.add<MoveWidening>(&getContext());
    MapOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
