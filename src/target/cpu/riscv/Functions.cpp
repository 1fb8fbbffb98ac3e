//===- Functions.cpp - scalar functions that are one instruction ----------===//
#include "target/Machine.h"
#include "target/cpu/riscv/RiscV.h"

using namespace llvm;

namespace perpend::target {
namespace {

Value *roundToF16(IRBuilder<> &builder, ArrayRef<Value *> operands, unsigned lanes) {
  Value *numbers = builder.CreateFPTrunc(operands[0], FixedVectorType::get(builder.getHalfTy(), lanes));
  return builder.CreateBitCast(numbers, FixedVectorType::get(builder.getInt16Ty(), lanes));
}

constexpr InstructionFunction functions[] = {{roundToF16Function, roundToF16}};
} // namespace

ArrayRef<InstructionFunction> riscvFunctions() { return functions; }

} // namespace perpend::target
