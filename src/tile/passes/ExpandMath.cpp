//===- ExpandMath.cpp - elementary functions as arithmetic -------------------===//
//
// Replaces the elementary functions of the math dialect by straight-line arithmetic, so that LLVM's loop vectoriser
// turns loops over them into vector code; a call of libm would stop it. Must come after everything that recognises the
// functions, and before the conversion to the LLVM dialect. f16 and bf16 are computed in f32; conversions of bf16
// become integer arithmetic. f64 is left to libm, as is what LLVM has instructions for (floor, sqrt, ...).
//
// 1 + erf(x), 1 + tanh(x) and 1 + exp(x) are functions of their own: no digit of erf and tanh near 0 is left in them,
// and none of a small exp.
//
//   %y = math.tanh %x : f32
// becomes some forty operations of arith: see MathFunctions.cpp.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "tile/passes/MathFunctions.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEEXPANDMATH
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend::tile;

namespace {

using UnaryFunction = Real (*)(Real);

UnaryFunction unaryFunctionOf(Operation *op) {
  return TypeSwitch<Operation *, UnaryFunction>(op)
      .Case([](math::ExpOp) { return emitExp; })
      .Case([](math::Exp2Op) { return emitExp2; })
      .Case([](math::ExpM1Op) { return emitExpM1; })
      .Case([](math::LogOp) { return emitLog; })
      .Case([](math::Log2Op) { return emitLog2; })
      .Case([](math::Log10Op) { return emitLog10; })
      .Case([](math::Log1pOp) { return emitLog1p; })
      .Case([](math::TanhOp) { return emitTanh; })
      .Case([](math::ErfOp) { return emitErf; })
      .Case([](math::SinOp) { return emitSin; })
      .Case([](math::CosOp) { return emitCos; })
      .Case([](math::AtanOp) { return emitAtan; })
      .Case([](math::RsqrtOp) { return emitRsqrt; })
      .Default([](Operation *) { return nullptr; });
}

/// f(x) in 1 + f(x), if nothing else uses it, and not more often.
Operation *addedToOne(arith::AddFOp sum) {
  bool isLeftOne = matchPattern(sum.getLhs(), m_OneFloat());
  Value other = isLeftOne ? sum.getRhs() : sum.getLhs();
  if (!(isLeftOne || matchPattern(sum.getRhs(), m_OneFloat())) || !other.hasOneUse())
    return nullptr;
  Operation *op = other.getDefiningOp();
  return op && op->getBlock() == sum->getBlock() ? op : nullptr;
}

struct Scaled {
  Value value;
  double factor = 1;
};

/// `value` as another one times a constant that is positive and moderate: the factor can go into coefficients.
Scaled scaledBy(Value value) {
  Operation *op = value.getDefiningOp();
  APFloat constant(0.0);
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantFloat(&constant)))
    return {value};
  double number = FloatAttr::getValueAsDouble(constant), factor = isa<arith::MulFOp>(op) ? number : 1 / number;
  return 0.25 <= factor && factor <= 4 ? Scaled{op->getOperand(0), factor} : Scaled{value};
}

/// 1 + f(x), where that is less work than f.
struct OnePlusFunction {
  Value argument;
  std::function<Real(Real)> emit; // null for other functions
};

OnePlusFunction onePlusFunctionOf(Operation *op) {
  auto ofScaled = [&](Real (*function)(Real, double)) -> OnePlusFunction {
    Scaled x = scaledBy(op->getOperand(0));
    return {x.value, [=](Real real) { return function(real, x.factor); }};
  };
  return TypeSwitch<Operation *, OnePlusFunction>(op)
      .Case([&](math::ErfOp) { return ofScaled(emitOnePlusErf); })
      .Case([&](math::TanhOp) { return ofScaled(emitOnePlusTanh); })
      .Case([](math::ExpOp exp) { return OnePlusFunction{exp.getOperand(), emitOnePlusExp}; })
      .Default([](Operation *) { return OnePlusFunction(); });
}

bool isExpandable(Type type) {
  if (isa<ShapedType>(type) && !isa<VectorType>(type))
    return false;
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isF16() || element.isBF16();
}

Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

bool isBF16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

/// Whether an operation computes with bf16: those that hand it on and conversions from and to f32 do not.
bool computesBF16(Operation *op) {
  bool isConversion = isa<arith::ExtFOp, arith::TruncFOp>(op) &&
                      (isF32(op->getOperand(0).getType()) || isF32(op->getResult(0).getType()));
  bool handsOn = isa<arith::SelectOp, arith::ConstantOp, arith::BitcastOp>(op);
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !isConversion && !handsOn &&
         (llvm::any_of(op->getOperandTypes(), isBF16) || llvm::any_of(op->getResultTypes(), isBF16));
}

