//===- LowerDots.cpp - products of integers as instructions of x86 ----------===//
//
// The instructions that sum products exactly, modulo 2^32:
//
//   i16   vpdpwssd with VNNI, else pmaddwd and an addition (-32768 * -32768 * 2 wraps to what it is modulo 2^32)
//   i8    vpdpbusd, which does not saturate; there is none without VNNI
//
//   tile.dot %a, %b, %sums : vector<32xi16>, vector<16xi32>
// becomes, with VNNI,
//   llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.512"(%sums, %aWords, %bWords)
//
//===----------------------------------------------------------------------===//

#include "target/cpu/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tile/Tile.h"

namespace perpend::target {
#define GEN_PASS_DEF_CPULOWERDOTS
#include "target/CpuPasses.h.inc"
} // namespace perpend::target

using namespace mlir;
using namespace perpend::target;
using perpend::tile::DotOp;

static Value call(ImplicitLocOpBuilder &builder, const Twine &intrinsic, Type type, ValueRange operands) {
  return builder.create<LLVM::CallIntrinsicOp>(type, builder.getStringAttr("llvm.x86." + intrinsic), operands)
      .getResults();
}

/// With VNNI: the products are added by the instruction that makes them.
static Value accumulated(ImplicitLocOpBuilder &builder, Value lhs, Value rhs, Value sums, bool isPair) {
  VectorType type = cast<VectorType>(sums.getType());
  lhs = builder.create<vector::BitCastOp>(type, lhs);
  rhs = builder.create<vector::BitCastOp>(type, rhs);
  std::string bits = std::to_string(type.getNumElements() * 32);
  return call(builder, (isPair ? "avx512.vpdpwssd." : "avx512.vpdpbusd.") + bits, type, {sums, lhs, rhs});
}

/// AVX-VNNI has no vectors of 64 bytes.
static Value accumulatedHalves(ImplicitLocOpBuilder &builder, DotOp op, bool isPair) {
  Value result = op.getSums();
  for (int64_t half : {0, 1}) {
    auto part = [&](Value vector) -> Value {
      int64_t length = cast<VectorType>(vector.getType()).getNumElements() / 2;
      return builder.create<vector::ExtractStridedSliceOp>(vector, half * length, length, int64_t(1));
    };
    Value sums = accumulated(builder, part(op.getLhs()), part(op.getRhs()), part(op.getSums()), isPair);
    int64_t first = half * cast<VectorType>(sums.getType()).getNumElements();
    result = builder.create<vector::InsertStridedSliceOp>(sums, result, first, int64_t(1));
  }
  return result;
}

static Value addedPairs(ImplicitLocOpBuilder &builder, DotOp op, int64_t lanes) {
  const char *product = lanes == 16 ? "avx512.pmaddw.d.512" : lanes == 8 ? "avx2.pmadd.wd" : "sse2.pmadd.wd";
  return builder.create<arith::AddIOp>(op.getSums(), call(builder, product, op.getType(), {op.getLhs(), op.getRhs()}));
}

namespace {
struct LowerDots : perpend::target::impl::CpuLowerDotsBase<LowerDots> {
  using CpuLowerDotsBase::CpuLowerDotsBase;

  void runOnOperation() override {
    if (getOperation().walk([&](DotOp op) { return WalkResult(lower(op)); }).wasInterrupted())
      signalPassFailure();
  }

  LogicalResult lower(DotOp op) {
    VectorType words = cast<VectorType>(op.getLhs().getType());
    int64_t lanes = cast<VectorType>(op.getType()).getNumElements();
    bool isPair = words.getElementType().isInteger(16), isRegister = lanes == 4 || lanes == 8 || lanes == 16;
    if (!isRegister || !(isPair || target.accumulatesDots))
      return op.emitOpError("the target has no products of ")
             << words.getElementType() << " in " << lanes << " lanes; hint: pack the operands for this target "
             << (isRegister ? "(--start-from pack), or compile for one with VNNI"
                            : "(--start-from pack), in 4, 8 or 16 lanes");
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    bool isHalved = lanes == 16 && !target.hasIsa("avx512vnni");
    Value sums = !target.accumulatesDots ? addedPairs(builder, op, lanes)
                 : isHalved              ? accumulatedHalves(builder, op, isPair)
                                         : accumulated(builder, op.getLhs(), op.getRhs(), op.getSums(), isPair);
    op.getResult().replaceAllUsesWith(sums);
    op.erase();
    return success();
  }
};
} // namespace
