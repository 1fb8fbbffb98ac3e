//===- Edges.cpp - loops around blocks with conditions --------------------===//
//
// A split whose factors do not divide the extent leaves a condition in the blocks inside. All iterations of a loop up
// to some number satisfy the condition. The loop is cut there: these iterations are emitted without the check, the
// remaining ones with the check, or not at all if the condition is just the end of the loop. At most two nested loops
// are cut, and only if they contain vectorised or unrolled loops; loops whose condition would prevent vectorisation
// are cut in any case. All other iterations keep the check.
//
//   tile.for %i0 in 13 { tile.for %i1 in 8 { block … where(%i0 * 8 + %i1 < 100)
//   =>  for %i0 in 12 { for %i1 in 8 … }   for %i0 from 12 to 13 { for %i1 in 100 - %i0 * 8 … }
//
//===----------------------------------------------------------------------===//

#include "tile/flatten/Flattener.h"
#include "tile/schedule/Nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

namespace {
/// All iterations before `whole` satisfy a condition; none from `end` on does.
struct Iterations {
  SymbolicInt whole, end;
};

/// Finds for which iterations of a loop a condition `left < right` holds.
class EdgeFinder {
public:
  EdgeFinder(ForOp loop, KernelIndices &indices) : loop(loop), indices(indices) {}

  /// nullopt if there are no such numbers, or they are unknown.
  std::optional<Iterations> find(BlockOp block, const SymbolicInt &left, const SymbolicInt &right) {
    auto [first, slope] = indices.along(left - right, loop, block);
    if (!slope || !slope->isConstant() || *slope->constant() <= 0)
      return std::nullopt;
    std::optional<IndexBounds> bounds = boundsOf(first, indices.rangesAround(block, loop));
    if (!bounds)
      return std::nullopt;
    Iterations found{support::ceilDiv(-bounds->high, *slope), support::ceilDiv(-bounds->low, *slope)};
    // Both must be known before the loop, so they cannot depend on values computed inside it.
    bool isKnown = !found.whole.isPoison() && !found.end.isPoison() &&
                   isOutside(found.whole, loop->getParentOp(), indices.names) &&
                   isOutside(found.end, loop->getParentOp(), indices.names);
    return isKnown ? std::optional(found) : std::nullopt;
  }

private:
  ForOp loop;
  KernelIndices &indices;
};
} // namespace

std::optional<Edge> Flattener::edgeOf(ForOp loop) {
  SymbolicInt extent = indices.extentOf(loop);
  Edge edge{extent, SymbolicInt(0), true, {}};
  EdgeFinder finder(loop, indices);
  std::optional<SymbolicInt> first; // whole iterations of the first block
  loop.walk([&](BlockOp innermost) {
    if (innermost.walk([&](BlockOp inner) { return WalkResult(failure(inner != innermost)); }).wasInterrupted())
      return; // its inner blocks are visited instead
    Iterations own{extent, extent};
    for (BlockOp block = innermost; block && loop->isAncestor(block); block = block->getParentOfType<BlockOp>()) {
      Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
      for (unsigned i = 0; i < conditions.size(); i += 2) {
        if (assumed.contains({block, i}) ||
            !(usesLoop(conditions[i], loop, indices.names) || usesLoop(conditions[i + 1], loop, indices.names)))
          continue;
        std::optional<Iterations> found = finder.find(block, conditions[i], conditions[i + 1]);
        if (!found)
          continue;
        edge.isExact &= found->whole == found->end;
        own = {support::min(own.whole, found->whole), support::min(own.end, found->end)};
        edge.conditions.push_back({block, i});
      }
    }
    edge.isExact &= !first || *first == own.whole;
    first = own.whole;
    edge.whole = support::min(edge.whole, own.whole);
    edge.end = support::max(edge.end, own.end);
  });
  edge.whole = withNumbers(support::max(edge.whole, SymbolicInt(0)));
  edge.end = withNumbers(edge.end);
  // An unrolled loop keeps its constant extent.
  if (edge.end.isPoison() || loop.getKind() == LoopKind::Unrolled)
    edge.end = extent;
  if (edge.conditions.empty() || edge.whole.isPoison())
    return std::nullopt;
  return edge;
}

