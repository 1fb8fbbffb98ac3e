//===- LoopOrder.cpp - primitives on the order of loops -------------------===//

#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// reorder
//===----------------------------------------------------------------------===//

/// Whether the expression is the sum of a part that depends only on `a` and one that depends only on `b`.
static bool isSeparable(const SymbolicInt &expression, ForOp a, ForOp b, IndexNames &names) {
  std::string nameOfA = names.nameOf(a.variable()), nameOfB = names.nameOf(b.variable());
  return llvm::none_of(expression.terms(), [&](const support::SymbolicTerm &term) {
    std::set<std::string> used;
    for (const support::SymbolicFactor &factor : term.factors) {
      if (factor.atom.kind() == support::SymbolicAtomKind::Symbol)
        used.insert(factor.atom.name().str());
      for (const SymbolicInt &operand : factor.atom.operands())
        operand.symbols(used);
    }
    return used.count(nameOfA) && used.count(nameOfB);
  });
}

/// Why these two loops cannot be swapped; empty if they can. Instances of a spatial block may run in any order. A
/// reduction must start where its reduced iterators are 0, which holds in any order of loops that are digits of the
/// iterators.
static std::string whyNotSwapped(ForOp outer, ForOp inner) {
  std::string why;
  inner.walk([&](BlockOp block) {
    KernelIndices indices;
    IndexRanges ranges = indices.rangesAround(block);
    for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block))) {
      SymbolicInt bound = simplify(binding, ranges);
      bool usesOuter = usesLoop(bound, outer, indices.names), usesInner = usesLoop(bound, inner, indices.names);
      if (block.kind(i) == IteratorKind::Opaque && (usesOuter || usesInner))
        why = "the block '" + block.getName().str() + "' has an opaque iterator, whose order is kept";
      if (block.init() && !isSeparable(bound, outer, inner, indices.names))
        why = "an iterator of the reduction '" + block.getName().str() + "' is no sum of '" + outer.getName().str() +
              "' and '" + inner.getName().str() + "', so it might not begin with its init; decompose_reduction before";
    }
  });
  return why;
}

/// The name of a buffer by which blocks inside depend on one another; empty if there is none.
static std::string sharedBuffer(ForOp innermost) {
  for (const Access &access : accessesIn(innermost))
    if (access.isStore() && !innermost->isAncestor(scopeOf(access.buffer())->getParentOp()))
      for (const Access &other : accessesIn(innermost, access.buffer()))
        if (other.op->getParentOfType<BlockOp>() != access.op->getParentOfType<BlockOp>())
          return bufferName(access.buffer());
  return {};
}

LogicalResult KernelSchedule::reorder(ArrayRef<Loop> list) {
  SmallVector<ForOp> order;
  SmallVector<std::string> operands;
  for (Loop handle : list) {
    FailureOr<ForOp> found = find(handle);
    if (failed(found))
      return failure();
    if (llvm::is_contained(order, *found))
      return refuse("reorder: " + nameOf(handle) + " is named twice");
    order.push_back(*found);
    operands.push_back(nameOf(handle));
  }
  if (order.size() < 2)
    return refuse("reorder: expected at least two loops");
  // The chain of loops that contains all of them, outermost first.
  auto depth = [](ForOp loop) { return loopsAround(loop).size(); };
  ForOp outermost = *llvm::min_element(order, [&](ForOp a, ForOp b) { return depth(a) < depth(b); });
  ForOp innermost = *llvm::max_element(order, [&](ForOp a, ForOp b) { return depth(a) < depth(b); });
  SmallVector<ForOp> chain = loopsAround(innermost, outermost->getParentOp());
  chain.push_back(innermost);
  for (auto [name, loop] : llvm::zip(operands, order))
    if (!llvm::is_contained(chain, loop))
      return refuse("reorder: " + name + " is not around, nor inside of, each of the other loops");
  for (ForOp loop : chain) {
    if (loop != innermost && !llvm::hasSingleElement(*loop.body()))
      return refuse("reorder: the loop '" + loop.getName() +
                    "' holds more than the next loop; reorder before blocks move into it");
    if (!loop.getVariables().empty())
      return refuse("reorder: the extent of the loop '" + loop.getName() + "' depends on another loop");
  }
  SmallVector<ForOp> after;
  for (size_t next = 0; ForOp loop : chain)
    after.push_back(llvm::is_contained(order, loop) ? order[next++] : loop);
  if (std::string buffer = sharedBuffer(innermost); after != chain && !buffer.empty())
    return refuse("reorder: blocks inside depend on one another through the buffer " + buffer);
  for (size_t i = 0; i < chain.size(); ++i)
    for (size_t j = i + 1; j < chain.size(); ++j)
      if (llvm::find(after, chain[j]) < llvm::find(after, chain[i]))
        if (std::string why = whyNotSwapped(chain[i], chain[j]); !why.empty())
          return refuse("reorder: " + why);
  mlir::Block statements;
  statements.getOperations().splice(statements.end(), innermost.body()->getOperations());
  OpBuilder builder(outermost);
  Operation *place = builder.create<ForOp>(outermost.getLoc(), ValueRange(), outermost.getExtent(), LoopKind::Serial,
                                           outermost.getNameAttr(), builder.getDictionaryAttr({}));
  for (ForOp loop : llvm::reverse(chain))
    loop->remove();
  builder.setInsertionPoint(place);
  for (ForOp loop : after) {
    builder.insert(loop);
    builder.setInsertionPointToStart(loop.body());
  }
  place->erase();
  mlir::Block *body = after.back().body();
  body->getOperations().splice(body->end(), statements.getOperations());
  record("reorder", {}, operands);
  return success();
}

//===----------------------------------------------------------------------===//
// add_unit_loop
//===----------------------------------------------------------------------===//

FailureOr<KernelSchedule::Loop> KernelSchedule::addUnitLoop(Place place) {
  FailureOr<Operation *> op = find(place);
  if (failed(op))
    return failure();
  IndexNames names;
  OpBuilder builder(*op);
  ForOp loop = createFor(builder, (*op)->getLoc(), SymbolicInt(1), "u", names);
  (*op)->moveBefore(loop.body(), loop.body()->end());
  Loop handle{addHandle(loop, "u")};
  record("add_unit_loop", nameOf(handle), nameOf(place));
  return handle;
}
