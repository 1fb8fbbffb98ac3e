//===- Scatters.cpp - gradients of scatter --------------------------------===//
//
// Without a reduction, an element's gradient goes to the last update that was written there, or to the input if none
// was. With a sum, it goes to the input and to all updates. With max and min, the input's element and the updates that
// equal the result share it equally. Updates outside of the input get 0. A scatter of products has no derivative.
//
//===----------------------------------------------------------------------===//

#include "graph/gradients/Placement.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// The positions to which a scatter writes.
class Places {
public:
  Places(Builder &b, ScatterOp op) : b(b), op(op), depth(op.indexedDims()) {}

  /// For each update, the element that a tensor of the input's shape has at its position; arbitrary if outside.
  Value elementsAt(Value tensor);
  /// Replaces elements of dropped updates by zero.
  Value whereInside(Value updates);
  /// A scatter to the same positions.
  Value scatter(Value input, Value updates, std::optional<ReductionKind> kind) {
    return b.scatter(input, op.getIndices(), updates, kind);
  }
  /// The number of each update in writing order, broadcast over the later dimensions.
  Value numbers();

private:
  Shape leading() { return Shape(ArrayRef(shapeOf(op.getInput())).take_front(depth)); }
  /// A tensor [k...] repeated along the later dimensions.
  Value repeated(Value perUpdate) {
    return b.broadcast(perUpdate, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(perUpdate))), shapeOf(op.getUpdates()));
  }

  Builder &b;
  ScatterOp op;
  unsigned depth;
};
} // namespace

Value Places::elementsAt(Value tensor) {
  Shape shape = shapeOf(tensor), lead = leading(), flat{elementCount(lead)};
  flat.append(shape.begin() + depth, shape.end());
  Value strides = b.dims(rowMajorStrides(lead));
  Value positions = sum(b, mul(b, b.cast(op.getIndices(), b.i64()), strides), rankOf(op.getIndices()) - 1, false);
  return b.gather(b.reshape(tensor, flat), positions, 0);
}

Value Places::whereInside(Value updates) {
  Value fits = pointwise(b, {b.cast(op.getIndices(), b.i64()), b.dims(leading())}, [](ArrayRef<Scalar> v) {
    return select((v[0] >= 0) & (v[0] < v[1]), v[0].constant(1), v[0].constant(0));
  });
  Value inside = b.reduce(ReductionKind::Min, fits, rankOf(fits) - 1, false);
  Value zeros = b.splat(shapeOf(updates), 0, elementTypeOf(updates));
  return where(b, b.cast(repeated(inside), b.operations.getI1Type()), updates, zeros);
}

Value Places::numbers() {
  Shape updates = shapeOf(op.getIndices());
  updates.pop_back();
  return repeated(b.reshape(iota(b, elementCount(updates), b.i64()), updates));
}

/// 1 where both are equal.
static Value equality(Builder &b, Value x, Value y, Type type) {
  return pointwise(
      b, {x, y},
      [&](ArrayRef<Scalar> v) {
        Scalar one(v[0].emitter(), v[0].location(),
                   v[0].emitter().create<arith::ConstantOp>(v[0].location(), v[0].emitter().getFloatAttr(type, 1)));
        return select(equal(v[0], v[1]), one, one.constant(0));
      },
      type);
}

static Value overwriteGradient(Builder &b, ScatterOp op, Value gradient, bool ofInput) {
  Places places(b, op);
  if (ofInput)
    return places.scatter(gradient, b.splat(shapeOf(op.getUpdates()), 0, elementTypeOf(gradient)), std::nullopt);
  Value nobody = b.splat(shapeOf(op.getInput()), -1, b.i64()), own = places.numbers();
  Value winners = places.elementsAt(places.scatter(nobody, own, std::nullopt));
  Value won = equality(b, winners, own, elementTypeOf(gradient));
  return mul(b, places.elementsAt(gradient), won); // a dropped update wins nowhere
}

static Value extremumGradient(Builder &b, ScatterOp op, Value gradient, bool ofInput) {
  Places places(b, op);
  Type type = elementTypeOf(gradient), compute = computeType(type);
  Value isInput = equality(b, op.getInput(), op.getResult(), compute);
  Value isUpdate = places.whereInside(equality(b, op.getUpdates(), places.elementsAt(op.getResult()), compute));
  Value count = places.scatter(isInput, isUpdate, ReductionKind::Sum);
  Value part = div(b, b.cast(gradient, compute), count);
  return b.cast(ofInput ? mul(b, isInput, part) : mul(b, isUpdate, places.elementsAt(part)), type);
}

Value ScatterOp::operandGradient(Builder &b, Value gradient, unsigned operand) {
  bool ofInput = operand == 0;
  if (!getKind())
    return overwriteGradient(b, *this, gradient, ofInput);
  if (*getKind() == ReductionKind::Product)
    return b.fail("no derivative of products at computed positions");
  if (*getKind() != ReductionKind::Sum)
    return extremumGradient(b, *this, gradient, ofInput);
  Places places(b, *this);
  return ofInput ? gradient : places.whereInside(places.elementsAt(gradient));
}
} // namespace perpend::graph
