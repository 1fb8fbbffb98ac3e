//===- Simplify.cpp - simplifies the graph --------------------------------===//
//
// Runs after import, and again after each pass that leaves constant expressions behind (layout, packing). Merges
// common subexpressions, rewrites greedily by folders, canonical forms and the rules below, and merges common
// subexpressions again.
//
// Constant folding is bounded. An operator on constants stays if its result is larger than 64 KiB and than twice its
// operands; if it repeats elements (as a broadcast does) and its result is larger than twice its operands; with
// keeps-narrow, if it widens floats that only products read; or if its evaluation would take much longer than reading
// and writing its elements, such as a product of large constants, which causes a warning.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/ErrorKind.h"
#include "graph/NodeNames.h"
#include "graph/Rows.h"
#include "graph/StoredElements.h"
#include "graph/SubstituteSymbols.h"
#include "graph/Work.h"
#include "graph/builder/Builder.h"
#include "graph/composites/Formulas.h"
#include "graph/passes/FoldedConstants.h"
#include "graph/passes/Passes.h"
#include "graph/passes/SimplifyControlFlow.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHSIMPLIFY
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

static constexpr int64_t alwaysFoldedBytes = 64 << 10;
/// Limit for an operand into which a constant is broadcast, and which evaluation needs in full beside smaller
/// constants.
static constexpr int64_t mostRepeatedBytes = 16 << 20;

/// For each element that is read or written: packing and conversions take less.
static constexpr double workOfElement = 64;
/// Beyond that, in units of Work.h: of one operator about a second, and of all of them.
static constexpr double mostWorkAtOnce = double(1 << 29), mostWork = 4 * mostWorkAtOnce;

/// Size without unused bits: bytes into which several numbers are packed count in full.
static int64_t leastBytesOf(Value value) {
  auto type = tensorTypeOf(value);
  unsigned bits = bitWidth(type.getElementType());
  return bits > 1 ? llvm::divideCeil(type.getNumElements() * bits, 8) : storedBytes(value);
}

/// What evaluation takes beyond a pass over the elements.
static double workBesideElements(ElementInterface op) {
  auto elements = double(tensorTypeOf(op->getResult(0)).getNumElements());
  for (Value operand : op->getOperands())
    elements += double(tensorTypeOf(operand).getNumElements());
  return std::max(0.0, workOfElements(op) - workOfElement * elements);
}

/// A constant, or the one that a broadcast repeats.
static ConstantOp constantBehind(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  return value.getDefiningOp<ConstantOp>();
}

/// Whether all operands are constants, and the result is no weight that the model does not have.
static bool isFoldable(ElementInterface op, bool keepsNarrow) {
  Value result = op->getResult(0);
  bool isScalarMap = isa<MapOp>(*op) && tensorTypeOf(result).getRank() == 0; // its operands become immediates
  if (!tensorTypeOf(result).hasStaticShape() || (op->getNumOperands() == 0 && !isScalarMap) ||
      op->hasAttr(computedByUsersAttribute))
    return false;
  int64_t operandBytes = 0, repeatedBytes = 0;
  bool repeats = isa<BroadcastOp>(*op);
  for (Value operand : op->getOperands()) {
    ConstantOp constant = constantBehind(operand);
    if (!constant || !tensorTypeOf(operand).hasStaticShape())
      return false;
    if (constant.getResult() != operand)
      repeatedBytes = std::max(repeatedBytes, storedBytes(operand));
    operandBytes += storedBytes(constant);
    repeats |= op.elementKind() == ElementKind::View && constant.getResult() != operand;
  }
  if (repeatedBytes > std::max(mostRepeatedBytes, operandBytes))
    return false;
  // Padding weights to whole panels may at most double them; repeated elements do not count as weights.
  if (leastBytesOf(result) > std::max(repeats ? 0 : alwaysFoldedBytes, 2 * operandBytes))
    return false;
  if (keepsNarrow && extendsFloats(op) && isMultiplied(result))
    return false;
  std::set<std::string> symbols;
  collectSymbols(op, symbols);
  return symbols.empty(); // otherwise the elements depend on sizes
}

/// Tells of an expression of constants that stays because it takes too long, so that each run computes it.
static void warnOfWork(ElementInterface op) {
  std::string node = nodeName(op).empty() ? op->getName().getStringRef().str() : "node '" + nodeName(op).str() + "'";
  emitWarning(op->getLoc())
      << node << ": each run computes it, although it depends on constants alone: to fold it takes more than "
      << int64_t(mostWorkAtOnce) << " operations, or that and others more than " << int64_t(mostWork)
      << Hint("compute it before the model is exported, and export the result");
}

