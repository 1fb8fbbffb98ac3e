//===- HalfComparisons.cpp - compares numbers of f16 as f32 ---------------===//
#include "target/cpu/HalfComparisons.h"

#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace perpend::target {

static bool comparesHalves(const Function &function, const TargetMachine &machine) {
  const TargetLowering *lowering = machine.getSubtargetImpl(function)->getTargetLowering();
  return lowering->isOperationLegalOrCustom(ISD::FADD, MVT::f16);
}

PreservedAnalyses WidenHalfComparisons::run(Function &function, FunctionAnalysisManager &) {
  SmallVector<FCmpInst *> comparisons;
  for (Instruction &instruction : instructions(function))
    if (auto *comparison = dyn_cast<FCmpInst>(&instruction))
      if (comparison->getOperand(0)->getType()->getScalarType()->isHalfTy())
        comparisons.push_back(comparison);
  if (comparisons.empty() || comparesHalves(function, machine))
    return PreservedAnalyses::all();
  for (FCmpInst *comparison : comparisons) {
    IRBuilder<> builder(comparison);
    for (Use &operand : comparison->operands()) {
      Type *type = operand->getType();
      operand.set(builder.CreateFPExt(operand, type->getWithNewType(builder.getFloatTy())));
    }
  }
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace perpend::target
