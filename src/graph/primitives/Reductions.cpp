//===- Reductions.cpp - reduce and contract -------------------------------===//
//
// This file has the operators' verifiers, their requirements on the symbols in shapes, the mapping from dimensions of
// operands to those of results, and the code that computes one element of a result.
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/Scalars.h"
#include "graph/primitives/Constraints.h"
#include "graph/primitives/LoopNest.h"

using namespace mlir;
using namespace perpend::graph;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  Shape input = shapeOf(getInput());
  if (!isStrictlyIncreasing(getDims(), input.size()))
    return emitOpError("C1: dims must be strictly increasing and below ") << input.size();
  return failed(verifyNumbers(*this, "C3")) ? failure() : verifyExtents(*this, "C2", dropDims(input, getDims()));
}

void ReduceOp::addRequirements(Requirements &requirements) {
  requireExtents(requirements, getResult(), dropDims(shapeOf(getInput()), getDims()));
}

std::optional<unsigned> ReduceOp::followingDim(OpOperand &, unsigned dim) {
  return positionIn(getDims(), dim) ? std::nullopt : std::optional<unsigned>(dim - countBelow(getDims(), dim));
}

namespace {
/// A sum over several dimensions as a sum of sums: its error grows with the extents, not with their product.
class NestedSum {
public:
  NestedSum(Location loc, Type type, ElementEmitter &emitter,
            llvm::function_ref<Value(OpBuilder &, ValueRange)> element)
      : loc(loc), type(type), emitter(emitter), element(element) {}

  Value emit(OpBuilder &builder, ArrayRef<SymbolicInt> counts) {
    if (counts.empty())
      return element(builder, indices);
    Value zero = initialValue(builder, loc, ReductionKind::Sum, type);
    return emitter.loop(builder, loc, counts.front(), zero, [&](OpBuilder &inner, Value index, Value carried) {
      indices.push_back(index);
      Value part = emit(inner, counts.drop_front());
      indices.pop_back();
      return combine(inner, loc, ReductionKind::Sum, type, carried, part);
    });
  }

private:
  Location loc;
  Type type;
  ElementEmitter &emitter;
  llvm::function_ref<Value(OpBuilder &, ValueRange)> element;
  SmallVector<Value> indices;
};
} // namespace

Shape ReduceOp::reducedExtents() {
  Shape input = shapeOf(getInput()), extents;
  for (int64_t dim : getDims())
    extents.push_back(input[dim]);
  return extents;
}

Value ReduceOp::initial(OpBuilder &builder, Location loc) {
  return initialValue(builder, loc, getKind(), tensorTypeOf(getResult()).getElementType());
}

/// The element of the input at an index of the result and one of the reduced dimensions.
static Value inputElement(ReduceOp op, OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced,
                          ElementEmitter &emitter) {
  SmallVector<Value> source(tensorTypeOf(op.getInput()).getRank());
  for (auto [dim, value] : llvm::zip(op.getDims(), reduced))
    source[dim] = value;
  unsigned next = 0;
  for (Value &value : source)
    if (!value)
      value = index[next++];
  return emitter.element(builder, loc, op.getInput(), source);
}

Value ReduceOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                           ElementEmitter &emitter) {
  return combine(builder, loc, getKind(), tensorTypeOf(getResult()).getElementType(), carried,
                 inputElement(*this, builder, loc, index, reduced, emitter));
}

Value ReduceOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Type type = tensorTypeOf(getResult()).getElementType();
  if (getKind() != ReductionKind::Sum || !isa<FloatType>(type))
    return emitReduction(builder, loc, *this, index, emitter);
  auto elementAt = [&](OpBuilder &b, ValueRange reduced) {
    return inputElement(*this, b, loc, index, reduced, emitter);
  };
  return NestedSum(loc, type, emitter, elementAt).emit(builder, reducedExtents());
}

ElementKind ReduceOp::elementKind() { return ElementKind::Reduction; }

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

/// [batch..., lhs free..., rhs free...]
static Shape productShape(ContractOp op) {
  Shape lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs()), shape;
  SmallVector<int64_t> lhsUsed(op.getLhsBatch()), rhsUsed(op.getRhsBatch());
  llvm::append_range(lhsUsed, op.getLhsContracted());
  llvm::append_range(rhsUsed, op.getRhsContracted());
  for (int64_t dim : op.getLhsBatch())
    shape.push_back(lhs[dim]);
  shape.append(dropDims(lhs, lhsUsed));
  shape.append(dropDims(rhs, rhsUsed));
  return shape;
}

