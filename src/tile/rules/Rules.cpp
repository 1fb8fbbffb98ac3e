//===- Rules.cpp - the list of rules --------------------------------------===//

#include "tile/rules/Rules.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

const Rule *perpend::tile::ruleFor(func::FuncOp kernel, const target::TargetInfo &target) {
  static const Rule *const list[] = {&scratchpadRule, &contractionRule, &rowBlocksRule, &windowRule,
                                     &rowsRule,       &movementRule,    &pointwiseRule};
  for (const Rule *rule : list)
    if (rule->applies(kernel, target))
      return rule;
  return nullptr;
}

SmallVector<BlockOp> perpend::tile::blocksOf(func::FuncOp kernel) {
  SmallVector<BlockOp> blocks;
  kernel.walk<WalkOrder::PreOrder>([&](BlockOp block) { blocks.push_back(block); });
  return blocks;
}
