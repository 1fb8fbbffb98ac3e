//===- ExpandMath.cpp - expands elementary functions to arithmetic --------===//
//
// Replaces the elementary functions of the math dialect by straight-line arithmetic, so that LLVM's loop vectoriser
// turns loops over them into vector code; a call of libm would stop it. Must come after everything that recognises the
// functions, and before the conversion to the LLVM dialect. Functions of floating point of 16 bits are computed in f32.
// What LLVM has instructions for (floor, sqrt, ...) is left to it. Multiply-adds are two operations where the target
// does not fuse them; powers of f64 are libm's there.
//
// sin, cos and tan of numbers whose quarter turns f64 cannot count are libm's, too, and so are remainders of quotients
// whose integer part f64 cannot hold: after a test that loops run as vectors.
//
// 1 + erf(x), 1 + tanh(x) and 1 + exp(x) are expanded as functions of their own: the digits of erf and tanh near 0, and
// of a small exp, do not matter in the sum.
//
//   %y = math.tanh %x : f32
// becomes some forty operations of arith (see MathFunctions.cpp).
//
//===----------------------------------------------------------------------===//

#include "tile/passes/DoubleFunctions.h"
#include "tile/passes/FarFunctions.h"
#include "tile/passes/MathFunctions.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

/// Of f32 and of f64; null: libm's.
struct UnaryFunctions {
  UnaryFunction single, wide;
};

UnaryFunctions unaryFunctionsOf(Operation *op) {
  return TypeSwitch<Operation *, UnaryFunctions>(op)
      .Case([](math::ExpOp) { return UnaryFunctions{emitExp, doubles::emitExp}; })
      .Case([](math::Exp2Op) { return UnaryFunctions{emitExp2, doubles::emitExp2}; })
      .Case([](math::ExpM1Op) { return UnaryFunctions{emitExpM1, doubles::emitExpM1}; })
      .Case([](math::LogOp) { return UnaryFunctions{emitLog, doubles::emitLog}; })
      .Case([](math::Log2Op) { return UnaryFunctions{emitLog2, doubles::emitLog2}; })
      .Case([](math::Log10Op) { return UnaryFunctions{emitLog10, doubles::emitLog10}; })
      .Case([](math::Log1pOp) { return UnaryFunctions{emitLog1p, doubles::emitLog1p}; })
      .Case([](math::TanhOp) { return UnaryFunctions{emitTanh, doubles::emitTanh}; })
      .Case([](math::ErfOp) { return UnaryFunctions{emitErf, doubles::emitErf}; })
      .Case([](math::SinhOp) { return UnaryFunctions{emitSinh, doubles::emitSinh}; })
      .Case([](math::CoshOp) { return UnaryFunctions{emitCosh, doubles::emitCosh}; })
      .Case([](math::AsinOp) { return UnaryFunctions{emitAsin, doubles::emitAsin}; })
      .Case([](math::AcosOp) { return UnaryFunctions{emitAcos, doubles::emitAcos}; })
      .Case([](math::AtanOp) { return UnaryFunctions{emitAtan, doubles::emitAtan}; })
      .Case([](math::AsinhOp) { return UnaryFunctions{emitAsinh, doubles::emitAsinh}; })
      .Case([](math::AcoshOp) { return UnaryFunctions{emitAcosh, doubles::emitAcosh}; })
      .Case([](math::AtanhOp) { return UnaryFunctions{emitAtanh, doubles::emitAtanh}; })
      .Case([](math::RsqrtOp) { return UnaryFunctions{emitRsqrt, emitRsqrt}; })
      .Default([](Operation *) { return UnaryFunctions{nullptr, nullptr}; });
}

/// An operation on numbers, for each of a vector.
Value ofEach(ImplicitLocOpBuilder &builder, ValueRange operands, llvm::function_ref<Value(ValueRange)> emit) {
  auto type = dyn_cast<VectorType>(operands[0].getType());
  if (!type)
    return emit(operands);
  Value result = operands.back();
  for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
    SmallVector<Value> numbers;
    for (Value operand : operands)
      numbers.push_back(builder.create<vector::ExtractOp>(operand, lane));
    result = builder.create<vector::InsertOp>(emit(numbers), result, lane);
  }
  return result;
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

/// The type that functions of this one are computed in; null: they are not expanded.
FloatType computedIn(Type type) {
  if (isa<ShapedType>(type) && !isa<VectorType>(type))
    return {};
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  bool isNarrow = element && (element.getWidth() == 32 || element.getWidth() == 16);
  return isNarrow ? FloatType::getF32(type.getContext()) : element && element.isF64() ? element : FloatType();
}

