//===- DisjointSums.h - an `or` that is a sum ---------------------*- C++ -*-===//
//
// LLVM writes sums without carries as `or disjoint`, and forgets the second word where it reassociates several. Then
// its vectoriser does not see that an address grows with the loop, and gathers or scatters what lies side by side.
//
//   %row = or i64 %a, %b           unchanged: the loop does not move it
//   %at = or i64 %row, %i          of a multiple of 32 and 0 <= %i < 32
// becomes
//   %at = or disjoint i64 %row, %i
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_CPU_DISJOINTSUMS_H
#define PERPEND_TARGET_CPU_DISJOINTSUMS_H

#include "llvm/IR/PassManager.h"

namespace perpend::target {

/// In front of the vectoriser.
struct MarkDisjointSums : llvm::PassInfoMixin<MarkDisjointSums> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace perpend::target

#endif
