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
