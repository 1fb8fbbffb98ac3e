//===- ExpandFloats.cpp - computes bf16 in f32 ----------------------------===//
//
// Arithmetic on bf16 becomes arithmetic on f32. The conversions between the two types are integer arithmetic; where
// the machine has an instruction that rounds f32 to bf16, the conversion is a call of a function that contains it
// (Lanes.h). Products of bf16 by the machine's own instructions are calls of intrinsics, which stay as they are.
// Maxima and minima of f16 select NaN by themselves.
//
//   %z = arith.addf %x, %y : bf16
// becomes
//   an addition of f32, between conversions that shift and add integers.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "target/cpu/passes/Passes.h"
#include "tile/passes/MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace perpend::target {
#define GEN_PASS_DEF_CPUEXPANDFLOATS
#include "target/CpuPasses.h.inc"
} // namespace perpend::target

using namespace mlir;

static Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

static bool isBF16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

static bool isF16(Type type) { return getElementTypeOrSelf(type).isF16(); }

static bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

/// Whether an operation computes with bf16, as opposed to passing it on or converting it from and to f32.
static bool computesBF16(Operation *op) {
  bool isConversion = isa<arith::ExtFOp, arith::TruncFOp>(op) &&
                      (isF32(op->getOperand(0).getType()) || isF32(op->getResult(0).getType()));
  bool handsOn = isa<arith::SelectOp, arith::ConstantOp, arith::BitcastOp>(op);
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !isConversion && !handsOn &&
         (llvm::any_of(op->getOperandTypes(), isBF16) || llvm::any_of(op->getResultTypes(), isBF16));
}

/// Whether LLVM makes a maximum or minimum of f16 of it. Where the processor has none, LLVM's are 0 of 0 and NaN.
static bool isExtremumOfF16(Operation *op) {
  return isa<arith::MaximumFOp, arith::MinimumFOp>(op) && llvm::any_of(op->getOperands(), [](Value operand) {
           auto widened = operand.getDefiningOp<arith::ExtFOp>();
           return isF16(widened ? widened.getIn().getType() : operand.getType());
         });
}

/// A sum stands in place of the result where an operand is NaN.
static void selectNaN(Operation *op) {
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  Value a = op->getOperand(0), b = op->getOperand(1), result = op->getResult(0);
  Value isUnordered = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, a, b);
  Value sum = builder.create<arith::AddFOp>(loc, a, b);
  auto chosen = builder.create<arith::SelectOp>(loc, isUnordered, sum, result);
  result.replaceAllUsesExcept(chosen, chosen);
}

/// Replaces the operation by one in f32, with conversions around it.
static void computeInF32(Operation *op) {
  OpBuilder builder(op);
  Type f32 = builder.getF32Type();
  for (OpOperand &operand : op->getOpOperands())
    if (Type type = operand.get().getType(); isBF16(type))
      operand.set(builder.create<arith::ExtFOp>(op->getLoc(), withElement(type, f32), operand.get()));
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults())
    if (Type type = result.getType(); isBF16(type)) {
      result.setType(withElement(type, f32));
      auto rounded = builder.create<arith::TruncFOp>(op->getLoc(), type, result);
      result.replaceAllUsesExcept(rounded, rounded);
    }
}

namespace {
struct ExpandFloats : perpend::target::impl::CpuExpandFloatsBase<ExpandFloats> {
  using CpuExpandFloatsBase::CpuExpandFloatsBase;

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (computesBF16(op))
        computeInF32(op);
      else if (isExtremumOfF16(op))
        selectNaN(op);
    });
    SmallVector<arith::TruncFOp> roundings;
    getOperation().walk([&](arith::TruncFOp op) { roundings.push_back(op); });
    for (arith::TruncFOp op : roundings)
      if (StringRef function = roundingOf(op); !function.empty())
        callRounding(op, function);
    SmallVector<Operation *> conversions;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
          (isBF16(op->getOperand(0).getType()) || isBF16(op->getResult(0).getType())))
        conversions.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingAndNewOps;
    if (!conversions.empty() && failed(applyOpPatternsAndFold(conversions, std::move(patterns), config)))
      signalPassFailure();
  }

private:
  /// The function that rounds like this conversion; empty if there is none. The processors' conversions to bf16 flush
  /// subnormal numbers to 0.
  StringRef roundingOf(arith::TruncFOp op) {
    if (!op.getIn().getType().isF32())
      return "";
    if (op.getType().isF16() && target.hasFunction(perpend::target::roundToF16Function))
      return perpend::target::roundToF16Function;
    bool flushes = op->hasAttr(perpend::graph::flushesAttribute);
    return op.getType().isBF16() && flushes && target.hasFunction(perpend::target::roundToBF16Function)
               ? perpend::target::roundToBF16Function
               : "";
  }

  void callRounding(arith::TruncFOp op, StringRef name) {
    OpBuilder builder(op);
    auto bitsOf = [&](ImplicitLocOpBuilder &inner, ValueRange x) -> Value {
      return inner.create<arith::BitcastOp>(inner.getI16Type(), inner.create<arith::TruncFOp>(op.getType(), x[0]));
    };
    func::FuncOp function =
        perpend::tile::numberFunction(getOperation(), name, builder.getF32Type(), builder.getI16Type(), bitsOf);
    auto bits = builder.create<func::CallOp>(op.getLoc(), function, ValueRange(op.getIn()));
    op.replaceAllUsesWith(builder.create<arith::BitcastOp>(op.getLoc(), op.getType(), bits.getResult(0)).getResult());
    op.erase();
  }
};
} // namespace
