//===- Updates.cpp - blocks written into a tensor -------------------------===//
//
// This file has the operator update, and the interface by which concat and scatter are updates, too: a concat appends
// to its first operand, a scatter without a reduction overwrites elements of its first operand.
//
//===----------------------------------------------------------------------===//

#include "graph/Updates.h"

#include "graph/Requirements.h"
#include "graph/builder/Builder.h"
#include "graph/primitives/Constraints.h"
#include "graph/primitives/IndexMath.h"

using namespace mlir;
using namespace perpend::graph;

#include "graph/GraphUpdateInterface.cpp.inc"
#define GET_OP_CLASSES
#include "graph/GraphUpdates.cpp.inc"

LogicalResult UpdateOp::verify() {
  Shape input = shapeOf(getInput()), block = shapeOf(getBlock()), result = shapeOf(getResult());
  if (getAxis() >= static_cast<uint64_t>(input.size()))
    return emitOpError("C1: axis ") << getAxis() << " of a tensor of rank " << input.size();
  bool fits = block.size() == input.size() && result.size() == input.size() &&
              scalarTypeOf(getBlock()) == scalarTypeOf(getInput()) &&
              scalarTypeOf(getResult()) == scalarTypeOf(getInput());
  for (size_t dim = 0; fits && dim < input.size(); ++dim)
    fits = dim == getAxis() || !(provablyDiffer(block[dim], input[dim]) || provablyDiffer(result[dim], input[dim]));
  if (!fits)
    return emitOpError("C2: expected a block and a result that differ from ")
           << getInput().getType() << " along axis " << getAxis() << " alone, got " << getBlock().getType() << " and "
           << getResult().getType();
  if (getOffset().getDims().size() != 1)
    return emitOpError("C3: expected one offset, got ") << getOffset().getDims().size();
  SymbolicInt offset = getOffset().values()[0], end = offset + block[getAxis()];
  if (result[getAxis()] != input[getAxis()] && provablyDiffer(end, result[getAxis()]))
    return emitOpError("C4: expected a block that ends with the result, at ")
           << result[getAxis()].str() << ", got one that ends at " << end.str();
  if ((end - result[getAxis()]).knownPositive())
    return emitOpError("C4: expected a block inside of ")
           << result[getAxis()].str() << " elements, got one that ends at " << end.str();
  return success();
}

void UpdateOp::addRequirements(Requirements &requirements) {
  Shape input = shapeOf(getInput()), block = shapeOf(getBlock()), result = shapeOf(getResult());
  SymbolicInt offset = getOffset().values()[0], end = offset + block[getAxis()];
  for (size_t dim = 0; dim < input.size(); ++dim)
    if (dim != getAxis()) {
      requirements.addEqual(block[dim], input[dim]);
      requirements.addEqual(result[dim], input[dim]);
    }
  requirements.addNonNegative(offset);
  if (result[getAxis()] == input[getAxis()]) {
    requirements.addNonNegative(input[getAxis()] - end);
  } else {
    requirements.addEqual(end, result[getAxis()]);
    requirements.addNonNegative(input[getAxis()] - offset);
    requirements.addNonNegative(end - input[getAxis()]);
  }
}

Value UpdateOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  SymbolicInt offset = getOffset().values()[0];
  SmallVector<Value> source(index);
  if (offset != SymbolicInt(0))
    source[getAxis()] = math.sub(index[getAxis()], math.extent(offset));
  Value isInside = math.isInside(source[getAxis()], math.extent(shapeOf(getBlock())[getAxis()]));
  return math.choose(
      isInside, scalarTypeOf(getResult()),
      [&](OpBuilder &then) { return emitter.element(then, loc, getBlock(), source); },
      [&](OpBuilder &otherwise) { return emitter.element(otherwise, loc, getInput(), index); });
}

ElementKind UpdateOp::elementKind() { return ElementKind::View; }

unsigned UpdateOp::updatedDim() { return getAxis(); }

SmallVector<UpdatedBlock> UpdateOp::updatedBlocks() { return {{1, getOffset().values()[0]}}; }

//===----------------------------------------------------------------------===//
// Other operators
//===----------------------------------------------------------------------===//

namespace {
/// The first operand, longer.
struct ConcatUpdate : UpdateInterface::ExternalModel<ConcatUpdate, ConcatOp> {
  unsigned updatedDim(Operation *op) const { return cast<ConcatOp>(op).getAxis(); }

  SmallVector<UpdatedBlock> updatedBlocks(Operation *op) const {
    auto concat = cast<ConcatOp>(op);
    SmallVector<UpdatedBlock> blocks;
    SymbolicInt end = shapeOf(concat.getInputs()[0])[concat.getAxis()];
    for (unsigned operand = 1; operand < concat.getInputs().size(); ++operand) {
      blocks.push_back({operand, end});
      end = end + shapeOf(concat.getInputs()[operand])[concat.getAxis()];
    }
    return blocks;
  }
};

struct ScatterUpdate : UpdateInterface::ExternalModel<ScatterUpdate, ScatterOp> {
  SmallVector<UpdatedBlock> updatedBlocks(Operation *) const { return {{2, SymbolicInt(0)}}; }
  std::optional<unsigned> positionsOperand(Operation *) const { return 1; }
  bool isUpdate(Operation *op) const {
    auto scatter = cast<ScatterOp>(op);
    return !scatter.getKind() && scatter.indexedDims() &&
           tensorTypeOf(scatter.getIndices()).getElementType().getIntOrFloatBitWidth() >= 8;
  }
};
} // namespace

void perpend::graph::attachUpdates(MLIRContext *context) {
  ConcatOp::attachInterface<ConcatUpdate>(*context);
  ScatterOp::attachInterface<ScatterUpdate>(*context);
}

Value perpend::graph::update(Builder &b, Value input, Value block, const SymbolicInt &offset, int64_t axis) {
  if (!input || !block)
    return {};
  Shape shape = shapeOf(input), expected = shape;
  bool fits = axis >= 0 && axis < static_cast<int64_t>(shape.size()) && shapeOf(block).size() == shape.size() &&
              tensorTypeOf(block).getElementType() == tensorTypeOf(input).getElementType();
  if (fits)
    expected[axis] = shapeOf(block)[axis];
  for (size_t dim = 0; fits && dim < shape.size(); ++dim)
    fits = !provablyDiffer(shapeOf(block)[dim], expected[dim]);
  if (!fits)
    return b.fail("update along axis " + Twine(axis) + ": expected a block like " + typeText(input) +
                  " but for this axis, got " + typeText(block));
  if (offset == SymbolicInt(0) && expected[axis] == shape[axis])
    return block;
  if (offset == shape[axis])
    shape[axis] = offset + expected[axis];
  return b.operations.create<UpdateOp>(b.location, tensorType(shape, tensorTypeOf(input).getElementType()), input,
                                       block, ShapeAttr::get(input.getContext(), offset), axis);
}