std::optional<Edge> Flattener::invariantOf(ForOp loop) {
  SmallVector<ForOp> loops = {loop};
  while (auto inner =
             llvm::hasSingleElement(*loops.back().body()) ? dyn_cast<ForOp>(loops.back().body()->front()) : ForOp())
    loops.push_back(inner);
  auto block =
      llvm::hasSingleElement(*loops.back().body()) ? dyn_cast<BlockOp>(loops.back().body()->front()) : BlockOp();
  if (!block)
    return std::nullopt;
  Edge edge;
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  for (unsigned i = 0; i < conditions.size(); i += 2)
    if (!assumed.contains({block, i}) && llvm::none_of(loops, [&](ForOp inner) {
          return usesLoop(conditions[i], inner, indices.names) || usesLoop(conditions[i + 1], inner, indices.names);
        }))
      edge.conditions.push_back({block, i});
  return edge.conditions.empty() ? std::nullopt : std::optional(edge);
}

void Flattener::assume(const Edge &edge, llvm::function_ref<void()> emitBody) {
  for (auto condition : edge.conditions)
    assumed.insert(condition);
  emitBody();
  for (auto condition : edge.conditions)
    assumed.erase(condition);
}

/// Substitutes the variables that are constants at this point: those of unrolled loops and of single iterations.
SymbolicInt Flattener::withNumbers(const SymbolicInt &expression) {
  llvm::StringMap<SymbolicInt> numbers;
  std::set<std::string> used;
  expression.symbols(used);
  for (const std::string &name : used) {
    Value variable = indices.names.value(name);
    std::optional<int64_t> number =
        variable && mapping.contains(variable) ? getConstantIntValue(mapping.lookup(variable)) : std::nullopt;
    if (number)
      numbers[name] = SymbolicInt(*number);
  }
  return numbers.empty() ? expression : expression.substitute(numbers);
}

std::optional<Value> Flattener::conditionOf(OpBuilder &builder, BlockOp block, ForOp loop, bool inside) {
  Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
  Value all;
  for (unsigned i = 0; i < conditions.size(); i += 2) {
    bool isInside =
        loop && llvm::any_of(loopsAround(block, loop->getParentOp()), [&](ForOp around) {
          return usesLoop(conditions[i], around, indices.names) || usesLoop(conditions[i + 1], around, indices.names);
        });
    if (isInside != inside || assumed.contains({block, i}))
      continue;
    std::optional<IndexBounds> bounds =
        boundsOf(withNumbers(conditions[i] - conditions[i + 1]), indices.rangesAround(block));
    if (bounds && (-bounds->high).knownPositive())
      continue;
    if (bounds && bounds->low.knownNonNegative())
      return std::nullopt;
    Value holds = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, value(builder, conditions[i]),
                                                value(builder, conditions[i + 1]));
    all = all ? builder.create<arith::AndIOp>(loc, all, holds) : holds;
  }
  return all;
}

/// At most this many nested loops are emitted in two parts, and only if they are worth it. Loops cut for the sake of
/// vectorisation are exempt from the limit.
static constexpr unsigned mostCuts = 2;

