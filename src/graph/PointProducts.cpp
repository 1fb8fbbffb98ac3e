//===- PointProducts.cpp - products over channels, and enlarged tensors ---===//

#include "graph/PointProducts.h"

#include "graph/Graph.h"
#include "graph/builder/Builder.h"
#include "graph/composites/Formulas.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace perpend::graph {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool isOfPoints(ConvOp conv) {
  auto all = [](ArrayRef<int64_t> values, int64_t wanted) {
    return llvm::all_of(values, [&](int64_t value) { return value == wanted; });
  };
  Shape filter = shapeOf(conv.getFilter()), input = shapeOf(conv.getInput()), result = shapeOf(conv.getResult());
  return conv.getChannelsLast() && conv.getGroups() == 1 && all(conv.getStrides(), 1) && all(conv.getPadLow(), 0) &&
         all(conv.getInputDilation(), 1) && ArrayRef(input).drop_back() == ArrayRef(result).drop_back() &&
         llvm::all_of(ArrayRef(filter).drop_back(2), [](const SymbolicInt &e) { return e == SymbolicInt(1); });
}

static bool isOfVectors(ContractOp contract) {
  int64_t last = rankOf(contract.getLhs()) - 1;
  return contract.getLhsBatch().empty() && contract.getLhsContracted() == ArrayRef(last) &&
         rankOf(contract.getRhs()) == 2;
}

std::optional<PointProduct> PointProduct::of(Operation *op) {
  if (auto conv = dyn_cast<ConvOp>(op); conv && isOfPoints(conv))
    return PointProduct(op, static_cast<int64_t>(shapeOf(conv.getFilter()).size()) - 2);
  if (auto contract = dyn_cast<ContractOp>(op); contract && isOfVectors(contract))
    return PointProduct(op, contract.getRhsContracted().front());
  return std::nullopt;
}

Value PointProduct::build(Builder &builder, Value input, const SymbolicInt &first) const {
  Value matrix = op->getOperand(1);
  SymbolicInt channels = shapeOf(input).back();
  if (channels != shapeOf(matrix)[matrixDim])
    matrix = sliceAxis(builder, matrix, matrixDim, first, channels);
  Type type = elementTypeOf(op->getResult(0));
  int64_t last = rankOf(input) - 1;
  if (isa<ContractOp>(op))
    return builder.contract(input, matrix, {}, {}, {last}, {matrixDim}, type);
  Window window;
  window.channelsLast = true;
  SmallVector<int64_t> ones(last - 1, 1), zeros(last - 1, 0);
  window.strides = window.dilations = window.inputDilation = ones;
  window.padLow = window.padHigh = zeros;
  return builder.conv(input, matrix, window, type);
}

//===----------------------------------------------------------------------===//
// Enlarged tensors
//===----------------------------------------------------------------------===//

std::optional<Enlargement> Enlargement::of(Value value) {
  auto map = value.getDefiningOp<MapOp>();
  if (!map || !value.hasOneUse())
    return std::nullopt;
  Enlargement enlargement(map);
  const int64_t last = rankOf(value) - 1;
  for (Value input : map.getInputs()) {
    auto broadcast = input.getDefiningOp<BroadcastOp>();
    auto gather = input.getDefiningOp<GatherOp>();
    if (broadcast ? llvm::is_contained(broadcast.getDims(), last) : !gather)
      return std::nullopt;
    if (broadcast)
      continue;
    bool isOther = enlargement.tensor && gather.getInput() != enlargement.tensor;
    if (isOther || static_cast<int64_t>(gather.getAxis()) == last || rankOf(gather.getIndices()) != 1 ||
        elementTypeOf(input) != elementTypeOf(value))
      return std::nullopt;
    enlargement.tensor = gather.getInput();
  }
  Value result = map.getBody().front().getTerminator()->getOperand(0);
  return enlargement.tensor && enlargement.isLinear(result) ? std::optional(enlargement) : std::nullopt;
}

Value Enlargement::build(Builder &builder, Value other) const {
  SmallVector<Value> inputs;
  Value result = map->getResult(0);
  Shape shape = shapeOf(result);
  shape.back() = shapeOf(other).back();
  for (Value input : map->getOperands())
    if (auto gather = input.getDefiningOp<GatherOp>())
      inputs.push_back(builder.gather(other, gather.getIndices(), gather.getAxis()));
    else if (auto broadcast = input.getDefiningOp<BroadcastOp>())
      inputs.push_back(builder.broadcast(broadcast.getInput(), broadcast.getDims(), shape));
  auto made = builder.operations.create<MapOp>(map->getLoc(), tensorType(shape, elementTypeOf(result)), inputs);
  IRMapping mapping;
  map->getRegion(0).cloneInto(&made.getBody(), mapping);
  return made.getResult();
}

bool Enlargement::isElement(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && map->getOperand(argument.getArgNumber()).getDefiningOp<GatherOp>();
}

/// A number that does not depend on elements.
bool Enlargement::isFactor(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? llvm::all_of(op->getOperands(), [&](Value operand) { return isFactor(operand); }) : !isElement(value);
}

bool Enlargement::isLinear(Value value) const {
  if (isElement(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return isLinear(op->getOperand(0)) && isLinear(op->getOperand(1));
  return isa_and_nonnull<arith::MulFOp>(op) && ((isLinear(op->getOperand(0)) && isFactor(op->getOperand(1))) ||
                                                (isFactor(op->getOperand(0)) && isLinear(op->getOperand(1))));
}

ValueRange partsOfChannels(Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  bool isOfChannels = concat && value.hasOneUse() && static_cast<int64_t>(concat.getAxis()) == rankOf(value) - 1;
  return isOfChannels ? concat->getOperands() : ValueRange();
}
} // namespace perpend::graph
