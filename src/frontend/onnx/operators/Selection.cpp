//===- Selection.cpp - ONNX operators that sort or select elements --------===//
//
// Sizes may be computed by the model; such a size becomes a symbol.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// The axis is an input. If the model computes it, the result is selected among those of all axes.
Results importCumulation(Node &node) {
  Builder &b = node.builder;
  Value x = node.input(0), axis = node.input(1);
  if (!x || !axis || rankOf(x) == 0)
    return {node.builder.contradict("expected a tensor of rank 1 or more, and an axis")};
  auto along = [&](int64_t dim) {
    Results result = node.composite(node.proto.operation == "CumSum" ? "cumsum" : "cumprod", x,
                                    node.attribute("axis", b.operations.getI64IntegerAttr(dim)));
    return result.empty() ? Value() : result[0];
  };
  if (std::optional<SmallVector<int64_t>> known = b.constantContents(axis); known && known->size() == 1)
    return {along(known->front())};
  if (elementCount(shapeOf(axis)) != SymbolicInt(1))
    return {node.builder.contradict("expected one axis, got shape " + graph::toString(shapeOf(axis)))};
  int64_t rank = rankOf(x);
  Value wanted = b.reshape(b.cast(axis, b.i64()), {}), chosen = along(0);
  auto isAxis = [&](ArrayRef<Scalar> v) { return (v[0] >= v[0].integer(-rank)) & (v[0] < v[0].integer(rank)); };
  requireAll(b, pointwise(b, wanted, isAxis, b.operations.getI1Type()),
             ("the axis is not one of a tensor of rank " + Twine(rank)).str());
  for (int64_t dim = 1; dim < rank; ++dim) {
    Value isHere = pointwise(
        b, wanted,
        [&](ArrayRef<Scalar> v) { return equal(v[0], v[0].integer(dim)) | equal(v[0], v[0].integer(dim - rank)); },
        b.operations.getI1Type());
    chosen = graph::where(b, isHere, along(dim), chosen);
  }
  return {chosen};
}

/// The rank of the result determines the length of an index.
Results importGatherNd(Node &node) {
  std::optional<int64_t> rank = node.declaredRank();
  if (rank && node.input(0) && node.input(1))
    node.assumeLastExtent(1, rankOf(node.input(0)) + rankOf(node.input(1)) - 1 - node.attributes.getInt("batch_dims") -
                                 *rank);
  return node.composite("gather_nd", node.inputs);
}

/// k is an attribute before operator set 10, then an input.
Results importTopK(Node &node) {
  std::optional<Shape> k = node.attributes.getDims("k");
  Value x = node.input(0);
  if (!x || (!k && !node.input(1)))
    return node.fail("expected a tensor and k");
  if (!k) {
    k = Shape{node.builder.measure(node.input(1), "k")};
    if (k->front().isPoison())
      return {};
  }
  return node.composite("topk", x, node.attribute("k", ArrayRef<SymbolicInt>(*k)));
}

/// Before operator set 13, hardmax runs over all dimensions from `axis` on.
Results importFlatHardmax(Node &node) {
  Value x = node.input(0);
  int64_t axis = x ? normalAxis(node.builder, node.attributes.getInt("axis", 1), rankOf(x)) : -1;
  if (axis < 0)
    return x ? Results() : node.fail("expected 1 input");
  Shape shape = shapeOf(x), flat(shape.begin(), shape.begin() + axis);
  flat.push_back(elementCount(ArrayRef(shape).drop_front(axis)));
  auto last = node.builder.operations.getI64IntegerAttr(-1);
  Results result = node.composite("hardmax", node.builder.reshape(x, flat), node.attribute("axis", last));
  return {result.empty() ? Value() : node.builder.reshape(result[0], shape)};
}

Results importOneHot(Node &node) {
  Value indices = node.input(0), depth = node.input(1), values = node.input(2);
  if (!indices || !depth || !values || rankOf(values) != 1)
    return node.fail("expected indices, a depth and two values");
  Builder &b = node.builder;
  SymbolicInt count = b.measure(b.cast(depth, b.i64()), "depth");
  if (!isa<IntegerType>(graph::elementTypeOf(indices)))
    indices = b.cast(indices, b.i64());
  auto pick = [&](int64_t position) {
    return b.reshape(sliceAxis(b, values, 0, SymbolicInt(position), SymbolicInt(1)), {});
  };
  return node.composite("one_hot", {indices, pick(0), pick(1)}, node.attribute("depth", ArrayRef<SymbolicInt>(count)));
}
} // namespace perpend::onnx
