//===- Scatters.cpp - updates written into a tensor -----------------------===//

#include "graph/composites/Formulas.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace perpend::graph {

Value scatterVector(Builder &b, Value positions, Value values, std::optional<ReductionKind> kind) {
  if (!positions || !values)
    return {};
  Value zeros = b.splat(shapeOf(positions), 0, elementTypeOf(values));
  return b.scatter(zeros, b.unsqueeze(positions, 1), values, kind);
}

/// A scatter with the reduction of an attribute. Sums and products of 16-bit floats are rounded once.
static Results scatterReduced(Builder &b, Value input, Value indices, Value updates, const Attributes &a) {
  StringRef name = a.getString("reduction", "none");
  if (name == "none")
    return {b.scatter(input, indices, updates)};
  auto kind = llvm::StringSwitch<std::optional<ReductionKind>>(name)
                  .Case("add", ReductionKind::Sum)
                  .Case("mul", ReductionKind::Product)
                  .Case("max", ReductionKind::Max)
                  .Case("min", ReductionKind::Min)
                  .Default(std::nullopt);
  if (kind && input && isa<StringType>(elementTypeOf(input)))
    return {b.fail("expected numbers for the reduction '" + name.str() +
                   "', got texts\nhint: texts are scattered without a reduction")};
  if (!kind || !input || !updates)
    return {kind ? Value() : b.fail("expected a reduction of none, add, mul, max or min, got '" + name.str() + "'")};
  Type type = elementTypeOf(input), computed = computeType(type);
  Value result = b.scatter(b.cast(input, computed), indices, b.cast(updates, computed), kind);
  return {result ? b.cast(result, type) : result};
}

/// An element of an index tensor as i64, negative ones counted from the end of a dimension with `count` elements.
static Scalar wrappedIndex(Scalar count, Value indices, ValueRange at) {
  bool noSign = isUnsigned(elementTypeOf(indices));
  OpBuilder &builder = count.emitter();
  Scalar index(builder, count.location(), load(builder, count.location(), indices, at), noSign);
  index = index.to(builder.getI64Type());
  index.noSign = false;
  return noSign ? index : select(index < 0, index + count.to(builder.getI64Type()), index);
}

namespace composites {
Results scatter_nd(Builder &b, Values in, const Attributes &a) {
  Shape shape = shapeOf(in[0]), indexShape = shapeOf(in[1]);
  std::optional<int64_t> depth = indexShape.empty() ? std::nullopt : indexShape.back().constant();
  if (!depth && !indexShape.empty()) { // updates have one dimension for each that indices do not address
    depth = rankOf(in[1]) - 1 + rankOf(in[0]) - rankOf(in[2]);
    for (const SymbolicInt &difference : {indexShape.back() - *depth, SymbolicInt(*depth) - indexShape.back()})
      b.require(difference, ("an index of such updates has " + Twine(*depth) + " numbers").str());
    indexShape.back() = SymbolicInt(*depth);
  }
  if (!depth || *depth < 0 || *depth > static_cast<int64_t>(shape.size()) || !isa<IntegerType>(elementTypeOf(in[1])))
    return {b.contradict("scatter_nd: integer indices of shape " + toString(indexShape) +
                         " do not fit a tensor of shape " + toString(shape))};
  Value wrapped = b.generate(
      in[1], indexShape, b.i64(), [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
        Scalar which(builder, loc, index.back()), bound = which.integer(0);
        for (int64_t dim = 0; dim < *depth; ++dim)
          bound = select(equal(which, which.integer(dim)), which.with(extent(builder, loc, shape[dim])), bound);
        return wrappedIndex(bound, tensors[0], index).value;
      });
  return scatterReduced(b, in[0], wrapped, in[2], a);
}

Results scatter_elements(Builder &b, Values in, const Attributes &a) {
  int64_t axis = normalAxis(b, a.getInt("axis"), rankOf(in[0]));
  if (axis < 0)
    return {};
  if (rankOf(in[1]) != rankOf(in[0]) || !isa<IntegerType>(elementTypeOf(in[1])))
    return {b.contradict("scatter_elements: expected integer indices of rank " + Twine(rankOf(in[0])) + ", got shape " +
                         toString(shapeOf(in[1])))};
  SymbolicInt count = shapeOf(in[0])[axis];
  int64_t rank = rankOf(in[0]);
  Shape shape = shapeOf(in[1]);
  shape.emplace_back(rank);
  Value tuples =
      b.generate(in[1], shape, b.i64(), [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
        ValueRange at = index.drop_back();
        Scalar which(builder, loc, index.back()), bound(builder, loc, extent(builder, loc, count));
        Scalar chosen = wrappedIndex(bound, tensors[0], at);
        for (int64_t dim = 0; dim < rank; ++dim)
          if (dim != axis)
            chosen = select(equal(which, which.integer(dim)), Scalar(builder, loc, at[dim]).to(builder.getI64Type()),
                            chosen);
        return chosen.value;
      });
  return scatterReduced(b, in[0], tuples, in[2], a);
}
} // namespace composites
} // namespace perpend::graph
