//===- ScaleDivision.cpp - folds a division into scales -------------------===//

#include "graph/ScaleDivision.h"

#include "graph/composites/Formulas.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <variant>

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

/// The divided counterpart of a value.
using Divided = std::variant<ScaledIntegers, Parameter>;

namespace {
/// A map that rounds x / t, where x is computed from scales and constants that can be divided by t instead. All of
/// them are found first, so that nothing is created if one cannot be divided.
class Division {
public:
  Division(MapOp map, arith::DivFOp quotient, float divisor) : map(map), quotient(quotient), divisor(divisor) {}

  bool isPossible();
  /// The map that rounds x, on divided scales and constants.
  MapOp removed(GraphBuilder &builder);

private:
  /// Whether the value at this use can be divided, in an operator on tensors or in the scalar code of a map.
  bool divides(OpOperand &use);
  bool dividesScalar(MapOp map, OpOperand &use);
  bool dividesOperands(Operation *op);
  bool areOnlyReadDivided();
  bool dividesFactor(MapOp map, Operation *product);

  MapOp map;
  arith::DivFOp quotient;
  float divisor;
  /// The operators to copy: those that read a divided value, and the users of their results. Users come first.
  llvm::SetVector<Operation *> copied;
  llvm::DenseSet<OpOperand *> divided;
  SmallVector<std::pair<OpOperand *, Divided>> replaced;
};
} // namespace

static OpOperand &yielded(MapOp map) { return map.getBody().front().getTerminator()->getOpOperand(0); }

//===----------------------------------------------------------------------===//
// Finding what is divided
//===----------------------------------------------------------------------===//

bool Division::isPossible() {
  copied.insert(map);
  return dividesScalar(map, quotient->getOpOperand(0)) && areOnlyReadDivided() &&
         llvm::any_of(replaced, [](const auto &pair) { return std::holds_alternative<ScaledIntegers>(pair.second); });
}

/// A product whose other factor is divided is copied, too, but reads this factor undivided.
bool Division::areOnlyReadDivided() {
  return llvm::all_of(llvm::drop_begin(copied), [&](Operation *op) {
    return llvm::all_of(op->getUses(), [&](OpOperand &use) { return divided.contains(&use); });
  });
}

bool Division::divides(OpOperand &use) {
  Value tensor = use.get();
  divided.insert(&use);
  if (!elementTypeOf(tensor).isF32())
    return false;
  if (std::optional<ScaledIntegers> numbers = scaledIntegersOf(tensor)) {
    std::optional<Parameter> scale = over(numbers->scale, divisor);
    numbers->scale = scale.value_or(numbers->scale);
    replaced.push_back({&use, *numbers});
    return scale.has_value();
  }
  if (std::optional<Parameter> parameter = parameterOf(tensor)) {
    for (double &number : parameter->values)
      number = static_cast<float>(number) / divisor;
    replaced.push_back({&use, *parameter});
    return llvm::all_of(parameter->values, [](double number) { return std::isfinite(number); });
  }
  Operation *op = tensor.getDefiningOp();
  bool isOnlyReadHere = op && op->getBlock() == map->getBlock() &&
                        llvm::all_of(tensor.getUsers(), [&](Operation *user) { return copied.contains(user); });
  return isOnlyReadHere && (!copied.insert(op) || dividesOperands(op));
}

bool Division::dividesOperands(Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return dividesScalar(map, yielded(map));
  auto element = dyn_cast<ElementInterface>(op);
  if (!element || element.elementKind() != ElementKind::View)
    return false;
  TypedAttr filling = element.getFilling();
  return (!filling || matchPattern(filling, m_PosZeroFloat())) &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &use) { return !isFloat(use.get()) || divides(use); });
}

