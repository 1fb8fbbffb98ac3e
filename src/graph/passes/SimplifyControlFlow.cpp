//===- SimplifyControlFlow.cpp - resolves known branches and loops --------===//
//
// If an operator that defines symbols is replaced, its replacement measures the symbols from shapes that are then
// known; resolveMeasures() substitutes the measured expressions for the symbols.
//
//===----------------------------------------------------------------------===//

#include "graph/passes/SimplifyControlFlow.h"
#include "graph/ErrorKind.h"
#include "graph/NodeNames.h"
#include "graph/ReplaceControlFlow.h"
#include "graph/Requirements.h"
#include "graph/SubstituteSymbols.h"
#include "graph/Symbols.h"
#include "graph/builder/Builder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

static std::optional<int64_t> constantInteger(Value value) {
  DenseElementsAttr elements;
  if (!value || !matchPattern(value, m_Constant(&elements)) || elements.getNumElements() != 1 ||
      !elements.getElementType().isIntOrIndex())
    return std::nullopt;
  APInt number = *elements.value_begin<APInt>();
  return number.getBitWidth() == 1 ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue();
}

namespace {
struct InlineBranch : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    std::optional<int64_t> condition = constantInteger(op.getCondition());
    if (!condition)
      return failure();
    Block &taken = (*condition ? op.getThenRegion() : op.getElseRegion()).front();
    Operation *yield = taken.getTerminator();
    SmallVector<Value> values(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&taken, op);
    SmallVector<StringAttr> symbols = op.definedSymbols();
    TypeRange given = ValueRange(values).getTypes();
    auto extents = matchExtents(symbols, op.getResultTypes(), given);
    measureAll(rewriter, op.getLoc(), extents, symbols);
    requireSameExtents(rewriter, op.getLoc(), given, op.getResultTypes(), extents,
                       *condition ? "behind the then branch" : "behind the else branch");
    rewriter.replaceOp(op, reshaped(rewriter, op.getLoc(), values, op.getResultTypes()));
    return success();
  }
};

/// For a loop that ends before or after its first iteration.
struct InlineIteration : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LoopOp op, PatternRewriter &rewriter) const override {
    std::optional<int64_t> count = op.countIsKnown() ? op.getCount().values()[0].constant() : std::nullopt;
    if (count == 0)
      return skip(op, rewriter), success();
    if (count == 1)
      return runOnce(op, rewriter), success();
    return failure();
  }

  static TypeRange carriedTypes(LoopOp op) { return TypeRange(op.getBody().getArgumentTypes()).drop_front(); }

  static void skip(LoopOp op, PatternRewriter &rewriter) {
    SmallVector<StringAttr> symbols = op.definedSymbols();
    auto extents = matchExtents(symbols, carriedTypes(op), op.getInitial().getTypes());
    for (StringAttr name : symbols)
      extents.try_emplace(name.getValue(), SymbolicInt(0));
    measureAll(rewriter, op.getLoc(), extents, symbols);
    requireSameExtents(rewriter, op.getLoc(), op.getInitial().getTypes(), carriedTypes(op), extents,
                       "behind no iteration");
    SmallVector<Value> results(
        reshaped(rewriter, op.getLoc(), op.getInitial(), TypeRange(op.getResultTypes()).take_front(op.carriedCount())));
    GraphBuilder builder(rewriter, op.getLoc());
    for (Value result : op.scanResults())
      results.push_back(builder.splat(shapeOf(result), 0, tensorTypeOf(result).getElementType()));
    rewriter.replaceOp(op, results);
  }

  static void runOnce(LoopOp op, PatternRewriter &rewriter) {
    SmallVector<StringAttr> symbols = op.definedSymbols();
    SmallVector<Type> carried(carriedTypes(op)), stacked(op.scanResults().getTypes());
    substituteSymbols(op.getBody(), matchExtents(symbols, carried, op.getInitial().getTypes()));
    requireSameExtents(rewriter, op.getLoc(), op.getInitial().getTypes(), carriedTypes(op), {}, "before the iteration");
    GraphBuilder builder(rewriter, op.getLoc());
    SmallVector<Value> arguments{builder.dims(SymbolicInt(0), /*isScalar=*/true)};
    arguments.append(reshaped(rewriter, op.getLoc(), op.getInitial(), carriedTypes(op)));
    Operation *yield = op.getBody().front().getTerminator();
    const size_t carriedCount = op.yieldedCarried().size();
    SmallVector<Value> elements;
    for (Value element : op.yieldedElements()) {
      Shape shape = shapeOf(element);
      shape.insert(shape.begin(), SymbolicInt(1));
      rewriter.setInsertionPoint(yield);
      elements.push_back(
          rewriter.create<ReshapeOp>(op.getLoc(), tensorType(shape, tensorTypeOf(element).getElementType()), element));
    }
    rewriter.inlineBlockBefore(&op.getBody().front(), op, arguments);
    // Done only now: a yielded argument of the block stands for that argument's value from here on.
    SmallVector<Value> next(yield->getOperands().take_front(carriedCount));
    next.append(elements);
    rewriter.eraseOp(yield);
    rewriter.setInsertionPoint(op);
    carried.append(stacked);
    TypeRange given = ValueRange(next).getTypes();
    auto extents = matchExtents(symbols, carried, given);
    measureAll(rewriter, op.getLoc(), extents, symbols);
    requireSameExtents(rewriter, op.getLoc(), given, carried, extents, "behind the iteration");
    rewriter.replaceOp(op, reshaped(rewriter, op.getLoc(), next, op.getResultTypes()));
  }
};

/// What sizes that became known fulfil.
struct DropKnownRequirement : OpRewritePattern<RequireOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RequireOp op, PatternRewriter &rewriter) const override {
    std::optional<int64_t> value = op.getValue().values()[0].constant();
    return value && *value >= 0 ? (rewriter.eraseOp(op), success()) : failure();
  }
};

