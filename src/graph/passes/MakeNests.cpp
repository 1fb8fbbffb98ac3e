//===- MakeNests.cpp - maps and reductions in place of sequences ----------===//
//
// Units of an accelerator compute nests of loops around one value; a slow core does everything else. So what is not too
// large becomes maps, reductions and look-ups, even if that takes more operations:
//
//   loop of few iterations    one iteration behind the other
//   if of small branches      both branches, and a choice of their results
//   others                    what they say themselves (Nests.td)
//
//===----------------------------------------------------------------------===//

#include "graph/Nests.h"
#include "graph/composites/Formulas.h"
#include "graph/passes/Passes.h"
#include "graph/passes/SimplifyControlFlow.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHMAKENESTS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

namespace {

/// Operators of all iterations of a loop, and of both branches.
constexpr int64_t mostOperators = 256, mostInBranches = 8;

/// Values that units choose.
bool isNumber(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return isa<FloatType>(type) || (integer && integer.isSignless());
}

/// Both branches, and a choice.
LogicalResult selectBranches(IfOp op, IRRewriter &rewriter) {
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

struct MakeNests : perpend::graph::impl::GraphMakeNestsBase<MakeNests> {
  void runOnOperation() override {
    SmallVector<Operation *> operators; // those inside of another one before it
    getOperation()->walk([&](Operation *op) {
      if (isa<LoopOp, IfOp>(op))
        operators.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : operators)
      if (auto loop = dyn_cast<LoopOp>(op))
        (void)unrollLoop(loop, rewriter, mostOperators);
      else
        (void)selectBranches(cast<IfOp>(op), rewriter);
    SmallVector<NestInterface> sequences;
    getOperation()->walk([&](NestInterface op) {
      if (!op->getParentOfType<LoopOp>() && !op->getParentOfType<IfOp>()) // the slow core runs these
        sequences.push_back(op);
    });
    for (NestInterface op : sequences) {
      rewriter.setInsertionPoint(op);
      GraphBuilder builder(rewriter, op.getLoc());
      if (Value result = op.makeNests(builder))
        rewriter.replaceOp(op, result);
    }
  }
};

} // namespace
