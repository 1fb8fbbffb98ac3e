//===- RelaxedSums.cpp - products and sums in one instruction -------------===//
#include "target/cpu/wasm32/RelaxedSums.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsWebAssembly.h"

#include <optional>

using namespace llvm;

namespace perpend::target {
namespace {

constexpr unsigned vectorBits = 128;

bool isVector(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && (vector->getElementType()->isFloatTy() || vector->getElementType()->isDoubleTy()) &&
         vector->getPrimitiveSizeInBits() == vectorBits;
}

/// A product that nothing else reads; null: it is none.
BinaryOperator *productIn(Value *value) {
  auto *product = dyn_cast<BinaryOperator>(value);
  const bool isOne = product && product->getOpcode() == Instruction::FMul && product->hasOneUse();
  return isOne && product->hasAllowContract() ? product : nullptr;
}

/// What is computed: addend + left * right, or addend - left * right.
struct Sum {
  Value *left, *right, *addend;
  BinaryOperator *product = nullptr; ///< an instruction of its own
  bool isDifference = false;
};

std::optional<Sum> sumOf(Instruction &instruction) {
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::fmuladd)
    return Sum{call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2)};
  auto *sum = dyn_cast<BinaryOperator>(&instruction);
  if (!sum || (sum->getOpcode() != Instruction::FAdd && sum->getOpcode() != Instruction::FSub) ||
      !sum->hasAllowContract())
    return std::nullopt;
  const bool isDifference = sum->getOpcode() == Instruction::FSub;
  Value *left = sum->getOperand(0), *right = sum->getOperand(1);
  if (BinaryOperator *product = productIn(right))
    return Sum{product->getOperand(0), product->getOperand(1), left, product, isDifference};
  if (BinaryOperator *product = isDifference ? nullptr : productIn(left))
    return Sum{product->getOperand(0), product->getOperand(1), right, product};
  return std::nullopt;
}

} // namespace

void relaxSums(Function &function) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    if (!isVector(instruction.getType()))
      continue;
    std::optional<Sum> sum = sumOf(instruction);
    if (!sum)
      continue;
    IRBuilder<> builder(&instruction);
    Value *relaxed =
        builder.CreateIntrinsic(sum->isDifference ? Intrinsic::wasm_relaxed_nmadd : Intrinsic::wasm_relaxed_madd,
                                {instruction.getType()}, {sum->left, sum->right, sum->addend});
    instruction.replaceAllUsesWith(relaxed);
    instruction.eraseFromParent();
    if (sum->product)
      sum->product->eraseFromParent();
  }
}

} // namespace perpend::target
