//===- DisjointSums.h - marks `or` as a sum without carries -----*- C++ -*-===//
//
// LLVM writes sums without carries as `or disjoint`, but drops `disjoint` when it reassociates several. Its
// vectoriser then does not see that an address increases with the loop, and uses gathers or scatters for contiguous
// elements.
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

/// Runs before the vectoriser.
struct MarkDisjointSums : llvm::PassInfoMixin<MarkDisjointSums> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace perpend::target

#endif
