//===- ScaleDivision.cpp - quotients of scaled integers ---------------------===//

#include "graph/ScaleDivision.h"

#include "graph/composites/Formulas.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

static OpOperand &yielded(MapOp map) { return map.getBody().front().getTerminator()->getOpOperand(0); }

namespace {
/// Divides a value by a number, by dividing scales and other constants that it is made of.
class Division {
public:
  Division(GraphBuilder &builder, float divisor) : builder(builder), divisor(divisor) {}

  /// The map on divided operands, without the division in its body; null where it would take another operation for each
  /// element, or where no integers are found: such values are divided as the model says.
  MapOp without(MapOp map);

private:
  Value of(Value tensor);
  bool divide(MapOp map, OpOperand &use);
  bool divideArgument(MapOp map, BlockArgument argument);
  bool divideFactor(MapOp map, Operation *product);
  Value ofOperands(Operation *op);
  Operation *clone(Operation *op);

  GraphBuilder &builder;
  float divisor;
  bool hasIntegers = false;
  /// Operators that are being replaced, and those in their place.
  SmallPtrSet<Operation *, 8> users;
};
} // namespace

Operation *Division::clone(Operation *op) {
  OpBuilder::InsertionGuard guard(builder.operations);
  builder.operations.setInsertionPoint(op);
  Operation *copy = builder.operations.clone(*op);
  users.insert({op, copy});
  return copy;
}

Value Division::of(Value tensor) {
  if (!elementTypeOf(tensor).isF32())
    return {};
  if (std::optional<ScaledIntegers> numbers = scaledIntegersOf(builder, tensor)) {
    std::optional<Parameter> scale = over(numbers->scale, divisor);
    hasIntegers = true;
    return scale ? realNumbers(builder, {numbers->integers, numbers->zero, *scale}) : Value();
  }
  if (std::optional<Parameter> parameter = parameterOf(tensor)) {
    for (double &number : parameter->values)
      number = static_cast<float>(number) / divisor;
    if (!llvm::all_of(parameter->values, [](double number) { return std::isfinite(number); }))
      return {};
    return tensorOf(builder, *parameter, shapeOf(tensor));
  }
  Operation *op = tensor.getDefiningOp();
  bool isReplaced = op && op->getBlock() == builder.operations.getInsertionBlock() &&
                    llvm::all_of(tensor.getUsers(), [&](Operation *user) { return users.contains(user); });
  bool isDivided = isa_and_nonnull<MapOp, ReshapeOp, TransposeOp, SliceOp, ConcatOp, BroadcastOp>(op);
  return isReplaced && isDivided ? ofOperands(op) : Value();
}

Value Division::ofOperands(Operation *op) {
  Operation *copy = clone(op);
  OpBuilder::InsertionGuard guard(builder.operations);
  builder.operations.setInsertionPoint(copy);
  auto map = dyn_cast<MapOp>(copy);
  bool isDivided = map ? divide(map, yielded(map)) : true;
  for (unsigned i = 0; !map && isDivided && i < copy->getNumOperands(); ++i) {
    Value divided = of(copy->getOperand(i));
    if ((isDivided = divided != nullptr))
      copy->setOperand(i, divided);
  }
  if (isDivided)
    return copy->getResult(0);
  users.erase(copy);
  copy->erase();
  return {};
}

bool Division::divideArgument(MapOp map, BlockArgument argument) {
  Value divided = of(map.getInputs()[argument.getArgNumber()]);
  if (divided)
    map->setOperand(argument.getArgNumber(), divided);
  return divided != nullptr;
}

/// Whether a scalar is an integer as it is converted, maybe less a zero point.
static bool isOfIntegers(Value scalar) {
  if (auto difference = scalar.getDefiningOp<arith::SubFOp>())
    scalar = difference.getLhs();
  return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(scalar.getDefiningOp());
}

/// One factor of two: integers, or the scale of such. Other products are rounded as the model says.
bool Division::divideFactor(MapOp map, Operation *product) {
  for (OpOperand &factor : product->getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(factor.get());
    if (argument && argument.hasOneUse() && scaledIntegersOf(builder, map.getInputs()[argument.getArgNumber()]))
      return divideArgument(map, argument);
  }
  for (OpOperand &factor : product->getOpOperands())
    if (isOfIntegers(product->getOperand(1 - factor.getOperandNumber())) && parameterOf(map, factor.get()))
      return divide(map, factor);
  return false;
}

/// A scalar in the body of a map that is about to get another operand.
bool Division::divide(MapOp map, OpOperand &use) {
  Value scalar = use.get();
  APFloat number(0.0F);
  if (!scalar.getType().isF32())
    return false;
  if (matchPattern(scalar, m_ConstantFloat(&number))) {
    OpBuilder body(use.getOwner());
    APFloat quotient(number.convertToFloat() / divisor);
    if (!quotient.isFinite() || quotient.isDenormal() || quotient.isZero() != number.isZero())
      return false;
    use.set(body.create<arith::ConstantOp>(builder.location, body.getFloatAttr(scalar.getType(), quotient)));
    return true;
  }
  if (!scalar.hasOneUse())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return divideArgument(map, argument);
  Operation *op = scalar.getDefiningOp();
  if (isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
    return divide(map, op->getOpOperand(0)) && divide(map, op->getOpOperand(1));
  if (isa<arith::MulFOp>(op))
    return divideFactor(map, op);
  bool isOfOne = isa<arith::NegFOp>(op) || (isa<arith::DivFOp>(op) && parameterOf(map, op->getOperand(1)));
  return isOfOne && divide(map, op->getOpOperand(0));
}

/// x / t that is rounded to an integer.
static arith::DivFOp roundedQuotient(MapOp map) {
  for (auto rounding : map.getBody().getOps<math::RoundEvenOp>())
    if (auto quotient = rounding.getOperand().getDefiningOp<arith::DivFOp>(); quotient && quotient->hasOneUse())
      return quotient;
  return {};
}

/// Of integers times scales that are not too large, there is no NaN, for which maxima would be looked at again.
static void markNumbers(MapOp map) {
  auto flags = arith::FastMathFlagsAttr::get(map.getContext(), arith::FastMathFlags::nnan);
  map.getBody().walk([&](Operation *op) {
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      op->setAttr("fastmath", flags);
  });
}

MapOp Division::without(MapOp map) {
  auto copy = cast<MapOp>(clone(map));
  OpBuilder::InsertionGuard guard(builder.operations);
  builder.operations.setInsertionPoint(copy);
  arith::DivFOp quotient = roundedQuotient(copy);
  if (!divide(copy, quotient->getOpOperand(0)) || !hasIntegers) {
    copy.erase();
    return {};
  }
  quotient.replaceAllUsesWith(quotient.getLhs());
  quotient.erase();
  markNumbers(copy);
  return copy;
}

MapOp perpend::graph::withoutDivision(GraphBuilder &builder, MapOp map) {
  arith::DivFOp quotient = roundedQuotient(map);
  std::optional<Parameter> divisor = quotient ? parameterOf(map, quotient.getRhs()) : std::nullopt;
  // Maxima are those of quotients where the divisor is positive.
  if (!divisor || !divisor->isOne() || !areNormal(*divisor) || divisor->values.front() < 0)
    return {};
  return Division(builder, static_cast<float>(divisor->values.front())).without(map);
}