static bool isWorthCutting(ForOp loop) {
  return loop
      .walk([&](ForOp inner) {
        return inner.getKind() == LoopKind::Vectorized || inner.getKind() == LoopKind::Unrolled
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a condition would prevent vectorisation in the iterations that satisfy it: cutting the loop then pays in any
/// case.
static bool isOfLanes(ForOp loop, const Edge &edge, KernelIndices &indices) {
  return llvm::any_of(edge.conditions, [&](auto condition) {
    auto block = cast<BlockOp>(condition.first);
    Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
    return llvm::any_of(loopsAround(block, loop), [&](ForOp inner) {
      return inner.getKind() == LoopKind::Vectorized &&
             (usesLoop(conditions[condition.second], inner, indices.names) ||
              usesLoop(conditions[condition.second + 1], inner, indices.names));
    });
  });
}

/// Whether every condition can be tested once outside some inner loop: cutting the outer loop would gain nothing more.
static bool isAskedOnce(ForOp loop, const Edge &edge, KernelIndices &indices) {
  return llvm::all_of(edge.conditions, [&](auto condition) {
    auto block = cast<BlockOp>(condition.first);
    unsigned i = condition.second;
    Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
    SmallVector<ForOp> inside = loopsAround(block, loop);
    return !inside.empty() && llvm::none_of(inside, [&](ForOp inner) {
      return usesLoop(conditions[i], inner, indices.names) || usesLoop(conditions[i + 1], inner, indices.names);
    });
  });
}

/// Whether the unrolled body is so long that the loop itself is never unrolled, constant extent or not.
static bool isLongWhenUnrolled(ForOp loop, KernelIndices &indices) {
  constexpr int64_t longCount = 16;
  return llvm::any_of(blocksInside(loop), [&](BlockOp block) {
    int64_t count = 1;
    for (ForOp inner : loopsAround(block, loop))
      if (inner.getKind() == LoopKind::Unrolled)
        count *= indices.extentOf(inner).constant().value_or(1);
    return count >= longCount;
  });
}

/// Whether inner loops end exactly where the conditions fail: a second copy would gain only a constant extent.
static bool isEndInside(ForOp loop, const Edge &edge, KernelIndices &indices) {
  return llvm::all_of(edge.conditions, [&](auto condition) {
    auto block = cast<BlockOp>(condition.first);
    Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
    return llvm::any_of(loopsAround(block, loop), [&](ForOp inner) {
      if (inner == loop || inner.getKind() != LoopKind::Serial || !isLongWhenUnrolled(inner, indices))
        return false;
      auto found =
          EdgeFinder(inner, indices).find(block, conditions[condition.second], conditions[condition.second + 1]);
      return found && found->whole == found->end;
    });
  });
}

void Flattener::forEachPart(ForOp loop, EmitPart emitPart) {
  std::optional<Edge> edge = edgeOf(loop);
  if (!edge)
    return emitPart(SymbolicInt(0), indices.extentOf(loop));
  bool isLanes = isOfLanes(loop, *edge, indices);
  if (!edge->isExact && ((cuts >= mostCuts && !isLanes) || !isWorthCutting(loop) || isAskedOnce(loop, *edge, indices) ||
                         isEndInside(loop, *edge, indices)))
    return emitPart(SymbolicInt(0), edge->end);
  bool isCut = !edge->isExact && edge->whole != edge->end;
  cuts += isCut && !isLanes;
  assume(*edge, [&] { emitPart(SymbolicInt(0), edge->whole); });
  if (isCut)
    emitPart(edge->whole, edge->end);
  cuts -= isCut && !isLanes;
}

bool Flattener::hasOpenCondition(BlockOp block) {
  for (unsigned i = 0; i < block.getConditions().getDims().size(); i += 2)
    if (!assumed.contains({block, i}))
      return true;
  return false;
}

bool Flattener::hasOpenCondition(ForOp loop, ForOp apartFrom) {
  WalkResult result = loop.walk([&](BlockOp block) {
    Shape conditions = indices.resolve(block.getConditions(), block.getVariables());
    for (unsigned i = 0; i < conditions.size(); i += 2) {
      auto uses = [&](ForOp used) {
        return usesLoop(conditions[i], used, indices.names) || usesLoop(conditions[i + 1], used, indices.names);
      };
      if (!assumed.contains({block, i}) && uses(loop) && !(apartFrom && uses(apartFrom)))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

bool Flattener::isRest(ForOp loop) {
  WalkResult scalars = loop.walk([&](ForOp inner) {
    bool isScalar = inner.getKind() == LoopKind::Vectorized && hasOpenCondition(inner, loop) && !laneEdge(inner);
    return isScalar ? WalkResult::interrupt() : WalkResult::advance();
  });
  return scalars.wasInterrupted() && llvm::none_of(accessesIn(loop), [](const Access &access) {
           return access.buffer().getDefiningOp<AllocOp>() != nullptr;
         });
}
