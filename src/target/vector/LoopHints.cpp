//===- LoopHints.cpp - what LLVM's vectoriser is told of loops ------------===//
#include "target/vector/LoopHints.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace perpend::target {

/// A reduction of floats waits for each sum, so its vector loop wants several partial sums. LLVM makes them only if
/// unrolling is not disabled. Code grows little, except for short loops, which would be unrolled completely.
static bool mayInterleave(Loop &loop, ScalarEvolution &evolution) {
  constexpr unsigned shortCount = 64;
  unsigned count = evolution.getSmallConstantTripCount(&loop);
  bool carriesFloat = any_of(loop.getHeader()->phis(),
                             [](PHINode &phi) { return phi.getType()->isFloatTy() || phi.getType()->isDoubleTy(); });
  return loop.isInnermost() && carriesFloat && (count == 0 || count >= shortCount);
}

/// Interleave count of a vector loop. The processor's window is too small to overlap iterations that compute much, so
/// that each of their operations is waited for.
static unsigned vectorsAtOnce(Loop &loop, ScalarEvolution &evolution, unsigned lanes) {
  constexpr unsigned longChain = 12, mostVectors = 4, manyVectors = 16;
  unsigned operations = 0, together = mostVectors, count = evolution.getSmallConstantTripCount(&loop);
  for (BasicBlock *block : loop.blocks())
    operations += count_if(*block, [](Instruction &one) { return one.getType()->isFloatTy(); });
  if (!loop.isInnermost() || operations < longChain || (count != 0 && count < lanes))
    return 1;
  while (count != 0 && count / lanes < manyVectors && count / lanes % together != 0)
    together /= 2;
  return together;
}

/// Whether a loop has numbers of 16 bits in memory and in arithmetic. LLVM 19's vectoriser does not end (it moves
/// scalar operands to and fro) on some where integer arithmetic converts f16.
static bool convertsHalves(Loop &loop) {
  bool hasHalves = false, hasFloats = false;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &one : *block) {
      hasHalves |= isa<LoadInst, StoreInst>(one) && getLoadStoreType(&one)->isIntegerTy(16);
      hasFloats |= one.getType()->isFloatTy();
    }
  return hasHalves && hasFloats;
}

void hintLoops(Function &function, const Machine &machine) {
  const unsigned lanes = machine.vectorLanes(/*elementBytes=*/4);
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  AssumptionCache assumptions(function);
  TargetLibraryInfoImpl libraryImplementation;
  TargetLibraryInfo library(libraryImplementation);
  ScalarEvolution evolution(function, library, assumptions, dominators, loops);
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!machine.hasF16 && convertsHalves(*loop))
      addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
    if (mayInterleave(*loop, evolution))
      continue;
    addStringMetadataToLoop(loop, "llvm.loop.unroll.disable", 1);
    if (unsigned vectors = vectorsAtOnce(*loop, evolution, lanes); vectors > 1)
      addStringMetadataToLoop(loop, "llvm.loop.interleave.count", vectors);
  }
}

} // namespace perpend::target
