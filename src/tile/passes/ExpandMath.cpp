//===- ExpandMath.cpp - expands elementary functions to arithmetic --------===//
//
// Replaces the elementary functions of the math dialect by straight-line arithmetic, so that LLVM's loop vectoriser
// turns loops over them into vector code; a call of libm would stop it. Must come after everything that recognises the
// functions, and before the conversion to the LLVM dialect. Functions of floating point of 16 bits are computed in f32.
// f64 is left to libm, as is what LLVM has instructions for (floor, sqrt, ...).
//
// 1 + erf(x), 1 + tanh(x) and 1 + exp(x) are expanded as functions of their own: the digits of erf and tanh near 0, and
// of a small exp, do not matter in the sum.
//
//   %y = math.tanh %x : f32
// becomes some forty operations of arith (see MathFunctions.cpp).
//
//===----------------------------------------------------------------------===//

#include "tile/passes/MathFunctions.h"
#include "tile/passes/Passes.h"

#include "mlir/IR/Matchers.h"
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

/// f(x) in 1 + f(x), if f(x) has no other use.
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

/// Splits off a positive constant factor of moderate size, which can be absorbed into coefficients.
Scaled scaledBy(Value value) {
  Operation *op = value.getDefiningOp();
  APFloat constant(0.0);
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantFloat(&constant)))
    return {value};
  double number = FloatAttr::getValueAsDouble(constant), factor = isa<arith::MulFOp>(op) ? number : 1 / number;
  return 0.25 <= factor && factor <= 4 ? Scaled{op->getOperand(0), factor} : Scaled{value};
}

/// 1 + f(x), if that takes less work than f.
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
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && (element.getWidth() == 32 || element.getWidth() == 16);
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
  }

private:
  func::FuncOp scaling() {
    if (!target.scalesByPowers)
      return nullptr;
    Type f32 = Float32Type::get(&getContext());
    return numberFunction(getOperation(), perpend::target::scaleFunction, {f32, f32}, f32,
                          [&](ImplicitLocOpBuilder &builder, ValueRange x) {
                            MathEmitter emitter{builder, target.fusesMultiplyAdds, {}};
                            return emitScale({&emitter, x[0]}, {&emitter, x[1]}).value;
                          });
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