LogicalResult ContractOp::verify() {
  if (failed(verifyNumbers(*this, "C4")))
    return failure();
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (getLhsBatch().size() != getRhsBatch().size() || getLhsContracted().size() != getRhsContracted().size())
    return emitOpError("C1: batch and contracted dimensions come in pairs");
  SmallVector<int64_t> lhsUsed(getLhsBatch()), rhsUsed(getRhsBatch());
  llvm::append_range(lhsUsed, getLhsContracted());
  llvm::append_range(rhsUsed, getRhsContracted());
  auto isValid = [](SmallVector<int64_t> dims, size_t rank) {
    llvm::sort(dims);
    return isStrictlyIncreasing(dims, rank);
  };
  if (!isValid(lhsUsed, lhs.size()) || !isValid(rhsUsed, rhs.size()))
    return emitOpError("C1: a dimension is listed twice or out of range");
  for (auto [l, r] : llvm::zip(lhsUsed, rhsUsed))
    if (provablyDiffer(lhs[l], rhs[r]))
      return emitOpError("C2: dimension ")
             << l << " of " << toString(lhs) << " is paired with dimension " << r << " of " << toString(rhs);
  return verifyExtents(*this, "C3", productShape(*this));
}

void ContractOp::addRequirements(Requirements &requirements) {
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch()))
    requirements.addEqual(lhs[l], rhs[r]);
  for (auto [l, r] : llvm::zip(getLhsContracted(), getRhsContracted()))
    requirements.addEqual(lhs[l], rhs[r]);
  requireExtents(requirements, getResult(), productShape(*this));
}

std::optional<unsigned> ContractOp::followingDim(OpOperand &operand, unsigned dim) {
  bool isLeft = operand.getOperandNumber() == 0;
  ArrayRef<int64_t> batch = isLeft ? getLhsBatch() : getRhsBatch();
  ArrayRef<int64_t> contracted = isLeft ? getLhsContracted() : getRhsContracted();
  if (positionIn(contracted, dim))
    return std::nullopt;
  if (std::optional<unsigned> paired = positionIn(batch, dim))
    return paired;
  unsigned free = dim - countBelow(batch, dim) - countBelow(contracted, dim);
  unsigned leftFree = tensorTypeOf(getLhs()).getRank() - batch.size() - getLhsContracted().size();
  return batch.size() + (isLeft ? 0 : leftFree) + free;
}

std::optional<MatrixProduct> ContractOp::asMatrixProduct() {
  auto operand = [](Value tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracted) {
    MatrixProduct::Operand dims{SmallVector<int64_t>(batch), {}, SmallVector<int64_t>(contracted)};
    for (int64_t dim = 0; dim < tensorTypeOf(tensor).getRank(); ++dim)
      if (!positionIn(batch, dim) && !positionIn(contracted, dim))
        dims.free.push_back(dim);
    return dims;
  };
  Shape read = shapeOf(getLhs());
  SmallVector<int64_t> steps(read.size(), 1);
  MatrixProduct product{read, steps, operand(getLhs(), getLhsBatch(), getLhsContracted()),
                        operand(getRhs(), getRhsBatch(), getRhsContracted()), 0};
  product.columnDim = static_cast<int64_t>(product.left.batch.size() + product.left.free.size());
  return product;
}

/// A row is read again for each column, and a column for each row.
bool ContractOp::readsAgain(unsigned operand) {
  MatrixProduct product = *asMatrixProduct();
  bool isLeft = operand == 0;
  Shape others = shapeOf(isLeft ? getRhs() : getLhs());
  return llvm::any_of(isLeft ? product.right.free : product.left.free,
                      [&](int64_t dim) { return others[dim] != SymbolicInt(1); });
}

Shape ContractOp::reducedExtents() {
  Shape lhs = shapeOf(getLhs()), extents;
  for (int64_t dim : getLhsContracted())
    extents.push_back(lhs[dim]);
  return extents;
}

Value ContractOp::initial(OpBuilder &builder, Location loc) {
  return initialValue(builder, loc, ReductionKind::Sum, tensorTypeOf(getResult()).getElementType());
}

Value ContractOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                             ElementEmitter &emitter) {
  unsigned nextFree = getLhsBatch().size();
  auto source = [&](Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> over) {
    SmallVector<Value> values(tensorTypeOf(operand).getRank());
    for (auto [i, dim] : llvm::enumerate(batch))
      values[dim] = index[i];
    for (auto [i, dim] : llvm::enumerate(over))
      values[dim] = reduced[i];
    for (Value &value : values)
      if (!value)
        value = index[nextFree++];
    return values;
  };
  Type type = tensorTypeOf(getResult()).getElementType();
  SmallVector<Value> left = source(getLhs(), getLhsBatch(), getLhsContracted());
  SmallVector<Value> right = source(getRhs(), getRhsBatch(), getRhsContracted());
  Value a = extend(builder, loc, emitter.element(builder, loc, getLhs(), left), getLhs(), type);
  Value b = extend(builder, loc, emitter.element(builder, loc, getRhs(), right), getRhs(), type);
  return multiplyAdd(builder, loc, a, b, carried);
}

Value ContractOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  return emitReduction(builder, loc, *this, index, emitter);
}

ElementKind ContractOp::elementKind() { return ElementKind::Reduction; }
