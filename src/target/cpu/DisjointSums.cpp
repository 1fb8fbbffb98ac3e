//===- DisjointSums.cpp - marks `or` as a sum without carries -------------===//
#include "target/cpu/DisjointSums.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace perpend::target {

/// A loop's variable has a range that only loop analysis knows.
static KnownBits knownBitsOf(Value *value, ScalarEvolution &loops, const DataLayout &layout) {
  return computeKnownBits(value, layout).unionWith(loops.getUnsignedRange(loops.getSCEV(value)).toKnownBits());
}

/// Whether one operand counts the iterations of the loop and the other is invariant.
static bool movesWith(const BinaryOperator &sum, const Loop *loop, ScalarEvolution &loops) {
  auto counts = [&](unsigned operand) {
    auto *variable = dyn_cast<SCEVAddRecExpr>(loops.getSCEV(sum.getOperand(operand)));
    return variable && variable->getLoop() == loop && loop->isLoopInvariant(sum.getOperand(1 - operand));
  };
  return counts(0) || counts(1);
}

PreservedAnalyses MarkDisjointSums::run(Function &function, FunctionAnalysisManager &analyses) {
  const DataLayout &layout = function.getParent()->getDataLayout();
  auto &loopInfo = analyses.getResult<LoopAnalysis>(function);
  bool isChanged = false;
  for (Instruction &instruction : instructions(function)) {
    auto *sum = dyn_cast<PossiblyDisjointInst>(&instruction);
    const Loop *loop = loopInfo.getLoopFor(instruction.getParent());
    if (!sum || sum->isDisjoint() || !sum->getType()->isIntegerTy() || !loop)
      continue;
    auto &loops = analyses.getResult<ScalarEvolutionAnalysis>(function);
    if (!movesWith(*sum, loop, loops))
      continue;
    KnownBits left = knownBitsOf(sum->getOperand(0), loops, layout);
    if (!KnownBits::haveNoCommonBitsSet(left, knownBitsOf(sum->getOperand(1), loops, layout)))
      continue;
    sum->setIsDisjoint(true);
    loops.forgetValue(sum);
    isChanged = true;
  }
  return isChanged ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace perpend::target
