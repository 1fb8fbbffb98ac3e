//===- Experts.cpp - mixtures of experts ----------------------------------===//

#include "graph/composites/Experts.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

ExpertRoutes chooseExperts(Builder &b, Value scores, Value weights, const SymbolicInt &k, bool normalises, Type type) {
  auto attribute = [&](StringRef name, Attribute value) {
    return Attributes(b.context(), b.operations.getNamedAttr(name, value));
  };
  Results best =
      applyComposite(b, "topk", scores, attribute("k", ShapeAttr::get(b.context(), ArrayRef<SymbolicInt>(k))));
  if (best.size() < 2 || !best[1])
    return {};
  Value all = weights ? b.cast(weights, type) : softmax(b, b.cast(scores, type), 1, false);
  Value shares = call(b, "gather_elements", {all, best[1]}, attribute("axis", b.operations.getI64IntegerAttr(1)));
  if (normalises)
    shares = div(b, shares, sum(b, shares, {1}, true));
  return {best[1], shares};
}

/// Adds to `total` the expert's results for its tokens, weighted by their shares.
static Value addExpert(Builder &b, Value tokens, const ExpertRoutes &routes, Value expert, Value total,
                       ApplyExpert apply) {
  Value isChosen = call(b, "equal", {routes.experts, expert});
  if (!isChosen)
    return {};
  Value mask = b.reduce(ReductionKind::Max, isChosen, 1, false);
  Value share = sum(b, where(b, isChosen, routes.shares, b.scalar(0, elementTypeOf(total))), {1}, false);
  Value isUsed = b.reduce(ReductionKind::Max, mask, 0, false);
  SmallVector<Value> next = b.ifThenElse(
      isUsed,
      [&]() -> SmallVector<Value> {
        Value places = positionsWhere(b, mask);
        Value rows = places ? apply(b.gather(tokens, places, 0), expert) : places;
        Value weighted = rows ? mul(b, rows, b.unsqueeze(b.gather(share, places, 0), 1)) : rows;
        if (!weighted)
          return {};
        return {b.scatter(total, b.unsqueeze(places, 1), weighted, ReductionKind::Sum)};
      },
      [&]() -> SmallVector<Value> { return {total}; });
  return next.empty() ? Value() : next.front();
}

Value mixExperts(Builder &b, Value tokens, const ExpertRoutes &routes, const SymbolicInt &count, ApplyExpert apply) {
  if (!tokens || !routes.shares || b.hasFailed())
    return {};
  SmallVector<Value> results =
      b.loop({b.dims(count, /*isScalar=*/true), {}}, b.splat(shapeOf(tokens), 0, elementTypeOf(tokens)),
             [&](Value expert, ValueRange totals) {
               return Iteration{{}, {addExpert(b, tokens, routes, expert, totals[0], apply)}, {}};
             });
  return results.empty() || b.hasFailed() ? Value() : results[0];
}
} // namespace perpend::graph
