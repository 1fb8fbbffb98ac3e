//===- LowerBFloat16.cpp - bf16 as the bits of integers ---------------------===//
//
// Conversions of bf16 are integer arithmetic already, so that values of this type are only loaded, chosen and stored.
// LLVM computes even that in f32 where the processor has no bf16, and rounds with a function that no C library has.
// Instructions of the processor take and give them as what they are.
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
    replacer.addReplacement([&](BFloat16Type) { return bits; });
    replacer.addReplacement([&](FloatAttr number) -> std::optional<Attribute> {
      if (!number.getType().isBF16())
        return std::nullopt;
      return IntegerAttr::get(bits, number.getValue().bitcastToAPInt());
    });
    replacer.addReplacement([&](DenseElementsAttr numbers) -> std::optional<std::pair<Attribute, WalkResult>> {
      if (!numbers.getElementType().isBF16())
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
