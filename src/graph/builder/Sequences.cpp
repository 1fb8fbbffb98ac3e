//===- Sequences.cpp - results whose elements depend on one another -------===//

#include "graph/builder/Builder.h"
#include "graph/builder/TruthValues.h"

using namespace mlir;

namespace perpend::graph {

Value Builder::scatter(Value input, Value indices, Value updates, std::optional<ReductionKind> kind) {
  if (!input || !indices || !updates)
    return {};
  Shape shape = shapeOf(input), indexShape = shapeOf(indices), expected;
  std::optional<int64_t> depth = indexShape.empty() ? std::nullopt : indexShape.back().constant();
  if (!isa<IntegerType>(tensorTypeOf(indices).getElementType()) || !depth ||
      *depth > static_cast<int64_t>(shape.size()))
    return contradict("scatter: expected integer indices whose last extent is at most " + Twine(shape.size()) +
                      ", got shape " + toString(indexShape));
  expected.append(indexShape.begin(), indexShape.end() - 1);
  expected.append(shape.begin() + *depth, shape.end());
  Shape got = shapeOf(updates);
  bool fits = got.size() == expected.size();
  for (size_t i = 0; fits && i < got.size(); ++i)
    fits = !provablyDiffer(got[i], expected[i]);
  if (!fits)
    return contradict("scatter: expected updates of shape " + toString(expected) + ", got " + toString(got));
  Type type = tensorTypeOf(input).getElementType();
  auto reduction = kind ? ReductionKindAttr::get(context(), primitiveKind(*kind, type)) : ReductionKindAttr();
  return operations.create<ScatterOp>(location, input.getType(), input, indices, updates, reduction);
}

/// Strings and lists are represented by identities, which have no order.
static bool isOrdered(Builder &builder, Value input) {
  Type type = tensorTypeOf(input).getElementType();
  if (isHandle(type))
    builder.fail("no order of elements of type " + nameOf(type) + "\nhint: cast them to numbers first");
  return !isHandle(type);
}

Value Builder::sort(Value input, int64_t dim, bool isDescending, bool isLexicographic,
                    std::optional<SymbolicInt> count) {
  if (!input || !isOrdered(*this, input))
    return {};
  Shape shape = shapeOf(input);
  if (isLexicographic && !shape.empty())
    shape.pop_back();
  if (!checkAxis(dim, shape.size(), "sort"))
    return {};
  if (shape[dim].knownAtLeast(SortOp::mostElements + 1))
    return contradict("sort: expected at most " + std::to_string(SortOp::mostElements) + " elements, got " +
                      shape[dim].str());
  if (count)
    shape[dim] = *count;
  return operations.create<SortOp>(location, tensorType(shape, i64()), input, dim, isDescending, isLexicographic);
}

Value Builder::scan(ReductionKind kind, Value input, int64_t dim) {
  if (!input || !isOrdered(*this, input) || !checkAxis(dim, tensorTypeOf(input).getRank(), "scan"))
    return {};
  kind = primitiveKind(kind, tensorTypeOf(input).getElementType());
  return operations.create<ScanOp>(location, input.getType(), input, kind, dim);
}
} // namespace perpend::graph
