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

/// Vectors of one iteration of an innermost loop, if LLVM does not choose their number.
static constexpr unsigned mostVectors = 4;

/// Whether an iteration waits for a result of the one before that takes longer than an addition of integers.
static bool waitsForResult(Loop &loop) {
  BasicBlock *latch = loop.getLoopLatch();
  return latch && any_of(loop.getHeader()->phis(), [&](PHINode &phi) {
           Value *next = phi.getIncomingValueForBlock(latch);
           return phi.getType()->isFloatTy() || phi.getType()->isDoubleTy() || isa<SelectInst, MinMaxIntrinsic>(next);
         });
}

/// A reduction waits for each of its results, so its vector loop wants several partial ones. LLVM makes them only if
/// unrolling is not disabled. Code grows little, except for short loops, which would be unrolled completely before they
/// become vectors.
static bool mayInterleave(Loop &loop, ScalarEvolution &evolution) {
  constexpr unsigned longCount = 512;
  unsigned count = evolution.getSmallConstantTripCount(&loop);
  return loop.isInnermost() && waitsForResult(loop) && (count == 0 || count >= longCount);
}

/// Interleave count of a vector loop that is not unrolled. The processor's window is too small to overlap iterations
/// that compute much, so that each of their operations is waited for; and so is each result of a reduction.
static unsigned vectorsAtOnce(Loop &loop, ScalarEvolution &evolution, unsigned lanes) {
  constexpr unsigned longChain = 12, manyVectors = 16, shortCount = 64;
  unsigned operations = 0, together = mostVectors, count = evolution.getSmallConstantTripCount(&loop);
  for (BasicBlock *block : loop.blocks())
    operations += count_if(*block, [](Instruction &one) { return one.getType()->isFloatTy(); });
  bool isChain = operations >= longChain || (count >= shortCount && waitsForResult(loop));
  if (!loop.isInnermost() || !isChain || (count != 0 && count < lanes))
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
