//===- Experts.cpp - mixtures of experts ----------------------------------===//

#include "graph/composites/Experts.h"
#include "graph/composites/Division.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

/// The k largest elements along the last dimension, and their positions. Errors: nulls.
static std::pair<Value, Value> largest(Builder &b, Value x, const SymbolicInt &k) {
  Attribute count = ShapeAttr::get(b.context(), ArrayRef<SymbolicInt>(k));
  Results best = applyComposite(b, "topk", x, Attributes(b.context(), b.operations.getNamedAttr("k", count)));
  return best.size() < 2 || !best[1] ? std::pair<Value, Value>() : std::pair(best[0], best[1]);
}

ExpertRoutes chooseExperts(Builder &b, Value scores, Value weights, const SymbolicInt &k, bool normalises, Type type) {
  auto [values, experts] = largest(b, scores, k);
  if (!experts)
    return {};
  Value all = weights ? b.cast(weights, type) : softmax(b, b.cast(scores, type), 1, false);
  auto axis = b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(1));
  Value shares = call(b, "gather_elements", {all, experts}, Attributes(b.context(), axis));
  if (normalises)
    shares = div(b, shares, sum(b, shares, {1}, true));
  return {experts, shares};
}

Value limitToGroups(Builder &b, Value scores, int64_t groups, int64_t used, int64_t best) {
  if (!scores)
    return {};
  Shape shape = shapeOf(scores);
  SymbolicInt count(groups);
  std::optional<SymbolicInt> each = divideEvenly(shape[1], count);
  if (!each)
    return b.fail("experts: " + shape[1].str() + " are no multiple of " + count.str() + " groups");
  Value grouped = b.reshape(scores, {shape[0], count, *each});
  Value ofGroups = best == 1 ? b.reduce(ReductionKind::Max, grouped, 2, /*keepDims=*/false)
                             : sum(b, largest(b, grouped, SymbolicInt(best)).first, {2}, /*keepDims=*/false);
  Value chosen = ofGroups ? largest(b, ofGroups, SymbolicInt(used)).second : ofGroups;
  if (!chosen)
    return {};
  Value isChosen = call(b, "equal", {b.unsqueeze(chosen, 2), iota(b, count, elementTypeOf(chosen))});
  Value isUsed = b.unsqueeze(b.reduce(ReductionKind::Max, isChosen, 1, /*keepDims=*/false), 2);
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  return b.reshape(where(b, isUsed, grouped, b.scalar(lowest, elementTypeOf(scores))), shape);
}

Value ofExpert(Builder &b, Value all, const SymbolicInt &expert) {
  if (!all)
    return {};
  Shape shape = shapeOf(all), rest(llvm::drop_begin(shape));
  Value one = sliceAxis(b, all, 0, expert, SymbolicInt(1));
  return one ? b.reshape(one, rest) : one;
}

/// The numbers of all experts that some token goes to, ascending.
static Value usedExperts(Builder &b, const ExpertRoutes &routes, const SymbolicInt &count) {
  Shape shape = shapeOf(routes.experts);
  SymbolicInt routed = shape[0] * shape[1];
  Type boolean = b.operations.getI1Type();
  Value isUsed = b.scatter(b.splat(count, 0, boolean), b.reshape(routes.experts, {routed, SymbolicInt(1)}),
                           b.splat(routed, 1, boolean));
  return positionsWhere(b, isUsed, shape[0] == SymbolicInt(1) ? std::optional(shape[1]) : std::nullopt);
}

/// Adds to `total` the expert's results for its tokens, weighted by their shares.
static Value addExpert(Builder &b, Value tokens, const ExpertRoutes &routes, Value expert, Value total,
                       ApplyExpert apply) {
  Value isChosen = call(b, "equal", {routes.experts, expert});
  if (!isChosen)
    return {};
  SymbolicInt number = b.measure(expert, "expert");
  Value share = sum(b, where(b, isChosen, routes.shares, b.scalar(0, elementTypeOf(total))), {1}, false);
  if (shapeOf(tokens)[0] == SymbolicInt(1))
    return add(b, total, mul(b, apply(tokens, number), b.unsqueeze(share, 1)));
  Value places = positionsWhere(b, b.reduce(ReductionKind::Max, isChosen, 1, false));
  Value rows = places ? apply(b.gather(tokens, places, 0), number) : places;
  Value weighted = rows ? mul(b, rows, b.unsqueeze(b.gather(share, places, 0), 1)) : rows;
  return weighted ? b.scatter(total, b.unsqueeze(places, 1), weighted, ReductionKind::Sum) : weighted;
}

Value mixExperts(Builder &b, Value tokens, const ExpertRoutes &routes, const SymbolicInt &count, ApplyExpert apply) {
  if (!tokens || !routes.shares || b.hasFailed())
    return {};
  Value used = usedExperts(b, routes, count);
  if (!used)
    return {};
  SmallVector<Value> results =
      b.loop({b.dims(shapeOf(used)[0], /*isScalar=*/true), {}}, b.splat(shapeOf(tokens), 0, elementTypeOf(tokens)),
             [&](Value number, ValueRange totals) {
               Value expert = b.gather(used, number, 0);
               return Iteration{{}, {addExpert(b, tokens, routes, expert, totals[0], apply)}, {}};
             });
  return results.empty() || b.hasFailed() ? Value() : results[0];
}
} // namespace perpend::graph
