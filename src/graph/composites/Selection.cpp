//===- Selection.cpp - selections with data-dependent sizes ---------------===//
//
// The number of selected elements is usually known only at run time. Then a function of the library lists the positions
// of a mask, and their number becomes a symbol. If the mask is known when the graph is built, so are the positions.
//
//===----------------------------------------------------------------------===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

Value positionsWhere(Builder &b, Value mask, std::optional<SymbolicInt> count) {
  if (!mask)
    return {};
  if (auto known = b.constantContents(mask)) {
    Shape positions;
    for (auto [position, isChosen] : llvm::enumerate(*known))
      if (isChosen)
        positions.emplace_back(static_cast<int64_t>(position));
    return knownIntegers(b, positions, SymbolicInt(static_cast<int64_t>(positions.size())), b.i64());
  }
  CallResult positions{{count ? *count : SymbolicInt::poison()}, b.i64(), {"selected"}};
  return b.callLibrary("order.positions", mask, positions)[0];
}

/// x != 0, as a vector.
static Value flatMask(Builder &b, Value x) {
  Value mask = elementTypeOf(x).isInteger(1) ? x : b.cast(x, b.operations.getI1Type());
  return b.reshape(mask, elementCount(shapeOf(x)));
}

namespace composites {
Results nonzero(Builder &b, Values in, const Attributes &) {
  Value positions = positionsWhere(b, flatMask(b, in[0]));
  if (!positions)
    return {};
  Shape shape = shapeOf(in[0]), strides = rowMajorStrides(shape);
  SymbolicInt rank(rankOf(in[0]));
  if (shape.size() == 1)
    return {b.reshape(positions, {rank, shapeOf(positions)[0]})};
  return {b.generate(positions, {rank, shapeOf(positions)[0]}, b.i64(),
                     [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                       Scalar which(builder, loc, index[0]),
                           flat(builder, loc, load(builder, loc, tensors[0], index[1]));
                       auto number = [&](const SymbolicInt &value) {
                         return Scalar(builder, loc, extent(builder, loc, value)).to(builder.getI64Type());
                       };
                       Scalar chosen = flat;
                       for (auto [dim, extent] : llvm::enumerate(shape)) {
                         Scalar position = flat / number(strides[dim]);
                         if (dim != 0)
                           position = position % number(extent);
                         chosen = select(equal(which, which.integer(dim)), position, chosen);
                       }
                       return chosen.value;
                     })};
}

Results compress(Builder &b, Values in, const Attributes &a) {
  Value x = a.has("axis") ? in[0] : b.reshape(in[0], elementCount(shapeOf(in[0])));
  int64_t axis = normalAxis(b, a.getInt("axis"), x ? rankOf(x) : 0);
  if (axis < 0)
    return {};
  if (rankOf(in[1]) != 1)
    return {b.contradict("compress: expected a vector of conditions, got shape " + toString(shapeOf(in[1])))};
  return {b.gather(x, positionsWhere(b, flatMask(b, in[1])), axis)};
}

/// in: boxes [b, n, 4], scores [b, c, n]; optional scalars: most boxes per class (0), overlap threshold (0), score
/// threshold. Attribute center_point_box.
Results non_max_suppression(Builder &b, Values in, const Attributes &a) {
  auto isNarrow = [](Value x) { return isFloat(x) && bitWidth(elementTypeOf(x)) <= 32; };
  if (rankOf(in[0]) != 3 || rankOf(in[1]) != 3 || !isNarrow(in[0]) || !isNarrow(in[1]))
    return {b.contradict("non_max_suppression: expected boxes [b, n, 4] and scores [b, c, n] of floats of at most 32 "
                         "bits, got " +
                         nameOf(elementTypeOf(in[0])) + " " + toString(shapeOf(in[0])) + " and " +
                         nameOf(elementTypeOf(in[1])) + " " + toString(shapeOf(in[1])))};
  const Shape shape = shapeOf(in[1]);
  // As many boxes as there are scores.
  Value boxes = b.broadcast(b.cast(in[0], b.f32()), {0, 1, 2}, {shape[0], shape[2], SymbolicInt(4)});
  if (!boxes)
    return {};
  SmallVector<Value> inputs{boxes, b.cast(in[1], b.f32())};
  for (size_t index = 2; index < 5; ++index) {
    Type type = index == 2 ? Type(b.i64()) : Type(b.f32());
    if (Value limit = optionalInput(in, index))
      inputs.push_back(b.cast(b.reshape(limit, {}), type));
    else if (index < 4)
      inputs.push_back(b.scalar(0, type));
  }
  NamedAttribute centered =
      b.operations.getNamedAttr("centered", b.operations.getI64IntegerAttr(a.getInt("center_point_box")));
  CallResult selected{{SymbolicInt::poison(), SymbolicInt(3)}, b.i64(), {"selected"}};
  return b.callLibrary("order.suppress", inputs, selected, centered);
}
} // namespace composites
} // namespace perpend::graph