/// The operation with f32 in place of bf16, and conversions around it.
void computeInF32(Operation *op) {
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

class ExpandMath : public perpend::tile::impl::TileExpandMathBase<ExpandMath> {
public:
  using TileExpandMathBase::TileExpandMathBase;

  void runOnOperation() override {
    getOperation()->walk([&](arith::AddFOp sum) {
      Operation *op = addedToOne(sum);
      if (!op || !isExpandable(sum.getType()))
        return;
      if (OnePlusFunction function = onePlusFunctionOf(op); function.emit) {
        expand(sum, function.argument, [&](ArrayRef<Real> x) { return function.emit(x[0]); });
        op->erase();
      }
    });
    getOperation()->walk([&](Operation *op) {
      if (!isa<math::MathDialect>(op->getDialect()) || !isExpandable(op->getResult(0).getType()))
        return;
      if (UnaryFunction function = unaryFunctionOf(op))
        expand(op, op->getOperands(), [&](ArrayRef<Real> x) { return function(x[0]); });
      else if (isa<math::PowFOp>(op))
        expand(op, op->getOperands(), [](ArrayRef<Real> x) { return emitPow(x[0], x[1]); });
    });
    getOperation()->walk([](Operation *op) {
      if (computesBF16(op))
        computeInF32(op);
    });
    SmallVector<arith::TruncFOp> roundings;
    getOperation()->walk([&](arith::TruncFOp op) { roundings.push_back(op); });
    for (arith::TruncFOp op : roundings)
      if (StringRef function = roundingOf(op); !function.empty())
        callRounding(op, function);
    // Processors convert to bf16 with subnormal numbers as 0.
    SmallVector<Operation *> conversions;
    getOperation()->walk([&](Operation *op) {
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
  /// A function of numbers, with what it means; the target computes it in its own way.
  func::FuncOp define(StringRef name, TypeRange operands, Type result,
                      llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> emit) {
    ModuleOp module = getOperation();
    if (auto known = module.lookupSymbol<func::FuncOp>(name))
      return known;
    ImplicitLocOpBuilder builder(module.getLoc(), OpBuilder::atBlockEnd(module.getBody()));
    auto function = builder.create<func::FuncOp>(name, builder.getFunctionType(operands, result));
    function.setPrivate();
    builder.setInsertionPointToStart(function.addEntryBlock());
    builder.create<func::ReturnOp>(emit(builder, function.getArguments()));
    return function;
  }

  func::FuncOp scaling() {
    if (!target.scalesByPowers)
      return nullptr;
    Type f32 = Float32Type::get(&getContext());
    return define(perpend::target::scaleFunction, {f32, f32}, f32, [&](ImplicitLocOpBuilder &builder, ValueRange x) {
      MathEmitter emitter{builder, target.fusesMultiplyAdds, {}};
      return emitScale({&emitter, x[0]}, {&emitter, x[1]}).value;
    });
  }

  /// The function that rounds as the conversion does; empty: there is none.
  StringRef roundingOf(arith::TruncFOp op) {
    if (!op.getIn().getType().isF32())
      return "";
    if (op.getType().isF16() && target.roundsToF16)
      return perpend::target::roundToF16Function;
    bool flushes = op->hasAttr(perpend::graph::flushesAttribute);
    return op.getType().isBF16() && flushes && target.roundsToBF16 ? perpend::target::roundToBF16Function : "";
  }

  void callRounding(arith::TruncFOp op, StringRef name) {
    OpBuilder builder(op);
    auto bitsOf = [&](ImplicitLocOpBuilder &inner, ValueRange x) -> Value {
      return inner.create<arith::BitcastOp>(inner.getI16Type(), inner.create<arith::TruncFOp>(op.getType(), x[0]));
    };
    func::FuncOp function = define(name, builder.getF32Type(), builder.getI16Type(), bitsOf);
    auto bits = builder.create<func::CallOp>(op.getLoc(), function, ValueRange(op.getIn()));
    op.replaceAllUsesWith(builder.create<arith::BitcastOp>(op.getLoc(), op.getType(), bits.getResult(0)).getResult());
    op.erase();
  }

  void expand(Operation *op, ValueRange operands, llvm::function_ref<Real(ArrayRef<Real>)> function) {
    auto scalingOf = [&] { return scaling(); };
    MathEmitter emitter{ImplicitLocOpBuilder(op->getLoc(), op), target.fusesMultiplyAdds, scalingOf};
    Type type = op->getResult(0).getType();
    Type computed = MathEmitter::like(type, emitter.builder.getF32Type());
    SmallVector<Real> reals;
    for (Value value : operands)
      reals.push_back(
          {&emitter, type == computed ? value : emitter.builder.create<arith::ExtFOp>(computed, value).getResult()});
    Value result = function(reals).value;
    if (type != computed)
      result = emitter.builder.create<arith::TruncFOp>(type, result);
    op->replaceAllUsesWith(ValueRange(result));
    op->erase();
  }
};

} // namespace
