//===- Choices.cpp - choices by index inside blocks -----------------------===//

#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using arith::CmpIPredicate;

/// A compared index in terms of iterators; nullopt if it is computed otherwise.
static std::optional<SymbolicInt> comparedIndex(Value index, IndexNames &names) {
  if (auto constant = index.getDefiningOp<arith::ConstantIndexOp>())
    return SymbolicInt(constant.value());
  if (auto computed = index.getDefiningOp<IndexOp>())
    return names.read(computed.getExpression(), computed.getVariables()).front();
  return isa<BlockArgument>(index) ? std::optional(names.symbol(index)) : std::nullopt;
}

std::optional<SmallVector<SymbolicInt>> perpend::tile::changesAlong(arith::CmpIOp comparison, ForOp loop,
                                                                    KernelIndices &indices) {
  SmallVector<SymbolicInt> changes;
  if (!comparison.getLhs().getType().isIndex())
    return changes;
  std::optional<SymbolicInt> left = comparedIndex(comparison.getLhs(), indices.names),
                             right = comparedIndex(comparison.getRhs(), indices.names);
  if (!left || !right)
    return std::nullopt;
  SymbolicInt position = indices.resolve(*left), difference = position - indices.resolve(*right);
  if (!usesLoop(difference, loop, indices.names) && !usesLoop(position, loop, indices.names))
    return changes;
  bool isUnsigned = comparison.getPredicate() == CmpIPredicate::ult;
  if (!isUnsigned && comparison.getPredicate() != CmpIPredicate::slt)
    return std::nullopt;
  for (const SymbolicInt &expression : {difference, position}) {
    IndexAlong along = indices.along(expression, loop, comparison);
    if (!along.isContiguous())
      return std::nullopt;
    changes.push_back(-along.first);
    if (!isUnsigned)
      break;
  }
  return changes;
}

std::optional<SymbolicInt> perpend::tile::endAlong(arith::CmpIOp comparison, ForOp loop, KernelIndices &indices) {
  std::optional<SmallVector<SymbolicInt>> changes = changesAlong(comparison, loop, indices);
  if (!changes || changes->empty())
    return std::nullopt;
  if (changes->size() == 2) { // unsigned: it holds from the start if the index is nonnegative there
    std::optional<IndexBounds> first = boundsOf(-(*changes)[1], indices.rangesAround(comparison, loop));
    if (!first || !first->low.knownNonNegative())
      return std::nullopt;
  }
  return changes->front();
}

/// The result of an index comparison if it is the same in the block's whole domain. Extents are nonnegative.
static std::optional<bool> resultOf(arith::CmpIOp comparison) {
  IndexNames names;
  if (!comparison.getLhs().getType().isIndex())
    return std::nullopt;
  std::optional<SymbolicInt> left = comparedIndex(comparison.getLhs(), names),
                             right = comparedIndex(comparison.getRhs(), names);
  if (!left || !right)
    return std::nullopt;
  IndexRanges ranges = iteratorRanges(comparison, names);
  std::optional<IndexBounds> position = boundsOf(simplify(*left, ranges), ranges),
                             difference = boundsOf(simplify(*left - *right, ranges), ranges);
  bool isUnsigned = comparison.getPredicate() == CmpIPredicate::ult;
  if (!position || !difference || !(isUnsigned || comparison.getPredicate() == CmpIPredicate::slt))
    return std::nullopt;
  if ((-difference->high).knownPositive() && (!isUnsigned || position->low.knownNonNegative()))
    return true;
  bool isOutside = difference->low.knownNonNegative() || (isUnsigned && (-position->high).knownPositive());
  return isOutside ? std::optional(false) : std::nullopt;
}

static void replaceBy(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

void perpend::tile::takeBranch(scf::IfOp choice, bool holds) {
  Block *branch = holds ? choice.thenBlock() : choice.elseBlock();
  auto yield = cast<scf::YieldOp>(branch->getTerminator());
  choice.replaceAllUsesWith(yield.getOperands());
  Value condition = choice.getCondition();
  yield->erase();
  choice->getBlock()->getOperations().splice(choice->getIterator(), branch->getOperations());
  choice->erase();
  SmallVector<Value> unused = {condition};
  while (!unused.empty()) {
    Operation *op = unused.pop_back_val().getDefiningOp();
    if (!op || !isOpTriviallyDead(op))
      continue;
    llvm::append_range(unused, op->getOperands());
    op->erase();
  }
}

void perpend::tile::takeDecidedChoices(BlockOp block) {
  auto walkAll = [&](auto visit) {
    SmallVector<Operation *> found;
    block.getRegion().walk<WalkOrder::PreOrder>([&](Operation *op) { found.push_back(op); });
    for (Operation *op : found)
      visit(op);
  };
  bool isAny = false;
  walkAll([&](Operation *op) {
    auto comparison = dyn_cast<arith::CmpIOp>(op);
    std::optional<bool> result = comparison ? resultOf(comparison) : std::nullopt;
    if (!result)
      return;
    OpBuilder builder(op);
    replaceBy(op, builder.create<arith::ConstantIntOp>(op->getLoc(), *result, 1));
    isAny = true;
  });
  if (!isAny)
    return;
  walkAll([&](Operation *op) {
    if (auto both = dyn_cast<arith::AndIOp>(op))
      for (unsigned i = 0; i < 2; ++i)
        if (APInt known; matchPattern(both->getOperand(i), m_ConstantInt(&known)) && known.getBitWidth() == 1)
          return replaceBy(op, both->getOperand(known.isOne() ? 1 - i : i));
  });
  auto decided = [&] {
    scf::IfOp first;
    block.getRegion().walk<WalkOrder::PreOrder>([&](scf::IfOp choice) {
      if (!matchPattern(choice.getCondition(), m_Constant()))
        return WalkResult::advance();
      first = choice;
      return WalkResult::interrupt();
    });
    return first;
  };
  while (scf::IfOp choice = decided())
    takeBranch(choice, matchPattern(choice.getCondition(), m_One()));
  removeDead(block);
}
