//===- ExpandFloats.cpp - computes bf16 in f32 ----------------------------===//
//
// Arithmetic on bf16 becomes arithmetic on f32, and so does that on f16 for a machine whose code has no values of f16.
// The conversions between the two types are integer arithmetic; where the machine has an instruction that rounds f32 to
// bf16, the conversion is a call of a function that contains it (Lanes.h). Products of bf16 by the machine's own
// instructions are calls of intrinsics, which stay as they are. Maxima and minima of f16 select NaN by themselves.
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
#include "mlir/IR/Matchers.h"
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

/// Whether an operation computes with such numbers, as opposed to passing them on or converting them from and to f32.
static bool computesWith(llvm::function_ref<bool(Type)> isNarrow, Operation *op) {
  bool isConversion = isa<arith::ExtFOp, arith::TruncFOp>(op) &&
                      (isF32(op->getOperand(0).getType()) || isF32(op->getResult(0).getType()));
  bool handsOn = isa<arith::SelectOp, arith::ConstantOp, arith::BitcastOp>(op);
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !isConversion && !handsOn &&
         (llvm::any_of(op->getOperandTypes(), isNarrow) || llvm::any_of(op->getResultTypes(), isNarrow));
}

/// Whether LLVM makes a maximum or minimum of f16 of it: one of f16, extended f16 and constants. Where the processor
/// has none, LLVM's are 0 of 0 and NaN. A running maximum of f32 stays one, which loops compute in vectors.
static bool isExtremumOfF16(Operation *op) {
  auto isOfF16 = [](Value operand) {
    auto widened = operand.getDefiningOp<arith::ExtFOp>();
    return isF16(widened ? widened.getIn().getType() : operand.getType());
  };
  return isa<arith::MaximumFOp, arith::MinimumFOp>(op) && llvm::any_of(op->getOperands(), isOfF16) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOfF16(operand) || matchPattern(operand, m_Constant()); });
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
static void computeInF32(Operation *op, llvm::function_ref<bool(Type)> isNarrow) {
  OpBuilder builder(op);
  Type f32 = builder.getF32Type();
  for (OpOperand &operand : op->getOpOperands())
    if (Type type = operand.get().getType(); isNarrow(type))
      operand.set(builder.create<arith::ExtFOp>(op->getLoc(), withElement(type, f32), operand.get()));
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults())
    if (Type type = result.getType(); isNarrow(type)) {
      result.setType(withElement(type, f32));
      auto rounded = builder.create<arith::TruncFOp>(op->getLoc(), type, result);
      result.replaceAllUsesExcept(rounded, rounded);
    }
}

//===----------------------------------------------------------------------===//
// Conversions of f16 by integer arithmetic, lane by lane: runtime/builtins/HalfConversions.cpp says what each case is
//===----------------------------------------------------------------------===//

namespace {
/// Emits arithmetic on 32-bit integers and f32, of vectors where the conversion is one.
class HalfEmitter {
public:
  explicit HalfEmitter(Operation *conversion)
      : b(conversion->getLoc(), OpBuilder(conversion)), type(conversion->getResult(0).getType()) {}

  Value widened(Value half) {
    Value bits = b.create<arith::ExtUIOp>(of(b.getI32Type()), inBits(half, b.getI16Type()));
    Value magnitude = b.create<arith::AndIOp>(bits, integer(0x7fff));
    Value sign = b.create<arith::ShLIOp>(b.create<arith::AndIOp>(bits, integer(0x8000)), integer(16));
    Value moved = b.create<arith::ShLIOp>(magnitude, integer(13)); // 2^-112 times the number, subnormal ones too
    Value finite = inBits(b.create<arith::MulFOp>(inBits(moved, b.getF32Type()), number(0x1p112f)), b.getI32Type());
    Value quiet = choose(above(magnitude, 0x7c00), integer(0x00400000), integer(0));
    Value other = b.create<arith::OrIOp>(b.create<arith::OrIOp>(moved, integer(0x7f800000)), quiet);
    Value result = choose(above(magnitude, 0x7bff), other, finite);
    return inBits(b.create<arith::OrIOp>(result, sign), b.getF32Type());
  }

