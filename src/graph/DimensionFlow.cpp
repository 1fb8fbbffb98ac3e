//===- DimensionFlow.cpp - which dimensions each primitive keeps -----------===//

#include "graph/Shapes.h"

using namespace mlir;
using namespace perpend::graph;

using Dim = std::optional<unsigned>;

static Dim position(ArrayRef<int64_t> list, int64_t value) {
  const int64_t *found = llvm::find(list, value);
  return found == list.end() ? std::nullopt : Dim(found - list.begin());
}

static unsigned countBelow(ArrayRef<int64_t> list, int64_t value) {
  return llvm::count_if(list, [&](int64_t entry) { return entry < value; });
}

Dim MapOp::followingDim(OpOperand &, unsigned dim) { return dim; }
Dim BroadcastOp::followingDim(OpOperand &, unsigned dim) { return getDims()[dim]; }
bool BroadcastOp::repeatsOperands() { return true; }
Dim TransposeOp::followingDim(OpOperand &, unsigned dim) { return position(getPermutation(), dim); }

/// The dimension of the result with as many elements before and behind it.
Dim ReshapeOp::followingDim(OpOperand &, unsigned dim) {
  Shape from = shapeOf(getInput()), to = shapeOf(getResult());
  auto before = [](const Shape &shape, unsigned i) { return elementCount(ArrayRef(shape).take_front(i)); };
  auto behind = [](const Shape &shape, unsigned i) { return elementCount(ArrayRef(shape).drop_front(i + 1)); };
  for (unsigned i = 0; i < to.size(); ++i)
    if (to[i] == from[dim] && before(to, i) == before(from, dim) && behind(to, i) == behind(from, dim))
      return i;
  return std::nullopt;
}

Dim SliceOp::followingDim(OpOperand &, unsigned dim) {
  bool isWhole = getSteps()[dim] == 1 && getStarts().values()[dim] == SymbolicInt(0) &&
                 shapeOf(getInput())[dim] == shapeOf(getResult())[dim];
  return isWhole ? Dim(dim) : std::nullopt;
}

Dim PadOp::followingDim(OpOperand &, unsigned dim) {
  bool isWhole = getLow().values()[dim] == SymbolicInt(0) && shapeOf(getInput())[dim] == shapeOf(getResult())[dim];
  return isWhole ? Dim(dim) : std::nullopt;
}

Dim GatherOp::followingDim(OpOperand &operand, unsigned dim) {
  unsigned axis = getAxis(), indexRank = tensorTypeOf(getIndices()).getRank();
  if (operand.getOperandNumber() == getIndicesMutable().getOperandNumber())
    return axis + dim;
  if (dim == axis)
    return std::nullopt;
  return dim < axis ? dim : dim + indexRank - 1;
}

Dim ReduceOp::followingDim(OpOperand &, unsigned dim) {
  return position(getDims(), dim) ? std::nullopt : Dim(dim - countBelow(getDims(), dim));
}

Dim ContractOp::followingDim(OpOperand &operand, unsigned dim) {
  bool isLeft = operand.getOperandNumber() == 0;
  ArrayRef<int64_t> batch = isLeft ? getLhsBatch() : getRhsBatch();
  ArrayRef<int64_t> contracted = isLeft ? getLhsContracted() : getRhsContracted();
  if (position(contracted, dim))
    return std::nullopt;
  if (Dim paired = position(batch, dim))
    return paired;
  unsigned free = dim - countBelow(batch, dim) - countBelow(contracted, dim);
  unsigned leftFree = tensorTypeOf(getLhs()).getRank() - batch.size() - getLhsContracted().size();
  return batch.size() + (isLeft ? 0 : leftFree) + free;
}
