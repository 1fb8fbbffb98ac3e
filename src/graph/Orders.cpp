//===- Orders.cpp - operators on transposed operands ----------------------===//

#include "graph/Orders.h"

#include "graph/builder/Builder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace perpend::graph {

Order inverse(ArrayRef<int64_t> order) {
  Order result(order.size());
  for (auto [place, dim] : llvm::enumerate(order))
    result[dim] = static_cast<int64_t>(place);
  return result;
}

bool isIdentity(ArrayRef<int64_t> order) { return llvm::equal(order, llvm::seq<int64_t>(0, order.size())); }

bool keepsOrder(Operation *op) { return op->hasTrait<DimensionWise>() || isa<ConcatOp>(op); }

bool searchesAlong(Operation *op, int64_t dim) {
  auto gather = dyn_cast<GatherOp>(op);
  auto axis = gather ? static_cast<int64_t>(gather.getAxis()) : 0;
  return gather && dim >= axis && dim < axis + tensorTypeOf(gather.getIndices()).getRank();
}

static int64_t placeOf(int64_t dim, ArrayRef<int64_t> order) { return llvm::find(order, dim) - order.begin(); }

template <typename T> static SmallVector<T> permuted(ArrayRef<T> values, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t dim) { return values[dim]; });
}

/// The order of a gather's input; nullopt if dimensions of the indices do not stay together.
static std::optional<Order> inputOrder(GatherOp op, ArrayRef<int64_t> order) {
  int64_t axis = op.getAxis(), count = shapeOf(op.getIndices()).size(), first = placeOf(axis, order);
  Order result;
  if (count == 0)
    return std::nullopt;
  for (int64_t k = 0; k < count; ++k)
    if (first + k >= static_cast<int64_t>(order.size()) || order[first + k] != axis + k)
      return std::nullopt;
  for (int64_t dim : order)
    if (dim <= axis || dim >= axis + count)
      result.push_back(dim <= axis ? dim : dim - count + 1);
  return result;
}

/// The dimensions of a broadcast's operand in the order of the result's.
static Order inputOrder(BroadcastOp op, ArrayRef<int64_t> order) {
  Order result = llvm::to_vector(llvm::seq<int64_t>(0, op.getDims().size()));
  llvm::sort(result,
             [&](int64_t a, int64_t b) { return placeOf(op.getDims()[a], order) < placeOf(op.getDims()[b], order); });
  return result;
}

/// Dimensions that disappear stay behind the one that they follow.
static Order inputOrder(ReduceOp op, ArrayRef<int64_t> order) {
  int64_t rank = shapeOf(op.getInput()).size();
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  Order result;
  auto takeReduced = [&](int64_t dim) {
    for (; dim < rank && llvm::is_contained(op.getDims(), dim); ++dim)
      result.push_back(dim);
  };
  takeReduced(0);
  for (int64_t dim : order) {
    result.push_back(kept[dim]);
    takeReduced(kept[dim] + 1);
  }
  return result;
}

std::optional<Order> operandOrder(OpOperand &operand, ArrayRef<int64_t> order) {
  Operation *op = operand.getOwner();
  if (keepsOrder(op))
    return Order(order);
  if (auto gather = dyn_cast<GatherOp>(op)) {
    std::optional<Order> input = inputOrder(gather, order);
    return input && operand.getOperandNumber() ? Order() : input;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return inputOrder(broadcast, order);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return inputOrder(reduce, order);
  return std::nullopt;
}

static Attribute reordered(Attribute attribute, ArrayRef<int64_t> order) {
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute))
    return DenseI64ArrayAttr::get(attribute.getContext(), permuted<int64_t>(numbers, order));
  if (auto shape = dyn_cast<ShapeAttr>(attribute))
    return ShapeAttr::get(attribute.getContext(), permuted<SymbolicInt>(shape.values(), order));
  return attribute;
}

Value transposed(Builder &builder, Operation *op, ArrayRef<Value> operands, ArrayRef<int64_t> order) {
  Shape shape = permuted<SymbolicInt>(shapeOf(op->getResult(0)), order);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return builder.concat(operands, placeOf(concat.getAxis(), order));
  if (auto gather = dyn_cast<GatherOp>(op))
    return builder.gather(operands[0], operands[1], placeOf(gather.getAxis(), order));
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<int64_t> dims =
        llvm::map_to_vector(broadcast.getDims(), [&](int64_t dim) { return placeOf(dim, order); });
    llvm::sort(dims);
    return builder.broadcast(operands[0], dims, shape);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    Order input = inputOrder(reduce, order);
    SmallVector<int64_t> dims = llvm::map_to_vector(reduce.getDims(), [&](int64_t dim) { return placeOf(dim, input); });
    llvm::sort(dims);
    return builder.reduce(reduce.getKind(), operands[0], dims, false);
  }
  Operation *clone = builder.operations.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(tensorType(shape, tensorTypeOf(op->getResult(0)).getElementType()));
  for (StringAttr name : clone->getName().getAttributeNames())
    if (Attribute attribute = clone->getAttr(name))
      clone->setAttr(name, reordered(attribute, order));
  return clone->getResult(0);
}

/// gather(transpose(x), i): the dimensions of i take the place of the axis in x, too. Tables that are constants are
/// transposed at compile time.
static Value transposedBehind(Builder &builder, GatherOp op, Value input, ArrayRef<int64_t> permutation) {
  int64_t count = tensorTypeOf(op.getIndices()).getRank();
  if (count == 0 || matchPattern(input, m_Constant()))
    return {};
  int64_t axis = permutation[op.getAxis()];
  Order order;
  for (int64_t dim : permutation) {
    if (dim != axis)
      order.push_back(dim < axis ? dim : dim + count - 1);
    else
      llvm::append_range(order, llvm::seq(axis, axis + count));
  }
  return builder.transpose(builder.gather(input, op.getIndices(), axis), order);
}

static Value transposedBehind(Builder &builder, ReduceOp op, Value input, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> dims = llvm::map_to_vector(op.getDims(), [&](int64_t dim) { return permutation[dim]; });
  // The kept dimensions of the transposed tensor, numbered among the kept ones of the original tensor.
  SmallVector<int64_t> kept, sorted;
  for (auto [position, dim] : llvm::enumerate(permutation))
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(position)))
      kept.push_back(dim);
  sorted = kept;
  llvm::sort(sorted);
  Order order = llvm::map_to_vector(kept, [&](int64_t dim) { return placeOf(dim, sorted); });
  return builder.transpose(builder.reduce(op.getKind(), input, dims, false), order);
}

Value transposedBehind(Builder &builder, Operation *op, Value input, ArrayRef<int64_t> permutation) {
  if (auto gather = dyn_cast<GatherOp>(op))
    return transposedBehind(builder, gather, input, permutation);
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce ? transposedBehind(builder, reduce, input, permutation) : Value();
}
} // namespace perpend::graph
