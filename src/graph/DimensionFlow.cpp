//===- DimensionFlow.cpp - which dimensions an operator keeps --------------===//

#include "graph/DimensionFlow.h"
#include "graph/Shapes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace perpend::graph {
namespace {

std::optional<unsigned> position(ArrayRef<int64_t> list, int64_t value) {
  const int64_t *found = llvm::find(list, value);
  return found == list.end() ? std::nullopt : std::optional<unsigned>(found - list.begin());
}

unsigned countBelow(ArrayRef<int64_t> list, int64_t value) {
  return llvm::count_if(list, [&](int64_t entry) { return entry < value; });
}

/// The dimension of `to` with as many elements before and behind it as dimension `dim` of `from`.
std::optional<unsigned> followReshape(ArrayRef<SymbolicInt> from, ArrayRef<SymbolicInt> to, unsigned dim) {
  SymbolicInt before = elementCount(from.take_front(dim)), behind = elementCount(from.drop_front(dim + 1));
  for (unsigned i = 0; i < to.size(); ++i)
    if (to[i] == from[dim] && elementCount(to.take_front(i)) == before && elementCount(to.drop_front(i + 1)) == behind)
      return i;
  return std::nullopt;
}

std::optional<unsigned> followSlice(SliceOp op, unsigned dim) {
  bool isWhole = op.getSteps()[dim] == 1 && op.getStarts().values()[dim] == SymbolicInt(0) &&
                 shapeOf(op.getInput())[dim] == shapeOf(op.getResult())[dim];
  return isWhole ? std::optional(dim) : std::nullopt;
}

std::optional<unsigned> followPad(PadOp op, unsigned dim) {
  bool isWhole =
      op.getLow().values()[dim] == SymbolicInt(0) && shapeOf(op.getInput())[dim] == shapeOf(op.getResult())[dim];
  return isWhole ? std::optional(dim) : std::nullopt;
}

std::optional<unsigned> followGather(GatherOp op, OpOperand &operand, unsigned dim) {
  unsigned axis = op.getAxis(), indexRank = tensorTypeOf(op.getIndices()).getRank();
  if (operand.getOperandNumber() == op.getIndicesMutable().getOperandNumber())
    return axis + dim;
  if (dim == axis)
    return std::nullopt;
  return dim < axis ? dim : dim + indexRank - 1;
}

std::optional<unsigned> followContract(ContractOp op, OpOperand &operand, unsigned dim) {
  bool isLeft = operand.getOperandNumber() == 0;
  ArrayRef<int64_t> batch = isLeft ? op.getLhsBatch() : op.getRhsBatch();
  ArrayRef<int64_t> contracted = isLeft ? op.getLhsContracted() : op.getRhsContracted();
  if (position(contracted, dim))
    return std::nullopt;
  if (std::optional<unsigned> paired = position(batch, dim))
    return paired;
  unsigned free = dim - countBelow(batch, dim) - countBelow(contracted, dim);
  unsigned leftFree = tensorTypeOf(op.getLhs()).getRank() - batch.size() - op.getLhsContracted().size();
  return batch.size() + (isLeft ? 0 : leftFree) + free;
}

} // namespace

std::optional<unsigned> followingDim(OpOperand &operand, unsigned dim) {
  if (!hasDimensionFlow(operand.getOwner()))
    return std::nullopt;
  using Dim = std::optional<unsigned>;
  return llvm::TypeSwitch<Operation *, Dim>(operand.getOwner())
      .Case<MapOp, CallLibraryOp>([&](auto) { return dim; })
      .Case([&](BroadcastOp op) { return op.getDims()[dim]; })
      .Case([&](TransposeOp op) { return position(op.getPermutation(), dim); })
      .Case([&](ReshapeOp op) { return followReshape(shapeOf(op.getInput()), shapeOf(op.getResult()), dim); })
      .Case([&](SliceOp op) { return followSlice(op, dim); })
      .Case([&](PadOp op) { return followPad(op, dim); })
      .Case([&](GatherOp op) { return followGather(op, operand, dim); })
      .Case([&](ReduceOp op) { return position(op.getDims(), dim) ? Dim() : Dim(dim - countBelow(op.getDims(), dim)); })
      .Case([&](ContractOp op) { return followContract(op, operand, dim); })
      .Default([](Operation *) { return Dim(); });
}

bool hasDimensionFlow(Operation *op) {
  if (isa<CallLibraryOp>(op))
    return op->hasAttr("graph.elementwise");
  return isa<MapOp, BroadcastOp, TransposeOp, ReshapeOp, SliceOp, PadOp, GatherOp, ReduceOp, ContractOp>(op);
}
} // namespace perpend::graph