namespace {
struct FoldConstants : OpInterfaceRewritePattern<ElementInterface> {
  /// \p workLeft: what may be spent on operators that take longer than a pass over their elements.
  FoldConstants(MLIRContext *context, bool keepsNarrow, double &workLeft)
      : OpInterfaceRewritePattern(context), keepsNarrow(keepsNarrow), workLeft(workLeft) {}

  LogicalResult matchAndRewrite(ElementInterface op, PatternRewriter &rewriter) const override {
    auto *dialect = getContext()->getLoadedDialect<GraphDialect>();
    if (!dialect->evaluator || !isFoldable(op, keepsNarrow))
      return failure();
    double work = workBesideElements(op);
    if (work > std::min(mostWorkAtOnce, workLeft))
      return failure();
    workLeft -= work;
    SmallVector<Attribute> operands, results;
    SmallVector<ConstantOp> constants;
    for (Value operand : op->getOperands()) {
      constants.push_back(constantBehind(operand));
      if (failed(evaluateOperand(dialect, operand, operands)))
        return failure();
    }
    if (failed(dialect->evaluator(op, operands, results)))
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, op->getResult(0).getType(), cast<ElementsAttr>(results[0]));
    if (FoldedConstants *folded = FoldedConstants::current()) {
      folded->note(operands, results[0]);
      folded->release(constants);
    }
    return success();
  }

  static LogicalResult evaluateOperand(GraphDialect *dialect, Value operand, SmallVectorImpl<Attribute> &values) {
    Attribute value = constantBehind(operand).getValue();
    if (auto broadcast = operand.getDefiningOp<BroadcastOp>())
      return dialect->evaluator(broadcast, {value}, values);
    values.push_back(value);
    return success();
  }

private:
  bool keepsNarrow;
  double &workLeft;
};

/// transpose(broadcast(x)) = broadcast'(transpose'(x)): the smaller tensor is transposed.
struct TransposeOfBroadcast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getInput().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return failure();
    SmallVector<std::pair<int64_t, int64_t>> moved; // (new position, dimension) of each input dimension
    for (auto [dim, target] : llvm::enumerate(broadcast.getDims()))
      moved.emplace_back(llvm::find(op.getPermutation(), target) - op.getPermutation().begin(), dim);
    llvm::sort(moved);
    SmallVector<int64_t> dims, permutation;
    for (auto [position, dim] : moved) {
      dims.push_back(position);
      permutation.push_back(dim);
    }
    GraphBuilder builder(rewriter, op.getLoc());
    Value small = builder.transpose(broadcast.getInput(), permutation);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), small, dims);
    return success();
  }
};

/// A transpose that moves only dimensions of extent 1 is a reshape.
struct TransposeOfUnits : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    Shape shape = shapeOf(op.getInput());
    int64_t previous = -1;
    for (int64_t dim : op.getPermutation()) {
      if (shape[dim] == SymbolicInt(1))
        continue;
      if (dim < previous)
        return failure();
      previous = dim;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

/// broadcast(broadcast(x)) and broadcast(reshape that adds units (x)).
struct BroadcastOfBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<BroadcastOp>();
    if (!producer)
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim : producer.getDims())
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), producer.getInput(), dims);
    return success();
  }
};

/// map(broadcast(x), broadcast(y)) = broadcast(map(x, y)): computes, or folds, the few elements instead of the many.
struct MapOfBroadcasts : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    SmallVector<Value> small;
    BroadcastOp first;
    for (Value input : map.getInputs()) {
      auto broadcast = input.getDefiningOp<BroadcastOp>();
      if (!broadcast)
        return failure();
      first = first ? first : broadcast;
      if (broadcast.getDims() != first.getDims() || shapeOf(broadcast.getInput()) != shapeOf(first.getInput()))
        return failure();
      small.push_back(broadcast.getInput());
    }
    if (!first || elementCount(shapeOf(small[0])) == elementCount(shapeOf(map.getResult())))
      return failure();
    Type element = tensorTypeOf(map.getResult()).getElementType();
    auto few = rewriter.create<MapOp>(map.getLoc(), tensorType(shapeOf(small[0]), element), small);
    few->setDiscardableAttrs(map->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(map.getBody(), few.getBody(), few.getBody().begin());
    rewriter.replaceOpWithNewOp<BroadcastOp>(map, map.getType(), few, first.getDims());
    return success();
  }
};