struct DropUnusedElements : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LoopOp op, PatternRewriter &rewriter) const override {
    SmallVector<StringAttr> defined = op.definedSymbols();
    Operation *yield = op.getBody().front().getTerminator();
    unsigned first = yield->getNumOperands() - op.scanResults().size();
    llvm::BitVector unusedOperands(yield->getNumOperands());
    SmallVector<Type> types(op.carriedResults().getTypes());
    SmallVector<Value> kept(op.carriedResults());
    for (auto [index, result] : llvm::enumerate(op.scanResults())) {
      // An extent that only an element determines is needed wherever its symbol is used.
      if (result.use_empty() && !mentionsAny(shapeOf(result), defined)) {
        unusedOperands.set(first + index);
      } else {
        types.push_back(result.getType());
        kept.push_back(result);
      }
    }
    if (unusedOperands.none())
      return failure();
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(unusedOperands); });
    auto smaller = rewriter.create<LoopOp>(op.getLoc(), types, op.getLimit(), op.getCondition(), op.getInitial(),
                                           op.getCount(), op.getSymbols());
    rewriter.inlineRegionBefore(op.getBody(), smaller.getBody(), smaller.getBody().end());
    for (auto [old, result] : llvm::zip_equal(kept, smaller.getResults()))
      rewriter.replaceAllUsesWith(old, result);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void perpend::graph::addControlFlowPatterns(RewritePatternSet &patterns) {
  patterns.add<InlineBranch, InlineIteration, DropUnusedElements, DropKnownRequirement>(patterns.getContext());
}

/// The expression that a measured value equals, if there is one.
static std::optional<SymbolicInt> expressionOf(Value count) {
  if (auto dims = count.getDefiningOp<DimsOp>())
    return dims.getValues().values()[0];
  if (std::optional<int64_t> number = constantInteger(count); number && *number >= 0)
    return SymbolicInt(*number);
  return std::nullopt;
}

bool perpend::graph::resolveMeasures(func::FuncOp main) {
  std::set<std::string> used;
  collectSymbols(main.getBody(), used);
  llvm::StringMap<SymbolicInt> replacements;
  SmallVector<MeasureOp> resolved;
  main.walk([&](MeasureOp op) {
    std::optional<SymbolicInt> value = expressionOf(op.getCount());
    if (value && used.count(op.getSymbol().str())) {
      value = value->substitute(replacements);
      replacements[op.getSymbol()] = *value;
      if (!value->knownNonNegative())
        OpBuilder(op).create<RequireOp>(op.getLoc(), ShapeAttr::get(op.getContext(), *value), "a size is negative");
    } else if (used.count(op.getSymbol().str())) {
      return;
    }
    resolved.push_back(op);
  });
  for (MeasureOp op : resolved)
    op.erase();
  if (replacements.empty())
    return !resolved.empty();
  substituteSymbols(main.getBody(), replacements);
  auto results = main.getBody().front().getTerminator()->getOperandTypes();
  main.setFunctionType(FunctionType::get(main.getContext(), main.getArgumentTypes(), results));
  return true;
}

//===----------------------------------------------------------------------===//
// Operators that known sizes contradict
//===----------------------------------------------------------------------===//

static constexpr StringRef whatHelps = "the sizes are known here; correct the model, or the dimensions of its inputs";

/// "node 'a': graph.reshape: cannot ...", by the operator's verifier; empty where it is right.
static std::string complaintAbout(Operation *op) {
  std::string text;
  ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diagnostic) {
    text = text.empty() ? diagnostic.str() : text;
    return success();
  });
  if (succeeded(op->getName().verifyInvariants(op)))
    return "";
  StringRef complaint = StringRef(text).split("' op ").second;
  if (complaint.starts_with("C")) // the label of the constraint
    complaint = complaint.split(": ").second;
  std::string node = nodeName(op).empty() ? "" : "node '" + nodeName(op).str() + "': ";
  return node + op->getName().getStringRef().str() + ": " + complaint.str();
}

/// The other branch is the only one; a run whose condition chooses this one ends with an error.
static void leaveOut(IfOp op, Region &branch, StringRef complaint) {
  const bool isThen = &branch == &op.getThenRegion();
  StringRef name = isThen ? "then" : "else";
  OpBuilder operations(op);
  GraphBuilder builder(operations, op.getLoc());
  SymbolicInt taken = builder.measure(builder.cast(op.getCondition(), builder.i64()), "branch");
  builder.require(isThen ? -taken : taken - SymbolicInt(1),
                  ("the condition chooses the " + name + " branch, which cannot run: " + complaint).str());
  op.getConditionMutable().assign(builder.scalar(isThen ? 0 : 1, operations.getI1Type()));
  std::string node = nodeName(op).empty() ? "" : "node '" + nodeName(op).str() + "': ";
  emitWarning(op.getLoc()) << node << "a run that chooses the " << name << " branch will be an error: " << complaint
                           << Hint(whatHelps);
}

FailureOr<bool> perpend::graph::leaveOutContradictions(func::FuncOp main) {
  Operation *wrong = nullptr;
  std::string complaint;
  main.walk([&](Operation *op) {
    complaint = op == main ? "" : complaintAbout(op);
    wrong = complaint.empty() ? nullptr : op;
    return wrong ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!wrong)
    return false;
  if (auto choice = wrong->getParentOfType<IfOp>()) {
    Region *branch = wrong->getParentRegion();
    while (branch->getParentOp() != choice)
      branch = branch->getParentRegion();
    return leaveOut(choice, *branch, complaint), true;
  }
  wrong->emitError() << complaint << Hint(whatHelps);
  return failure();
}
