//===- ExpandIntegers.cpp - defines integer operations for all operands ---===//
//
// Processors trap on x / 0 and on INT_MIN / -1, and LLVM leaves shifts by the bit width or more undefined. The graph
// level and the interpreter define the results: x / 0 and x mod 0 give 0, INT_MIN / -1 wraps (remainder 0), and such
// shifts give 0. Runs on kernels before they go to LLVM. The compiler generates index arithmetic so that it needs no
// such care, and the pass leaves it unchanged. Rounding divisions are expanded first.
//
//   arith.divsi %a, %b  =>  select(%b == 0, 0, select(%b == -1, -%a, %a / safe))
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEEXPANDINTEGERS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using perpend::tile::safeAttribute;

static bool isExpandable(Operation *op) {
  return isa<IntegerType>(getElementTypeOrSelf(op->getResult(0).getType())) && !op->hasAttr(safeAttribute);
}

namespace {
/// Shorthands for the code of one rewrite, on scalars or vectors.
struct Code {
  PatternRewriter &rewriter;
  Location loc;
  Type type;

  Value constant(int64_t value) {
    TypedAttr number = rewriter.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      number = DenseElementsAttr::get(vector, Attribute(number));
    return rewriter.create<arith::ConstantOp>(loc, number);
  }
  Value equals(Value a, int64_t b) {
    return rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, constant(b));
  }
  Value select(Value condition, Value a, Value b) { return rewriter.create<arith::SelectOp>(loc, condition, a, b); }
};

template <typename Division, bool isSigned, bool isRemainder> struct SafeDivision : OpRewritePattern<Division> {
  using OpRewritePattern<Division>::OpRewritePattern;

  LogicalResult matchAndRewrite(Division op, PatternRewriter &rewriter) const override {
    APInt divisor;
    if (!isExpandable(op) ||
        (matchPattern(op.getRhs(), m_ConstantInt(&divisor)) && !divisor.isZero() && !(isSigned && divisor.isAllOnes())))
      return failure();
    Code code{rewriter, op.getLoc(), op.getType()};
    Value zero = code.constant(0), isZero = code.equals(op.getRhs(), 0), isUnsafe = isZero, isMinusOne;
    if (isSigned) {
      isMinusOne = code.equals(op.getRhs(), -1);
      isUnsafe = rewriter.create<arith::OrIOp>(op.getLoc(), isZero, isMinusOne);
    }
    Value safe = code.select(isUnsafe, code.constant(1), op.getRhs());
    auto division = rewriter.create<Division>(op.getLoc(), op.getLhs(), safe);
    division->setAttr(safeAttribute, rewriter.getUnitAttr());
    Value result = division;
    if (isRemainder) {
      result = code.select(isUnsafe, zero, result);
    } else {
      if (isSigned)
        result = code.select(isMinusOne, rewriter.create<arith::SubIOp>(op.getLoc(), zero, op.getLhs()), result);
      result = code.select(isZero, zero, result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

template <typename Shift> struct SafeShift : OpRewritePattern<Shift> {
  using OpRewritePattern<Shift>::OpRewritePattern;

  LogicalResult matchAndRewrite(Shift op, PatternRewriter &rewriter) const override {
    unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    APInt amount;
    if (!isExpandable(op) || (matchPattern(op.getRhs(), m_ConstantInt(&amount)) && amount.ult(width)))
      return failure();
    Code code{rewriter, op.getLoc(), op.getType()};
    Value isSmall =
        rewriter.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::ult, op.getRhs(), code.constant(width));
    Value zero = code.constant(0);
    auto shift = rewriter.create<Shift>(op.getLoc(), op.getLhs(), code.select(isSmall, op.getRhs(), zero));
    shift->setAttr(safeAttribute, rewriter.getUnitAttr());
    rewriter.replaceOp(op, code.select(isSmall, shift, zero));
    return success();
  }
};

struct ExpandIntegers : perpend::tile::impl::TileExpandIntegersBase<ExpandIntegers> {
  void runOnOperation() override {
    RewritePatternSet rounding(&getContext()), patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(rounding);
    patterns.add<SafeDivision<arith::DivSIOp, true, false>, SafeDivision<arith::DivUIOp, false, false>,
                 SafeDivision<arith::RemSIOp, true, true>, SafeDivision<arith::RemUIOp, false, true>,
                 SafeShift<arith::ShLIOp>, SafeShift<arith::ShRSIOp>, SafeShift<arith::ShRUIOp>>(&getContext());
    if (failed(expand<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(std::move(rounding))) ||
        failed(expand<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::ShLIOp, arith::ShRSIOp,
                      arith::ShRUIOp>(std::move(patterns))))
      signalPassFailure();
  }

  /// Visits only these operations, which are few.
  template <typename... Ops> LogicalResult expand(RewritePatternSet patterns) {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<Ops...>(op))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingAndNewOps;
    return ops.empty() ? success() : applyOpPatternsAndFold(ops, std::move(patterns), config);
  }
};
} // namespace