/// conv(x, w) * s + t with a constant s per output channel becomes conv(x, w * s) + t. (Batch normalisation.)
struct FoldScaleIntoFilter : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    for (auto [number, input] : llvm::enumerate(map.getInputs())) {
      auto conv = input.getDefiningOp<ConvOp>();
      BlockArgument argument = map.getBody().front().getArgument(number);
      if (!conv || conv->getBlock() != map->getBlock() || !input.hasOneUse() || !argument.hasOneUse())
        continue;
      auto product = dyn_cast<arith::MulFOp>(*argument.user_begin());
      if (!product)
        continue;
      Value other = product.getLhs() == argument ? product.getRhs() : product.getLhs();
      auto scaleArgument = dyn_cast<BlockArgument>(other);
      Value scale = scaleArgument ? perChannel(map.getInputs()[scaleArgument.getArgNumber()], conv) : Value();
      if (!scale)
        continue;
      rewriter.modifyOpInPlace(conv, [&] { conv.getFilterMutable().assign(scaledFilter(conv, scale, rewriter)); });
      rewriter.modifyOpInPlace(map, [&] { rewriter.replaceOp(product, argument); });
      return success();
    }
    return failure();
  }

  /// The constant with one element per output channel that `value` broadcasts over the convolution's result, or null.
  static Value perChannel(Value value, ConvOp conv) {
    auto broadcast = value.getDefiningOp<BroadcastOp>();
    if (!broadcast || !matchPattern(broadcast.getInput(), m_Constant()))
      return {};
    Shape shape = shapeOf(broadcast.getInput());
    for (auto [extent, dim] : llvm::zip(shape, broadcast.getDims()))
      if (extent != SymbolicInt(1) && dim != static_cast<int64_t>(conv.channelDim()))
        return {};
    return elementCount(shape) == shapeOf(conv.getResult())[conv.channelDim()] ? broadcast.getInput() : Value();
  }

  static Value scaledFilter(ConvOp conv, Value scale, PatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(conv);
    GraphBuilder builder(rewriter, conv.getLoc());
    Value vector = builder.reshape(scale, {elementCount(shapeOf(scale))});
    Value factors =
        builder.broadcast(vector, {static_cast<int64_t>(conv.filterOutputDim())}, shapeOf(conv.getFilter()));
    return builder.map({conv.getFilter(), factors}, tensorTypeOf(conv.getFilter()).getElementType(),
                       [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
                         return b.create<arith::MulFOp>(loc, scalars[0], scalars[1]);
                       });
  }
};

/// A map that adds or subtracts constant integers, one for each index of the last dimension.
struct ConstantTerm {
  Value variable, constant;
  bool isSubtracted;

  static std::optional<ConstantTerm> of(MapOp map) {
    Block &body = map.getBody().front();
    if (map.getInputs().size() != 2 || body.getOperations().size() != 2 ||
        !isa<arith::AddIOp, arith::SubIOp>(body.front()) ||
        !llvm::equal(body.front().getOperands(), body.getArguments()))
      return std::nullopt;
    auto broadcast = map.getInputs()[1].getDefiningOp<BroadcastOp>();
    if (!broadcast || !matchPattern(broadcast.getInput(), m_Constant()) || broadcast.getDims().empty())
      return std::nullopt;
    Shape shape = shapeOf(broadcast.getInput());
    int64_t last = tensorTypeOf(map.getResult()).getRank() - 1;
    for (auto [extent, dim] : llvm::zip(shape, broadcast.getDims()))
      if (extent != SymbolicInt(1) && dim != last)
        return std::nullopt;
    return ConstantTerm{map.getInputs()[0], broadcast.getInput(), isa<arith::SubIOp>(body.front())};
  }
};

/// x - a + b = x + (b - a), also with a reshape between. (Merges corrections for zero points with a bias.)
struct SumOfConstants : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    std::optional<ConstantTerm> outer = ConstantTerm::of(map), inner;
    Value sum = outer ? outer->variable : Value();
    auto readOnce = [&] { return sum && sum.hasOneUse() ? sum.getDefiningOp() : nullptr; };
    while (auto reshape = dyn_cast_or_null<ReshapeOp>(readOnce()))
      sum = reshape.getInput();
    auto producer = dyn_cast_or_null<MapOp>(readOnce());
    Shape shape = shapeOf(map.getResult());
    if (!producer || !(inner = ConstantTerm::of(producer)) || shapeOf(sum).back() != shape.back())
      return failure();
    GraphBuilder builder(rewriter, map.getLoc());
    auto vector = [&](Value constant) { return builder.reshape(constant, {elementCount(shapeOf(constant))}); };
    Value a = vector(inner->constant), b = vector(outer->constant), x = builder.reshape(inner->variable, shape);
    if (outer->isSubtracted == inner->isSubtracted)
      b = add(builder, a, b);
    else
      b = outer->isSubtracted ? sub(builder, a, b) : sub(builder, b, a);
    bool isSubtracted = outer->isSubtracted && inner->isSubtracted;
    rewriter.replaceOp(map, isSubtracted ? sub(builder, x, b) : add(builder, x, b));
    return success();
  }
};

