//===- ControlFlowNests.cpp - loops and branches without jumps ------------===//
//
//   loop of few iterations    one iteration behind the other
//   if of small branches      both branches, and a choice of their results
//
//===----------------------------------------------------------------------===//

#include "graph/Nests.h"
#include "graph/ReplaceControlFlow.h"
#include "graph/SubstituteSymbols.h"
#include "graph/Symbols.h"
#include "graph/composites/Formulas.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

namespace {

/// Operators of all iterations of a loop, and of both branches.
constexpr int64_t mostOperators = 256, mostInBranches = 8;

/// Makes a copy of a loop, whose body defines symbols of its own and has the extents of these carried values.
LoopOp copyForIteration(LoopOp op, ValueRange carried, RewriterBase &rewriter, std::set<std::string> &used) {
  auto copy = cast<LoopOp>(rewriter.clone(*op));
  auto extents =
      matchExtents(op.definedSymbols(), TypeRange(op.getBody().getArgumentTypes()).drop_front(), carried.getTypes());
  copy.getBody().walk([&](MeasureOp measure) {
    std::string name = measure.getSymbol().str() + "_again";
    while (!used.insert(name).second)
      name += "n";
    extents[measure.getSymbol()] = SymbolicInt::symbol(name);
    measure.setSymbol(name);
  });
  substituteSymbols(copy.getBody(), extents);
  return copy;
}

/// One iteration behind the other. Failure: their number is not known, they are together more than `mostOperators`, a
/// loop or branch remains in the body, or operators in it define symbols in another way than by graph.measure.
LogicalResult unrollLoop(LoopOp op, RewriterBase &rewriter) {
  std::optional<int64_t> count = op.countIsKnown() ? op.getCount().values()[0].constant() : std::nullopt;
  const auto operators = static_cast<int64_t>(op.getBody().front().getOperations().size());
  auto isNested = [](Operation *inner) {
    return isa<LoopOp, IfOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  auto definesOthers = [](SymbolInterface inner) {
    return isa<MeasureOp>(*inner) || inner.definedSymbols().empty() ? WalkResult::advance() : WalkResult::interrupt();
  };
  if (!count || *count < 1 || *count > mostOperators / operators || op.getBody().walk(isNested).wasInterrupted() ||
      op.getBody().walk(definesOthers).wasInterrupted())
    return failure();
  const Location loc = op.getLoc();
  std::set<std::string> used;
  collectSymbols(op->getParentOfType<func::FuncOp>().getBody(), used);
  for (StringAttr name : symbolsDefinedIn(op->getParentOfType<func::FuncOp>().getBody()))
    used.insert(name.str());
  SmallVector<Value> carried(op.getInitial());
  SmallVector<SmallVector<Value>> elements(op.scanResults().size());
  for (int64_t number = 0; number < *count; ++number) {
    rewriter.setInsertionPoint(op);
    GraphBuilder builder(rewriter, loc);
    LoopOp copy = copyForIteration(op, carried, rewriter, used);
    rewriter.setInsertionPoint(copy);
    SmallVector<Value> arguments{builder.dims(SymbolicInt(number), /*isScalar=*/true)};
    TypeRange wanted = TypeRange(copy.getBody().getArgumentTypes()).drop_front();
    requireSameExtents(rewriter, loc, ValueRange(carried).getTypes(), wanted, {}, "before an iteration");
    arguments.append(reshaped(rewriter, loc, carried, wanted));
    Block &body = copy.getBody().front();
    Operation *yield = body.getTerminator();
    rewriter.inlineBlockBefore(&body, copy, arguments);
    carried.assign(yield->operand_begin(), yield->operand_begin() + op.carriedCount());
    for (auto [all, element] : llvm::zip_equal(elements, yield->getOperands().drop_front(op.carriedCount()))) {
      Shape shape = shapeOf(all.empty() ? element : all.front());
      if (all.empty())
        shape.insert(shape.begin(), SymbolicInt(1));
      else
        requireSameExtents(rewriter, loc, element.getType(),
                           tensorType(ArrayRef(shape).drop_front(), tensorTypeOf(element).getElementType()), {},
                           "behind an iteration");
      all.push_back(builder.reshape(element, shape));
    }
    rewriter.eraseOp(yield);
    rewriter.eraseOp(copy);
  }
  rewriter.setInsertionPoint(op);
  GraphBuilder builder(rewriter, loc);
  SmallVector<Type> expected(TypeRange(op.getBody().getArgumentTypes()).drop_front());
  llvm::append_range(expected, op.scanResults().getTypes());
  for (const SmallVector<Value> &all : elements)
    carried.push_back(builder.concat(all, 0));
  TypeRange given = ValueRange(carried).getTypes();
  SmallVector<StringAttr> symbols = op.definedSymbols();
  auto extents = matchExtents(symbols, expected, given);
  measureAll(rewriter, loc, extents, symbols);
  requireSameExtents(rewriter, loc, given, expected, extents, "behind the last iteration");
  rewriter.replaceOp(op, reshaped(rewriter, loc, carried, op.getResultTypes()));
  return success();
}

/// Values that units choose.
bool isNumber(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return isa<FloatType>(type) || (integer && integer.isSignless());
}

/// Both branches, and a choice.
LogicalResult selectBranches(IfOp op, RewriterBase &rewriter) {
  int64_t operators = 0;
  auto isSmall = [&](Region *region) {
    for (Operation &inner : region->front().without_terminator())
      if (!isPure(&inner) || ++operators > mostInBranches)
        return false;
    return region->front().getTerminator()->getOperandTypes() == op.getResultTypes();
  };
  auto isChosen = [](Type type) { return isNumber(cast<RankedTensorType>(type).getElementType()); };
  if (!op.definedSymbols().empty() || !llvm::all_of(op.getRegions(), isSmall) ||
      !llvm::all_of(op.getResultTypes(), isChosen))
    return failure();
  SmallVector<SmallVector<Value>> values;
  for (Region *region : op.getRegions()) {
    Operation *yield = region->front().getTerminator();
    rewriter.inlineBlockBefore(&region->front(), op);
    values.emplace_back(yield->getOperands());
    rewriter.eraseOp(yield);
  }
  rewriter.setInsertionPoint(op);
  GraphBuilder b(rewriter, op.getLoc());
  Value condition = b.reshape(op.getCondition(), {});
  SmallVector<Value> chosen;
  for (auto [one, other] : llvm::zip_equal(values[0], values[1]))
    chosen.push_back(where(b, condition, one, other));
  rewriter.replaceOp(op, chosen);
  return success();
}

struct LoopNests : NestInterface::ExternalModel<LoopNests, LoopOp> {
  bool hasOperators(Operation *) const { return true; }
  LogicalResult makeNests(Operation *op, RewriterBase &rewriter) const {
    return unrollLoop(cast<LoopOp>(op), rewriter);
  }
};

struct BranchNests : NestInterface::ExternalModel<BranchNests, IfOp> {
  bool hasOperators(Operation *) const { return true; }
  LogicalResult makeNests(Operation *op, RewriterBase &rewriter) const {
    return selectBranches(cast<IfOp>(op), rewriter);
  }
};

} // namespace

void perpend::graph::attachControlFlowNests(MLIRContext *context) {
  LoopOp::attachInterface<LoopNests>(*context);
  IfOp::attachInterface<BranchNests>(*context);
}
