//===- LowerBFloat16.cpp - represents bf16 as integers --------------------===//
//
// Conversions of bf16 are integer arithmetic by now, so values of this type are only loaded, selected and stored. On
// processors without bf16, LLVM would still do that in f32 and round with a function that no C library has.
// Intrinsics keep taking and returning bf16. For a machine whose code has no values of f16, these become integers, too.
//
//   llvm.load %p : !llvm.ptr -> bf16
// becomes
//   llvm.load %p : !llvm.ptr -> i16
//
//===----------------------------------------------------------------------===//

#include "target/cpu/passes/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"

namespace perpend::target {
#define GEN_PASS_DEF_CPULOWERBFLOAT16
#include "target/CpuPasses.h.inc"
} // namespace perpend::target

using namespace mlir;

namespace {
struct LowerBFloat16 : perpend::target::impl::CpuLowerBFloat16Base<LowerBFloat16> {
  using CpuLowerBFloat16Base::CpuLowerBFloat16Base;

  void runOnOperation() override {
    Type bits = IntegerType::get(&getContext(), 16);
    auto isBF16 = [](Value value) { return getElementTypeOrSelf(value.getType()).isBF16(); };
    SmallVector<std::pair<OpOperand *, Type>> ofInstructions;
    SmallVector<std::pair<Value, Type>> results;
    getOperation().walk([&](LLVM::CallIntrinsicOp op) {
      for (OpOperand &operand : op->getOpOperands())
        if (isBF16(operand.get()))
          ofInstructions.emplace_back(&operand, operand.get().getType());
      for (Value result : op->getResults())
        if (isBF16(result))
          results.emplace_back(result, result.getType());
    });
    AttrTypeReplacer replacer;
    auto isNarrow = [&](Type type) { return type.isBF16() || (!target.hasF16 && type.isF16()); };
    replacer.addReplacement([&](BFloat16Type) { return bits; });
    replacer.addReplacement([&](Float16Type type) -> Type { return target.hasF16 ? Type(type) : bits; });
    replacer.addReplacement([&](FloatAttr number) -> std::optional<Attribute> {
      if (!isNarrow(number.getType()))
        return std::nullopt;
      return IntegerAttr::get(bits, number.getValue().bitcastToAPInt());
    });
    replacer.addReplacement([&](DenseElementsAttr numbers) -> std::optional<std::pair<Attribute, WalkResult>> {
      if (!isNarrow(numbers.getElementType()))
        return std::nullopt;
      return std::make_pair(numbers.bitcast(bits), WalkResult::skip());
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    for (auto [operand, type] : ofInstructions) {
      OpBuilder builder(operand->getOwner());
      operand->set(builder.create<LLVM::BitcastOp>(operand->getOwner()->getLoc(), type, operand->get()));
    }
    for (auto [result, type] : results) {
      OpBuilder builder(result.getContext());
      builder.setInsertionPointAfterValue(result);
      auto inBits = builder.create<LLVM::BitcastOp>(result.getLoc(), result.getType(), result);
      result.replaceAllUsesExcept(inBits, inBits);
      result.setType(type);
    }
  }
};
} // namespace