/// Replaces a window over two dimensions by one over each in turn, which combines far fewer elements.
struct SeparateWindow : OpRewritePattern<WindowReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WindowReduceOp op, PatternRewriter &rewriter) const override {
    constexpr int64_t leastElements = 16;
    SmallVector<unsigned> dims;
    int64_t elements = 1;
    for (auto [dim, size] : llvm::enumerate(op.getWindow())) {
      elements *= size;
      if (size > 1)
        dims.push_back(dim);
    }
    if (dims.size() < 2 || elements < leastElements)
      return failure();
    // The first dimension's window now, the rest afterwards.
    Shape shape = shapeOf(op.getInput()), result = shapeOf(op.getResult());
    shape[dims[0]] = result[dims[0]];
    auto only = [&](ArrayRef<int64_t> values, int64_t neutral, bool isFirst) {
      SmallVector<int64_t> chosen(values);
      for (auto [dim, value] : llvm::enumerate(chosen))
        if ((dim == dims[0]) != isFirst)
          value = neutral;
      return chosen;
    };
    auto part = [&](Value input, Type type, bool isFirst) -> Value {
      return rewriter.create<WindowReduceOp>(op.getLoc(), type, input, op.getKind(), only(op.getWindow(), 1, isFirst),
                                             only(op.getStrides(), 1, isFirst), only(op.getPadLow(), 0, isFirst),
                                             only(op.getDilations(), 1, isFirst));
    };
    Value first = part(op.getInput(), tensorType(shape, tensorTypeOf(op.getResult()).getElementType()), true);
    rewriter.replaceOp(op, part(first, op.getType(), false));
    return success();
  }
};

/// Replaces x^2 and x^3 by products, since a general power takes twenty times as long. A cube is rounded twice, which
/// is too inaccurate for 16-bit floats.
struct SmallPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    APFloat exponent(0.0);
    bool isKnown = matchPattern(op.getRhs(), m_ConstantFloat(&exponent));
    bool isCube = isKnown && exponent.isExactlyValue(3) && getElementTypeOrSelf(op).getIntOrFloatBitWidth() >= 32;
    if (!isCube && !(isKnown && exponent.isExactlyValue(2)))
      return failure();
    Value base = op.getLhs(), square = rewriter.create<arith::MulFOp>(op.getLoc(), base, base);
    rewriter.replaceOp(op, isCube ? rewriter.create<arith::MulFOp>(op.getLoc(), square, base) : square);
    return success();
  }
};

struct Simplify : perpend::graph::impl::GraphSimplifyBase<Simplify> {
  using GraphSimplifyBase::GraphSimplifyBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    auto *dialect = context->getLoadedDialect<GraphDialect>();
    for (RegisteredOperationName name : context->getRegisteredOperations())
      if (&name.getDialect() == static_cast<Dialect *>(dialect))
        name.getCanonicalizationPatterns(patterns, context);
    double workLeft = mostWork;
    patterns.add<FoldConstants>(context, keepsNarrow, workLeft);
    patterns.add<TransposeOfBroadcast, TransposeOfUnits, BroadcastOfBroadcast, MapOfBroadcasts, FoldScaleIntoFilter,
                 SumOfConstants, SeparateWindow, SmallPower>(context);
    addControlFlowPatterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    GreedyRewriteConfig config;
    config.maxIterations = 20;
    config.maxNumRewrites = mostRewrites(getOperation()); // stops rules that undo each other
    SmallVector<func::FuncOp, 2> entries = entriesOf(getOperation());
    // Merges expressions of the same constants before folding, so that shared weights are folded once.
    OpPassManager merge("builtin.module");
    merge.addPass(createCSEPass());
    if (failed(runPipeline(merge, getOperation())))
      return signalPassFailure();
    // Sizes that become known let more be folded, and so does a branch that they leave out.
    FailureOr<bool> leavesOut = false;
    for (bool changes = true; changes;) {
      (void)applyPatternsAndFoldGreedily(getOperation(), frozen, config);
      changes = *leavesOut;
      for (func::FuncOp main : entries)
        changes |= resolveMeasures(main);
      leavesOut = false;
      for (func::FuncOp main : changes ? ArrayRef(entries) : ArrayRef<func::FuncOp>()) {
        FailureOr<bool> left = leaveOutContradictions(main);
        if (failed(left))
          return signalPassFailure();
        leavesOut = *leavesOut || *left;
      }
    }
    if (failed(runPipeline(merge, getOperation())))
      signalPassFailure();
    // Rules end where they have been applied too often.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
    getOperation().walk([&](ElementInterface op) {
      if (dialect->evaluator && isFoldable(op, keepsNarrow) &&
          workBesideElements(op) > std::min(mostWorkAtOnce, workLeft))
        warnOfWork(op);
    });
    if (FoldedConstants *folded = FoldedConstants::current())
      folded->releaseUnread(getOperation());
  }
};
} // namespace
