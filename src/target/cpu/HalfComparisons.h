//===- HalfComparisons.h - compares numbers of f16 as f32 -------*- C++ -*-===//
//
// LLVM compares f16 where a program extends it to f32 and compares that. Processors without arithmetic on f16 compare
// vectors of it number by number.
//
//   %less = fcmp olt <16 x half> %x, %y
// becomes
//   %a = fpext <16 x half> %x to <16 x float>        (likewise %b of %y; a constant stays one)
//   %less = fcmp olt <16 x float> %a, %b
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_HALFCOMPARISONS_H
#define PERPEND_TARGET_CPU_HALFCOMPARISONS_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace perpend::target {

/// Runs before the vectoriser, and again when LLVM has optimised all. Functions for processors that compare f16 stay.
struct WidenHalfComparisons : llvm::PassInfoMixin<WidenHalfComparisons> {
  explicit WidenHalfComparisons(llvm::TargetMachine &machine) : machine(machine) {}
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

private:
  llvm::TargetMachine &machine;
};

} // namespace perpend::target

#endif
