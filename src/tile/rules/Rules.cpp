//===- Rules.cpp - applies the first suitable rule ------------------------===//

#include "tile/rules/Rules.h"

#include "graph/Shapes.h"
#include "tile/Attributes.h"
#include "tile/kernel/Scratch.h"
#include "tile/schedule/KernelTraces.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

/// Finds a long local buffer that a loop recomputes entirely in each iteration: the rule did not mean to move it there.
static AllocOp computedAgain(func::FuncOp scheduled, func::FuncOp kernel) {
  AllocOp again;
  llvm::StringMap<SymbolicInt> whole;
  kernel.walk(
      [&](AllocOp alloc) { whole[alloc.getName()] = graph::elementCount(alloc.getBuffer().getType().extents()); });
  scheduled.walk([&](AllocOp alloc) {
    auto loop = dyn_cast<ForOp>(alloc->getParentOp());
    SymbolicInt count = graph::elementCount(alloc.getBuffer().getType().extents());
    bool isLong = !count.constant() || *count.constant() > mostStackBytes;
    bool isAgain = loop && loop.getExtent().values().front() != SymbolicInt(1);
    if (isAgain && isLong && count == whole.lookup(alloc.getName()))
      again = alloc;
  });
  return again;
}

/// Why the result of a rule is unusable; empty: it is usable.
static std::string fault(func::FuncOp scheduled, func::FuncOp kernel, const target::Machine &target) {
  if (accessWithoutPlace(scheduled))
    return "the index of an element is too long an expression";
  if (AllocOp again = computedAgain(scheduled, kernel))
    return "a loop would compute all of '" + again.getName().str() + "' in each of its iterations";
  return exceededMemory(scheduled, target);
}

/// Null if the rule is refused or its result is unusable.
static OwningOpRef<func::FuncOp> tryRule(const Rule &rule, func::FuncOp kernel, const target::Machine &target,
                                         std::string &why) {
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  KernelSchedule schedule(*trial, target);
  if (failed(rule.schedule(schedule, *trial, target))) {
    why = schedule.refusal().split('\n').first; // hints address authors of traces
    return {};
  }
  compactBuffers(*trial);
  if (!(why = fault(*trial, kernel, target)).empty())
    return {};
  setTrace(*trial, schedule);
  return trial;
}

void perpend::tile::applyRule(func::FuncOp kernel, const target::Machine &target) {
  static const Rule *const list[] = {
#define RULE(name, sentence) &name,
#include "tile/rules/Rules.def"
  };
  Builder builder(kernel.getContext());
  SmallVector<Attribute> rules;
  for (const Rule *rule : list) {
    std::string why;
    OwningOpRef<func::FuncOp> scheduled;
    if (rule->applies(kernel, target, why))
      scheduled = tryRule(*rule, kernel, target, why);
    if (scheduled) {
      kernel.getBody().takeBody(scheduled->getBody());
      kernel->setAttrs(scheduled.get()->getAttrDictionary());
      rules.push_back(builder.getStringAttr("by the rule " + rule->name));
      break;
    }
    if (!why.empty())
      rules.push_back(builder.getStringAttr("not by the rule " + rule->name + ": " + why));
  }
  if (!hasTrace(kernel)) // it stays unscheduled
    setTrace(kernel, KernelSchedule(kernel));
  kernel->setAttr(rulesAttribute, builder.getArrayAttr(rules));
}

SmallVector<BlockOp> perpend::tile::blocksOf(func::FuncOp kernel) {
  SmallVector<BlockOp> blocks;
  kernel.walk<WalkOrder::PreOrder>([&](BlockOp block) { blocks.push_back(block); });
  return blocks;
}