  Value narrowed(Value single) {
    Value bits = inBits(single, b.getI32Type());
    Value magnitude = b.create<arith::AndIOp>(bits, integer(0x7fffffff));
    Value sign = shifted(b.create<arith::SubIOp>(bits, magnitude), 16);
    Value isOdd = b.create<arith::AndIOp>(shifted(magnitude, 13), integer(1));
    Value bias = integer(0xfff - (112 << 23));
    Value normal = shifted(b.create<arith::AddIOp>(b.create<arith::AddIOp>(magnitude, bias), isOdd), 13);
    Value sum =
        b.create<arith::AddFOp>(inBits(magnitude, b.getF32Type()), number(0.5f)); // rounds to multiples of 2^-24
    Value small = b.create<arith::SubIOp>(inBits(sum, b.getI32Type()), integer(0x3f000000));
    Value payload = b.create<arith::AndIOp>(shifted(magnitude, 13), integer(0x3ff));
    Value result = choose(above(magnitude, 0x387fffff), normal, small);
    result = choose(above(magnitude, 0x477fffff), integer(0x7c00), result);
    result = choose(above(magnitude, 0x7f800000), b.create<arith::OrIOp>(payload, integer(0x7e00)), result);
    Value narrow = b.create<arith::TruncIOp>(of(b.getI16Type()), b.create<arith::OrIOp>(result, sign));
    return b.create<arith::BitcastOp>(type, narrow);
  }

private:
  Type of(Type element) { return withElement(type, element); }
  Value inBits(Value value, Type element) { return b.create<arith::BitcastOp>(of(element), value); }
  Value constant(TypedAttr attribute) {
    auto shaped = dyn_cast<ShapedType>(of(attribute.getType()));
    return b.create<arith::ConstantOp>(shaped ? TypedAttr(DenseElementsAttr::get(shaped, Attribute(attribute)))
                                              : attribute);
  }
  Value integer(int32_t value) { return constant(b.getI32IntegerAttr(value)); }
  Value number(float value) { return constant(b.getF32FloatAttr(value)); }
  Value shifted(Value value, int32_t count) { return b.create<arith::ShRUIOp>(value, integer(count)); }
  Value above(Value value, int32_t limit) {
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ugt, value, integer(limit));
  }
  Value choose(Value condition, Value yes, Value no) { return b.create<arith::SelectOp>(condition, yes, no); }

  ImplicitLocOpBuilder b;
  Type type; ///< of the result
};
} // namespace

static void convertHalves(ModuleOp module) {
  SmallVector<Operation *> conversions;
  module.walk([&](Operation *op) {
    if ((isa<arith::ExtFOp>(op) && isF16(op->getOperand(0).getType())) ||
        (isa<arith::TruncFOp>(op) && isF16(op->getResult(0).getType())))
      conversions.push_back(op);
  });
  for (Operation *op : conversions) {
    HalfEmitter emitter(op);
    Value operand = op->getOperand(0);
    op->getResult(0).replaceAllUsesWith(isa<arith::ExtFOp>(op) ? emitter.widened(operand) : emitter.narrowed(operand));
    op->erase();
  }
}

namespace {
struct ExpandFloats : perpend::target::impl::CpuExpandFloatsBase<ExpandFloats> {
  using CpuExpandFloatsBase::CpuExpandFloatsBase;

  void runOnOperation() override {
    auto isNarrow = [&](Type type) { return isBF16(type) || (!target.hasF16 && isF16(type)); };
    getOperation().walk([&](Operation *op) {
      if (computesWith(isNarrow, op))
        computeInF32(op, isNarrow);
      else if (target.hasF16 && isExtremumOfF16(op))
        selectNaN(op);
    });
    if (!target.hasF16)
      convertHalves(getOperation());
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
