//===- Rules.cpp - the first rule that applies ------------------------------===//

#include "tile/rules/Rules.h"

#include "graph/Shapes.h"
#include "tile/Scratch.h"
#include "tile/schedule/KernelTraces.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Whether a loop computes all of a long local buffer in each of its iterations: values that were not meant to move.
static bool computesAgain(func::FuncOp scheduled, func::FuncOp kernel) {
  llvm::StringMap<SymbolicInt> whole;
  kernel.walk(
      [&](AllocOp alloc) { whole[alloc.getName()] = graph::elementCount(alloc.getBuffer().getType().extents()); });
  WalkResult result = scheduled.walk([&](AllocOp alloc) {
    auto loop = dyn_cast<ForOp>(alloc->getParentOp());
    SymbolicInt count = graph::elementCount(alloc.getBuffer().getType().extents());
    bool isLong = !count.constant() || *count.constant() > mostStackBytes;
    bool isAgain = loop && loop.getExtent().values().front() != SymbolicInt(1);
    return isAgain && isLong && count == whole.lookup(alloc.getName()) ? WalkResult::interrupt()
                                                                       : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Null: it is refused, or what it makes has no code.
static OwningOpRef<func::FuncOp> tryRule(const Rule &rule, func::FuncOp kernel, const target::TargetInfo &target) {
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  KernelSchedule schedule(*trial, target.scopes());
  if (failed(rule.schedule(schedule, *trial, target)))
    return {};
  compactBuffers(*trial);
  if (accessWithoutPlace(*trial) || computesAgain(*trial, kernel) || !exceededMemory(*trial, target).empty())
    return {};
  setTrace(*trial, schedule);
  return trial;
}

void perpend::tile::applyRule(func::FuncOp kernel, const target::TargetInfo &target) {
  static const Rule *const list[] = {
#define RULE(name, sentence) &name,
#include "tile/rules/Rules.def"
  };
  for (const Rule *rule : list) {
    if (!rule->applies(kernel, target))
      continue;
    if (OwningOpRef<func::FuncOp> scheduled = tryRule(*rule, kernel, target)) {
      kernel.getBody().takeBody(scheduled->getBody());
      kernel->setAttrs(scheduled.get()->getAttrDictionary());
      return;
    }
  }
  setTrace(kernel, KernelSchedule(kernel)); // as it is
}

SmallVector<BlockOp> perpend::tile::blocksOf(func::FuncOp kernel) {
  SmallVector<BlockOp> blocks;
  kernel.walk<WalkOrder::PreOrder>([&](BlockOp block) { blocks.push_back(block); });
  return blocks;
}