bool Division::dividesScalar(MapOp map, OpOperand &use) {
  Value scalar = use.get();
  APFloat number(0.0F);
  if (!scalar.getType().isF32())
    return false;
  if (matchPattern(scalar, m_ConstantFloat(&number))) {
    APFloat part(number.convertToFloat() / divisor);
    replaced.push_back({&use, Parameter::of(part.convertToFloat())});
    return part.isFinite() && !part.isDenormal() && part.isZero() == number.isZero();
  }
  if (!scalar.hasOneUse())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return divides(map->getOpOperand(argument.getArgNumber()));
  Operation *op = scalar.getDefiningOp();
  if (isa<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
    return dividesScalar(map, op->getOpOperand(0)) && dividesScalar(map, op->getOpOperand(1));
  if (isa<arith::MulFOp>(op))
    return dividesFactor(map, op);
  bool isOfOne = isa<arith::NegFOp>(op) || (isa<arith::DivFOp>(op) && parameterOf(map, op->getOperand(1)));
  return isOfOne && dividesScalar(map, op->getOpOperand(0));
}

/// Whether a scalar is a converted integer, possibly minus a zero point.
static bool isOfIntegers(Value scalar) {
  if (auto difference = scalar.getDefiningOp<arith::SubFOp>())
    scalar = difference.getLhs();
  return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(scalar.getDefiningOp());
}

/// Divides one of two factors: integers, or their scale. Other products keep the rounding of the model.
bool Division::dividesFactor(MapOp map, Operation *product) {
  for (OpOperand &factor : product->getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(factor.get());
    if (argument && argument.hasOneUse() && scaledIntegersOf(map.getInputs()[argument.getArgNumber()]))
      return divides(map->getOpOperand(argument.getArgNumber()));
  }
  for (OpOperand &factor : product->getOpOperands())
    if (isOfIntegers(product->getOperand(1 - factor.getOperandNumber())) && parameterOf(map, factor.get()))
      return dividesScalar(map, factor);
  return false;
}

//===----------------------------------------------------------------------===//
// Dividing
//===----------------------------------------------------------------------===//

static Value make(GraphBuilder &builder, Value original, const Divided &divided) {
  if (const auto *numbers = std::get_if<ScaledIntegers>(&divided))
    return realNumbers(builder, *numbers);
  const auto &constant = std::get<Parameter>(divided);
  if (isa<TensorType>(original.getType()))
    return tensorOf(builder, constant, shapeOf(original));
  auto number = builder.operations.getF32FloatAttr(static_cast<float>(constant.values.front()));
  return builder.operations.create<arith::ConstantOp>(builder.location, number);
}

/// NaN is never converted to an integer, so maxima and minima before the conversion need not handle it.
static void assumeNumbers(MapOp map) {
  auto flags = arith::FastMathFlagsAttr::get(map.getContext(), arith::FastMathFlags::nnan);
  for (Operation &op : map.getBody().front())
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      op.setAttr("fastmath", flags);
}

MapOp Division::removed(GraphBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder.operations);
  IRMapping copies;
  for (Operation *op : llvm::reverse(copied)) {
    builder.operations.setInsertionPoint(op);
    builder.operations.clone(*op, copies);
  }
  for (const auto &[use, divided] : replaced) {
    Operation *copy = copies.lookup(use->getOwner());
    builder.operations.setInsertionPoint(copy);
    copy->setOperand(use->getOperandNumber(), make(builder, use->get(), divided));
  }
  Operation *division = copies.lookup(quotient.getOperation());
  division->replaceAllUsesWith(ValueRange(division->getOperand(0)));
  division->erase();
  auto copy = cast<MapOp>(copies.lookup(map.getOperation()));
  if (!isFloat(copy.getResult()))
    assumeNumbers(copy);
  return copy;
}

/// Matches x / t rounded to an integer.
static arith::DivFOp roundedQuotient(MapOp map) {
  for (auto rounding : map.getBody().getOps<math::RoundEvenOp>())
    if (auto quotient = rounding.getOperand().getDefiningOp<arith::DivFOp>(); quotient && quotient->hasOneUse())
      return quotient;
  return {};
}

MapOp perpend::graph::withoutDivision(GraphBuilder &builder, MapOp map) {
  arith::DivFOp quotient = roundedQuotient(map);
  std::optional<Parameter> divisor = quotient ? parameterOf(map, quotient.getRhs()) : std::nullopt;
  // Maxima commute with the division if the divisor is positive.
  if (!divisor || !divisor->isOne() || !areNormal(*divisor) || divisor->values.front() < 0)
    return {};
  Division division(map, quotient, static_cast<float>(divisor->values.front()));
  return division.isPossible() ? division.removed(builder) : MapOp();
}