class ExpandMath : public perpend::tile::impl::TileExpandMathBase<ExpandMath> {
public:
  using TileExpandMathBase::TileExpandMathBase;

  void runOnOperation() override {
    getOperation()->walk([&](arith::AddFOp sum) {
      Operation *op = addedToOne(sum);
      FloatType computed = computedIn(sum.getType());
      if (!op || !computed || !computed.isF32() || isKept(op))
        return;
      if (OnePlusFunction function = onePlusFunctionOf(op); function.emit) {
        expand(sum, function.argument, [&](ArrayRef<Real> x) { return function.emit(x[0]); });
        op->erase();
      }
    });
    SmallVector<Operation *> functions; // without those of far numbers, which are libm's
    getOperation()->walk([&](Operation *op) {
      bool isFunction = isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op);
      if (isFunction && computedIn(op->getResult(0).getType()) && !isKept(op))
        functions.push_back(op);
    });
    for (Operation *op : functions)
      expandFunction(op);
  }

private:
  bool isKept(Operation *op) { return llvm::is_contained(kept, op->getName().getStringRef()); }

  void expandFunction(Operation *op) {
    const bool isWide = computedIn(op->getResult(0).getType()).isF64();
    UnaryFunctions functions = unaryFunctionsOf(op);
    if (UnaryFunction function = isWide ? functions.wide : functions.single)
      expand(op, op->getOperands(), [&](ArrayRef<Real> x) { return function(x[0]); });
    else if (isa<math::SinOp>(op))
      expandPeriodic<math::SinOp>(op, isWide ? farSineFunctionDouble : farSineFunction,
                                  isWide ? doubles::emitSin : emitSin, isWide ? nullptr : emitSinClose);
    else if (isa<math::CosOp>(op))
      expandPeriodic<math::CosOp>(op, isWide ? farCosineFunctionDouble : farCosineFunction,
                                  isWide ? doubles::emitCos : emitCos, isWide ? nullptr : emitCosClose);
    else if (isa<math::TanOp>(op))
      expandPeriodic<math::TanOp>(op, isWide ? farTangentFunctionDouble : farTangentFunction,
                                  isWide ? doubles::emitTan : emitTan);
    else if (auto remainder = dyn_cast<arith::RemFOp>(op))
      expandRemainder(remainder);
    else if (isa<math::FmaOp>(op) && !target.fusesMultiplyAdds)
      expand(op, op->getOperands(), [](ArrayRef<Real> x) { return x[0] * x[1] + x[2]; });
    else if (isa<math::PowFOp>(op) && (!isWide || fusesDoubles())) // else libm's
      expand(op, op->getOperands(),
             [=](ArrayRef<Real> x) { return isWide ? doubles::emitPow(x[0], x[1]) : emitPow(x[0], x[1]); });
    else if (isa<math::Atan2Op>(op))
      expand(op, op->getOperands(),
             [=](ArrayRef<Real> x) { return isWide ? doubles::emitAtan2(x[0], x[1]) : emitAtan2(x[0], x[1]); });
  }

  bool fusesDoubles() const { return target.fusesMultiplyAdds && target.hasF64; }

  /// Of numbers, or of vectors that registers hold.
  func::FuncOp scaling(Type type) {
    if (!target.hasFunction(perpend::target::scaleFunction))
      return nullptr;
    std::string name = perpend::target::scaleFunction.str();
    if (auto vector = dyn_cast<VectorType>(type)) {
      const int64_t lanes = vector.getNumElements();
      if (lanes < 4 || lanes > target.vectorLanes(/*elementBytes=*/4) || !llvm::isPowerOf2_64(lanes))
        return nullptr;
      name += "." + std::to_string(lanes);
    }
    return numberFunction(getOperation(), name, {type, type}, type, [&](ImplicitLocOpBuilder &builder, ValueRange x) {
      MathEmitter emitter{builder, target.fusesMultiplyAdds, {}};
      return emitScale({&emitter, x[0]}, {&emitter, x[1]}).value;
    });
  }

  /// A function of a far function's operands; the test for what is far.
  struct Far {
    StringRef name;
    llvm::function_ref<Condition(ArrayRef<Real>)> isFar;
    llvm::function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> compute;
  };

  /// What `near` does not hold for, by another function. In loops, one of vectors takes the place of the function of
  /// numbers (target/cpu/Lanes.h); vectors ask the same of all their numbers first.
  Real withFar(const Far &function, ArrayRef<Real> x, Real near) {
    ImplicitLocOpBuilder &builder = near.emitter->builder;
    auto choose = [&](ValueRange operands) -> Value {
      return builder.create<func::CallOp>(farFunction(function, operands), operands).getResult(0);
    };
    SmallVector<Value> operands;
    for (const Real &each : x)
      operands.push_back(each.value);
    operands.push_back(near.value);
    auto type = dyn_cast<VectorType>(near.type());
    if (!type)
      return {near.emitter, choose(operands)};
    Value isAny = builder.create<vector::ReductionOp>(vector::CombiningKind::OR, function.isFar(x).value);
    auto choice = builder.create<scf::IfOp>(near.type(), isAny, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(choice.thenBlock());
    builder.create<scf::YieldOp>(ofEach(builder, operands, choose));
    builder.setInsertionPointToStart(choice.elseBlock());
    builder.create<scf::YieldOp>(near.value);
    builder.setInsertionPointAfter(choice);
    return {near.emitter, choice.getResult(0)};
  }

  /// (operands, near) -> near, or the function of the operands where they are far.
  func::FuncOp farFunction(const Far &function, ValueRange operands) {
    SmallVector<Type> types(operands.getTypes());
    Type type = types.back();
    auto body = [&](ImplicitLocOpBuilder &builder, ValueRange arguments) -> Value {
      MathEmitter emitter{builder, target.fusesMultiplyAdds, {}};
      SmallVector<Real> x;
      for (Value argument : arguments.drop_back())
        x.push_back({&emitter, argument});
      auto choice = builder.create<scf::IfOp>(type, function.isFar(x).value, /*withElseRegion=*/true);
      builder.setInsertionPointToStart(choice.thenBlock());
      builder.create<scf::YieldOp>(function.compute(builder, arguments.drop_back()));
      builder.setInsertionPointToStart(choice.elseBlock());
      builder.create<scf::YieldOp>(arguments.back());
      builder.setInsertionPointAfter(choice);
      return choice.getResult(0);
    };
    return numberFunction(getOperation(), function.name, types, type, body);
  }

  /// A periodic function of few and of many turns: of many, in f64. `close`, if not null, is faster for few in vectors.
  template <typename Op>
  void expandPeriodic(Operation *op, StringRef name, UnaryFunction near, UnaryFunction close = nullptr) {
    auto isFarNumber = [](ArrayRef<Real> x) { return isFar(x[0]); };
    auto compute = [](ImplicitLocOpBuilder &builder, ValueRange x) -> Value {
      Type type = x[0].getType();
      if (type.isF64())
        return builder.create<Op>(x[0]);
      Value wide = builder.create<arith::ExtFOp>(builder.getF64Type(), x[0]);
      return builder.create<arith::TruncFOp>(type, builder.create<Op>(wide));
    };
    auto general = [&](Real x) { return withFar({name, isFarNumber, compute}, x, near(x)); };
    expand(op, op->getOperands(), [&](ArrayRef<Real> x) {
      const bool hasClose = close && target.fusesMultiplyAdds;
      return hasClose ? unlessUnusual(isNotClose(x[0]), x[0], close, general) : general(x[0]);
    });
  }

  void expandRemainder(arith::RemFOp op) {
    const bool isWide = computedIn(op.getType()).isF64();
    if (isWide && !fusesDoubles())
      return; // libm's
    auto isFarQuotient = [](ArrayRef<Real> x) { return isLargeQuotient(x[0], x[1]); };
    auto compute = [](ImplicitLocOpBuilder &builder, ValueRange x) -> Value {
      return builder.create<arith::RemFOp>(x[0], x[1]);
    };
    StringRef name = isWide ? remainderFunctionDouble : remainderFunction;
    expand(op, op->getOperands(),
           [&](ArrayRef<Real> x) { return withFar({name, isFarQuotient, compute}, x, emitRemainder(x[0], x[1])); });
  }

  void expand(Operation *op, ValueRange operands, llvm::function_ref<Real(ArrayRef<Real>)> function) {
    auto scalingOf = [&](Type type) { return scaling(type); };
    MathEmitter emitter{ImplicitLocOpBuilder(op->getLoc(), op), target.fusesMultiplyAdds, scalingOf, target.hasF64,
                        llvm::is_contained(kept, math::LogOp::getOperationName())};
    Type type = op->getResult(0).getType();
    Type computed = MathEmitter::like(type, computedIn(type));
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
