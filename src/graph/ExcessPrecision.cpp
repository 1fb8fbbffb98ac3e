//===- ExcessPrecision.cpp - f16 and bf16 computed in f32 -----------------===//
//
// Implements Builder::cast(), and the rule behind it: an operator of the model computes f16 and bf16 in f32, and
// rounds its results once. So if such an operator (beginOperator) casts an f16 or bf16 value of its own to f32, the
// cast recomputes that value without rounding, from the last f32 values and through at most eight maps, views, and
// maximum or minimum pools. Values that another operator of the model made stay rounded, and so do those that
// roundingCast() made. Passes are within no operator of the model: their casts do not recompute.
//
//===----------------------------------------------------------------------===//

#include "graph/Scalars.h"
#include "graph/builder/Builder.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace perpend::graph {

Builder::~Builder() {
  if (inserted)
    operations.setListener(nullptr);
}

void Builder::beginOperator(Location node, std::string text) {
  if (!inserted) {
    inserted = std::make_unique<InsertedOperations>();
    operations.setListener(inserted.get());
  }
  inserted->operations.clear();
  location = node;
  subject = std::move(text);
  operands.clear();
}

void Builder::keepRounded(Value value) {
  if (inserted && value)
    inserted->operations.erase(value.getDefiningOp());
}

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }
static Type widenedType(Type type) { return isNarrow(type) ? Float32Type::get(type.getContext()) : type; }
static Value widened(Builder &builder, Value narrow, unsigned depth);

/// The operands in f32; empty if none of them has been rounded.
static SmallVector<Value> widenedOperands(Builder &builder, ValueRange operands, unsigned depth) {
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(isNarrow(tensorTypeOf(operand).getElementType()) ? widened(builder, operand, depth) : Value());
  if (llvm::none_of(wide, [](Value value) { return bool(value); }))
    return {};
  for (auto [value, operand] : llvm::zip(wide, operands))
    if (!value)
      value = builder.cast(operand, widenedType(tensorTypeOf(operand).getElementType()));
  return wide;
}

/// Clones the scalar code of a map with f32 instead of narrower types, dropping the conversions between them.
static Value widenedBody(OpBuilder &b, Block &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), [&](Value v) { return mapping.lookup(v); });
    SmallVector<Type> types = llvm::map_to_vector(op.getResultTypes(), widenedType);
    if (isa<arith::ExtFOp, arith::TruncFOp>(op) && operands[0].getType() == types[0]) {
      mapping.map(op.getResult(0), operands[0]);
      continue;
    }
    NamedAttrList attributes(op.getAttrs());
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && isNarrow(constant.getType()))
      attributes.set("value", b.getF32FloatAttr(cast<FloatAttr>(constant.getValue()).getValueAsDouble()));
    Operation *clone = b.create(OperationState(op.getLoc(), op.getName().getStringRef(), operands, types, attributes));
    mapping.map(op.getResults(), clone->getResults());
  }
  return mapping.lookup(cast<YieldOp>(body.getTerminator()).getValues()[0]);
}

static Value widenedMap(Builder &builder, MapOp map, unsigned depth) {
  bool rounds = false;
  for (Operation &op : map.getBody().front()) {
    if (op.getNumRegions() || isa<arith::BitcastOp>(op) ||
        llvm::any_of(op.getOperandTypes(), [](Type type) { return type.isF64(); }))
      return {};
    rounds |= isa<arith::TruncFOp>(op);
  }
  SmallVector<Value> inputs = widenedOperands(builder, map.getInputs(), depth);
  if (inputs.empty() && !rounds)
    return {};
  if (inputs.empty())
    for (Value input : map.getInputs())
      inputs.push_back(builder.cast(input, widenedType(tensorTypeOf(input).getElementType())));
  auto yielded =
      dyn_cast_or_null<arith::TruncFOp>(map.getBody().front().getTerminator()->getOperand(0).getDefiningOp());
  if (yielded && isa<BlockArgument>(yielded.getIn()))
    return inputs[cast<BlockArgument>(yielded.getIn()).getArgNumber()];
  return builder.map(inputs, builder.f32(), [&](OpBuilder &b, Location, ValueRange arguments) {
    return widenedBody(b, map.getBody().front(), arguments);
  });
}

/// Recomputes an f16 or bf16 value without rounding, from the last values in f32; null if there are none.
static Value widened(Builder &builder, Value narrow, unsigned depth) {
  Operation *op = narrow.getDefiningOp();
  if (!op || depth == 0 || !builder.isOfThisOperator(op))
    return {};
  if (auto map = dyn_cast<MapOp>(op))
    return widenedMap(builder, map, depth - 1);
  auto window = dyn_cast<WindowReduceOp>(op);
  bool isChoice = window && (window.getKind() == ReductionKind::Max || window.getKind() == ReductionKind::Min);
  if (!isChoice && !isa<TransposeOp, ReshapeOp, ConcatOp, BroadcastOp, SliceOp>(op))
    return {};
  SmallVector<Value> operands = widenedOperands(builder, op->getOperands(), depth - 1);
  if (operands.empty())
    return {};
  Operation *clone = builder.operations.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(tensorType(shapeOf(narrow), builder.f32()));
  return clone->getResult(0);
}

Value Builder::roundingCast(Value input, Type elementType, MinifloatRounding rounding) {
  keepRounded(input);
  Value result = cast(input, elementType, rounding);
  keepRounded(result);
  return result;
}

Value Builder::cast(Value input, Type elementType, MinifloatRounding rounding) {
  constexpr unsigned mostSteps = 8; // most operators between two that compute in f32
  if (!input || tensorTypeOf(input).getElementType() == elementType)
    return input;
  Type from = tensorTypeOf(input).getElementType();
  if (isHandle(from) || isHandle(elementType))
    return castText(input, elementType);
  if (isNarrow(from) && elementType.isF32())
    if (Value wide = widened(*this, input, mostSteps))
      return wide;
  Value result = map(input, elementType, [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    return convert(builder, loc, arguments[0], from, elementType, rounding);
  });
  if (std::optional<Shape> known = contents(input); known && isa<IntegerType>(elementType) && !elementType.isInteger(1))
    recordContents(result, *known);
  return result;
}
} // namespace perpend::graph
