//===- ExpandRounding.cpp - rounds to integers by an addition -------------===//
//
// Adding 3 * 2^22 to an f32 number of magnitude at most 2^22 rounds it to the nearest integer, half to even, and
// leaves that integer in the low bits. So neither a rounding nor a conversion instruction is needed. The number must
// be clamped before; moving the clamp before the rounding is equivalent if the bounds are integers. Zeros of different
// sign give the same integer.
//
//   round(%x) + zero, at least low, at most high, to an integer
//   =>  bits((%x, at least low - zero, at most high - zero) + 12582912.0) - (bits(12582912.0) - zero)
//
// If such an integer is then used as a number (a residual of quantised tensors), no conversion is needed: it is the
// sum minus 3 * 2^22.
//
//===----------------------------------------------------------------------===//

#include "tile/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEEXPANDROUNDING
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;

static constexpr double mostRounded = 1 << 22;
static constexpr float shift = 3 << 22;

/// The value of an f32 constant or splat if it is an integer.
static std::optional<double> integerOf(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)) || !number.isInteger())
    return std::nullopt;
  return number.convertToDouble();
}

namespace {
struct SaturatedRounding : OpRewritePattern<arith::FPToSIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::FPToSIOp op, PatternRewriter &rewriter) const override {
    auto atMost = op.getIn().getDefiningOp<arith::MinimumFOp>();
    auto atLeast = atMost ? atMost.getLhs().getDefiningOp<arith::SelectOp>() : nullptr;
    auto isMore = atLeast ? atLeast.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
    if (!isMore || isMore.getPredicate() != arith::CmpFPredicate::OLT || isMore.getLhs() != atLeast.getFalseValue() ||
        isMore.getRhs() != atLeast.getTrueValue())
      return failure();
    Value shifted = isMore.getRhs();
    std::optional<double> zero = 0;
    if (auto sum = shifted.getDefiningOp<arith::AddFOp>()) {
      zero = integerOf(sum.getRhs());
      shifted = sum.getLhs();
    }
    auto rounding = shifted.getDefiningOp<math::RoundEvenOp>();
    std::optional<double> low = integerOf(isMore.getLhs()), high = integerOf(atMost.getRhs());
    Type type = op.getIn().getType(), integers = op.getType();
    auto fits = [](double number) { return std::abs(number) <= mostRounded; };
    if (!rounding || !zero || !low || !high || !fits(*low) || !fits(*high) || !fits(*low - *zero) ||
        !fits(*high - *zero) || !getElementTypeOrSelf(type).isF32() || !getElementTypeOrSelf(integers).isInteger(32))
      return failure();

    Location loc = op.getLoc();
    auto real = [&](double number) { return constant(rewriter, loc, type, rewriter.getF32FloatAttr(number)); };
    Value number = rounding.getOperand(), least = real(*low - *zero);
    Value isInside = rewriter.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, least, number);
    number = rewriter.create<arith::SelectOp>(loc, isInside, number, least);
    number = rewriter.create<arith::MinimumFOp>(loc, number, real(*high - *zero), atMost.getFastmath());
    number = rewriter.create<arith::AddFOp>(loc, number, real(shift));
    Value bits = rewriter.create<arith::BitcastOp>(loc, integers, number);
    auto surplus = static_cast<int32_t>(llvm::bit_cast<int32_t>(shift) - static_cast<int64_t>(*zero));
    rewriter.replaceOpWithNewOp<arith::SubIOp>(op, bits,
                                               constant(rewriter, loc, integers, rewriter.getI32IntegerAttr(surplus)));
    return success();
  }

  static Value constant(PatternRewriter &rewriter, Location loc, Type type, TypedAttr number) {
    if (auto vector = dyn_cast<VectorType>(type))
      number = DenseElementsAttr::get(vector, Attribute(number));
    return rewriter.create<arith::ConstantOp>(loc, number);
  }
};

/// The result of SaturatedRounding with few significant bits: round(x) + zero, clamped to [low, high].
struct RoundedByAddition {
  arith::AddFOp sum;
  double zero = 0, low = 0, high = 0;

  static std::optional<RoundedByAddition> of(Value integer) {
    auto difference = integer.getDefiningOp<arith::SubIOp>();
    auto bits = difference ? difference.getLhs().getDefiningOp<arith::BitcastOp>() : nullptr;
    auto sum = bits ? bits.getIn().getDefiningOp<arith::AddFOp>() : nullptr;
    auto atMost = sum ? sum.getLhs().getDefiningOp<arith::MinimumFOp>() : nullptr;
    auto atLeast = atMost ? atMost.getLhs().getDefiningOp<arith::SelectOp>() : nullptr;
    APInt surplus;
    if (!atLeast || integerOf(sum.getRhs()) != shift || !matchPattern(difference.getRhs(), m_ConstantInt(&surplus)))
      return std::nullopt;
    std::optional<double> low = integerOf(atLeast.getFalseValue()), high = integerOf(atMost.getRhs());
    if (!low || !high)
      return std::nullopt;
    auto zero = static_cast<double>(int64_t(llvm::bit_cast<int32_t>(shift)) - surplus.getSExtValue());
    return RoundedByAddition{sum, zero, *low + zero, *high + zero};
  }
};

struct RoundedNumber : OpRewritePattern<arith::UIToFPOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::UIToFPOp op, PatternRewriter &rewriter) const override {
    auto narrow = op.getIn().getDefiningOp<arith::TruncIOp>();
    std::optional<RoundedByAddition> rounded = narrow ? RoundedByAddition::of(narrow.getIn()) : std::nullopt;
    Type type = op.getType();
    if (!rounded || rounded->sum.getType() != type || rounded->low < 0 ||
        rounded->high >= std::ldexp(1, getElementTypeOrSelf(narrow.getType()).getIntOrFloatBitWidth()))
      return failure();
    auto real = [&](double number) {
      return SaturatedRounding::constant(rewriter, op.getLoc(), type, rewriter.getF32FloatAttr(number));
    };
    Value number = rewriter.create<arith::SubFOp>(op.getLoc(), rounded->sum, real(shift));
    if (rounded->zero != 0)
      number = rewriter.create<arith::AddFOp>(op.getLoc(), number, real(rounded->zero));
    rewriter.replaceOp(op, number);
    return success();
  }
};

/// Subtracting the zero point that was added: exact for integers.
struct ZeroTakenAgain : OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SubFOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getLhs().getDefiningOp<arith::AddFOp>();
    auto number = sum ? sum.getLhs().getDefiningOp<arith::SubFOp>() : nullptr;
    std::optional<double> zero = sum ? integerOf(sum.getRhs()) : std::nullopt;
    bool isRounded = number && integerOf(number.getRhs()) == shift && number.getLhs().getDefiningOp<arith::AddFOp>();
    if (!isRounded || !zero || std::abs(*zero) > mostRounded || integerOf(op.getRhs()) != zero ||
        integerOf(number.getLhs().getDefiningOp<arith::AddFOp>().getRhs()) != shift)
      return failure();
    rewriter.replaceOp(op, number.getResult());
    return success();
  }
};

struct ExpandRounding : perpend::tile::impl::TileExpandRoundingBase<ExpandRounding> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SaturatedRounding, RoundedNumber, ZeroTakenAgain>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
