//===- Functions.cpp - scalar functions that are one instruction ----------===//
#include "target/Machine.h"
#include "target/cpu/x86/X86.h"

#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace perpend::target {
namespace {

Value *scale(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes) {
  const Intrinsic::ID instruction = lanes == 16  ? Intrinsic::x86_avx512_mask_scalef_ps_512
                                    : lanes == 8 ? Intrinsic::x86_avx512_mask_scalef_ps_256
                                                 : Intrinsic::x86_avx512_mask_scalef_ps_128;
  SmallVector<Value *> arguments(operands);
  arguments.push_back(operands[0]);
  arguments.push_back(builder.getIntN(std::max(lanes, 8u), lanes == 4 ? 0xf : lanes == 8 ? 0xff : 0xffff));
  if (lanes == 16)
    arguments.push_back(builder.getInt32(4)); // rounds by the control register
  return builder.CreateIntrinsic(instruction, {}, arguments);
}

Value *roundToBF16(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes) {
  if (lanes == 4) {
    Value *wide = builder.CreateShuffleVector(operands[0], {0, 1, 2, 3, -1, -1, -1, -1});
    return builder.CreateShuffleVector(roundToBF16(builder, wide, 8), {0, 1, 2, 3});
  }
  const Intrinsic::ID instruction =
      lanes == 16 ? Intrinsic::x86_avx512bf16_cvtneps2bf16_512 : Intrinsic::x86_avx512bf16_cvtneps2bf16_256;
  return builder.CreateBitCast(builder.CreateIntrinsic(instruction, {}, operands[0]),
                               FixedVectorType::get(builder.getInt16Ty(), lanes));
}

Value *roundToF16(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes) {
  Value *nearestEven = builder.getInt32(0);
  if (lanes == 16)
    return builder.CreateIntrinsic(Intrinsic::x86_avx512_mask_vcvtps2ph_512, {},
                                   {operands[0], nearestEven,
                                    Constant::getNullValue(FixedVectorType::get(builder.getInt16Ty(), lanes)),
                                    builder.getInt16(0xffff)});
  if (lanes == 8)
    return builder.CreateIntrinsic(Intrinsic::x86_vcvtps2ph_256, {}, {operands[0], nearestEven});
  Value *numbers = builder.CreateIntrinsic(Intrinsic::x86_vcvtps2ph_128, {}, {operands[0], nearestEven});
  return builder.CreateShuffleVector(numbers, {0, 1, 2, 3});
}

constexpr InstructionFunction functions[] = {
    {scaleFunction, scale}, {roundToBF16Function, roundToBF16}, {roundToF16Function, roundToF16}};
} // namespace

ArrayRef<InstructionFunction> x86Functions() { return functions; }

} // namespace perpend::target
