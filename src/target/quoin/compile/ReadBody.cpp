//===- ReadBody.cpp - the body of a block as a tree -----------------------===//
#include "target/quoin/compile/ReadBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using perpend::support::SymbolicInt;

namespace perpend::quoin {

DType typeOf(Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isInteger(1))
    return DType::Pred8;
  if (type.isUnsignedInteger(8))
    return DType::U8;
  if (type.isUnsignedInteger())
    return DType::None;
  if (type.isInteger(8))
    return DType::I8;
  if (type.isInteger(16))
    return DType::I16;
  return type.isInteger(32) ? DType::I32 : DType::None;
}

unsigned BodyReader::addNode(Node node) {
  nodes.push_back(std::move(node));
  loads.emplace_back();
  return static_cast<unsigned>(nodes.size() - 1);
}

std::optional<Affine> BodyReader::indexOf(mlir::Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && isa<tile::BlockOp>(argument.getOwner()->getParentOp()))
    return view.iterator(argument.getArgNumber());
  auto known = values.find(value);
  if (known == values.end())
    return std::nullopt;
  const Affine *index = std::get_if<Affine>(&known->second);
  return index ? std::optional(*index) : std::nullopt;
}

std::optional<Affine> BodyReader::evaluate(const SymbolicInt &value, ValueRange variables) {
  return view.evaluate(value, [&](StringRef name) -> std::optional<Affine> {
    unsigned number = 0;
    if (name.consume_front("%"))
      return name.getAsInteger(10, number) ? std::nullopt : indexOf(variables[number]);
    auto symbol = symbols.find(name);
    return symbol == symbols.end() ? std::nullopt : std::optional(Affine{symbol->second, {}});
  });
}

std::optional<ElementAt> BodyReader::elementAt(mlir::Value buffer, graph::ShapeAttr indices, ValueRange variables) {
  ElementAt element;
  auto number = buffers.find(buffer);
  if (number == buffers.end())
    return std::nullopt;
  element.buffer = number->second;
  auto type = cast<tile::BufferType>(buffer.getType());
  for (auto [extent, index] : llvm::zip_equal(type.extents(), indices.values())) {
    std::optional<Affine> size = evaluate(extent, {}), at = evaluate(index, variables);
    if (!size || !at)
      return std::nullopt;
    Affine scaled;
    scaled.add(element.offset, size->base).add(*at);
    element.offset = std::move(scaled);
  }
  return element;
}

std::optional<unsigned> BodyReader::nodeOf(mlir::Value value) {
  const Known known = values.lookup(value);
  if (const unsigned *node = std::get_if<unsigned>(&known))
    return *node;
  const bool *truth = std::get_if<bool>(&known);
  if (!truth)
    return std::nullopt;
  Node node;
  node.type = DType::Pred8;
  node.number = *truth;
  return addNode(std::move(node));
}

bool BodyReader::apply(Operation *op, Opcode opcode, DType type, ArrayRef<mlir::Value> operands) {
  Node node;
  node.kind = Node::Apply;
  node.opcode = opcode;
  node.type = type;
  for (mlir::Value operand : operands) {
    std::optional<unsigned> number = nodeOf(operand);
    if (!number || nodes[*number].type == DType::None)
      return refuse("an operand of " + op->getName().getStringRef() + " is no element");
    node.operands.push_back(*number);
  }
  if (type == DType::None)
    return refuse("the type of " + op->getName().getStringRef() + " is none of the units'");
  values[op->getResult(0)] = addNode(std::move(node));
  return true;
}

bool BodyReader::visitConstant(Operation *op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  mlir::Value result = op->getResult(0);
  if (result.getType().isIndex())
    return values[result] = Affine{cast<IntegerAttr>(value).getInt(), {}}, true;
  if (result.getType().isInteger(1))
    return values[result] = !cast<IntegerAttr>(value).getValue().isZero(), true;
  Node node;
  node.type = typeOf(result.getType());
  if (auto number = dyn_cast<FloatAttr>(value))
    node.number = number.getValueAsDouble();
  else if (auto integer = dyn_cast<IntegerAttr>(value); integer && integer.getValue().getSignificantBits() <= 53)
    node.number = static_cast<double>(integer.getValue().getSExtValue());
  else
    return refuse("a constant that is no number");
  values[result] = addNode(std::move(node));
  return true;
}

/// Of indices.
bool BodyReader::visitCompare(Operation *op) {
  auto compare = cast<arith::CmpIOp>(op);
  std::optional<Affine> a = indexOf(compare.getLhs()), b = indexOf(compare.getRhs());
  if (!a || !b)
    return refuse("a condition on an index that is not affine");
  Affine below = Affine(*a).add(*b, -1), above = Affine(*b).add(*a, -1); // a < b, a > b
  auto isLess = [&](const Affine &difference) { return view.isNegative(difference); };
  std::optional<bool> result;
  auto negate = [](std::optional<bool> value) { return value ? std::optional(!*value) : value; };
  auto both = [](std::optional<bool> x, std::optional<bool> y) {
    return x && y ? std::optional(*x && *y) : std::nullopt;
  };
  using enum arith::CmpIPredicate;
  auto isUnsignedLess = [&](const Affine &x, const Affine &difference) -> std::optional<bool> {
    std::optional<bool> isNegative = view.isNegative(x);
    if (!isNegative || *isNegative)
      return negate(isNegative);
    return isLess(difference);
  };
  switch (compare.getPredicate()) {
  case slt:
    result = isLess(below);
    break;
  case sge:
    result = negate(isLess(below));
    break;
  case sgt:
    result = isLess(above);
    break;
  case sle:
    result = negate(isLess(above));
    break;
  case ult:
    result = isUnsignedLess(*a, below);
    break;
  case uge:
    result = negate(isUnsignedLess(*a, below));
    break;
  case eq:
    result = both(negate(isLess(below)), negate(isLess(above)));
    break;
  case ne:
    result = negate(both(negate(isLess(below)), negate(isLess(above))));
    break;
  default:
    break;
  }
  if (!result)
    return refuse("a condition that no cut of the iterators decides");
  values[op->getResult(0)] = *result;
  return true;
}

/// And, or and exclusive or, of which an operand may be known.
bool BodyReader::visitLogic(Operation *op) {
  const bool isAnd = isa<arith::AndIOp>(op), isOr = isa<arith::OrIOp>(op);
  Opcode opcode = isAnd ? Opcode::and_ : isOr ? Opcode::or_ : Opcode::xor_;
  if (!op->getResult(0).getType().isInteger(1))
    return apply(op, opcode, typeOf(op->getResult(0).getType()), {op->getOperand(0), op->getOperand(1)});
  const Known a = values.lookup(op->getOperand(0)), b = values.lookup(op->getOperand(1));
  const bool *known = std::get_if<bool>(&a), *other = std::get_if<bool>(&b);
  if (known && other)
    return values[op->getResult(0)] = isAnd ? *known && *other : isOr ? *known || *other : *known != *other, true;
  const Known &rest = known ? b : a;
  const bool *one = known ? known : other;
  if (one && (isAnd || isOr))
    return values[op->getResult(0)] = *one == isAnd ? rest : Known(!isAnd), true;
  return apply(op, opcode, DType::Pred8, {op->getOperand(0), op->getOperand(1)});
}

bool BodyReader::visitSelect(Operation *op) {
  auto select = cast<arith::SelectOp>(op);
  const Known condition = values.lookup(select.getCondition());
  if (const bool *truth = std::get_if<bool>(&condition)) {
    mlir::Value chosen = *truth ? select.getTrueValue() : select.getFalseValue();
    if (std::optional<Affine> index = chosen.getType().isIndex() ? indexOf(chosen) : std::nullopt)
      values[op->getResult(0)] = *index;
    else
      values[op->getResult(0)] = values.lookup(chosen);
    return true;
  }
  return apply(op, Opcode::sel, typeOf(op->getResult(0).getType()),
               {select.getCondition(), select.getTrueValue(), select.getFalseValue()});
}

bool BodyReader::visitIf(Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  const Known condition = values.lookup(branch.getCondition());
  const bool *truth = std::get_if<bool>(&condition);
  if (!truth)
    return refuse("a branch that data decides");
  Region &region = *truth ? branch.getThenRegion() : branch.getElseRegion();
  if (region.empty())
    return true;
  for (Operation &inner : region.front().without_terminator())
    if (!visit(&inner))
      return false;
  for (auto [result, value] : llvm::zip_equal(branch.getResults(), region.front().getTerminator()->getOperands())) {
    if (std::optional<Affine> index = value.getType().isIndex() ? indexOf(value) : std::nullopt)
      values[result] = *index;
    else
      values[result] = values.lookup(value);
  }
  return true;
}

bool BodyReader::visitCast(Operation *op) {
  const DType to = typeOf(op->getResult(0).getType());
  std::optional<unsigned> node = nodeOf(op->getOperand(0));
  if (!node)
    return refuse("a conversion of an index");
  const DType from = nodes[*node].type;
  if (isa<arith::UIToFPOp, arith::ExtUIOp>(op) && from != DType::U8 && from != DType::Pred8)
    return refuse("a conversion of unsigned " + nameOf(from));
  if (isa<arith::SIToFPOp, arith::ExtSIOp>(op) && (from == DType::U8 || from == DType::Pred8))
    return refuse("a conversion of signed " + nameOf(from));
  if (isa<arith::FPToUIOp>(op))
    return refuse("a conversion to unsigned integers");
  if (nodes[*node].kind == Node::Number) {
    Node copy = nodes[*node];
    copy.type = to;
    if (to == DType::None)
      return refuse("a type that is none of the units'");
    return values[op->getResult(0)] = addNode(std::move(copy)), true;
  }
  return apply(op, Opcode::cvt, to, {op->getOperand(0)});
}

bool BodyReader::visitCompareNumbers(Operation *op) {
  SmallVector<mlir::Value> operands(op->getOperands());
  auto compare = [&](Opcode opcode) { return apply(op, opcode, DType::Pred8, operands); };
  auto negated = [&](Opcode opcode) {
    if (!compare(opcode))
      return false;
    Node node;
    node.kind = Node::Apply;
    node.opcode = Opcode::not_;
    node.type = DType::Pred8;
    node.operands = {std::get<unsigned>(values[op->getResult(0)])};
    return values[op->getResult(0)] = addNode(std::move(node)), true;
  };
  if (auto floats = dyn_cast<arith::CmpFOp>(op)) {
    using enum arith::CmpFPredicate;
    switch (floats.getPredicate()) {
    case OEQ:
      return compare(Opcode::ceq);
    case UNE:
      return compare(Opcode::cne);
    case OLT:
      return compare(Opcode::clt);
    case OLE:
      return compare(Opcode::cle);
    case OGT:
      return compare(Opcode::cgt);
    case OGE:
      return compare(Opcode::cge);
    case UGE:
      return negated(Opcode::clt);
    case UGT:
      return negated(Opcode::cle);
    case ULE:
      return negated(Opcode::cgt);
    case ULT:
      return negated(Opcode::cge);
    case UNO:
      return floats.getLhs() == floats.getRhs() ? apply(op, Opcode::isnan, DType::Pred8, {floats.getLhs()})
                                                : refuse("a comparison with NaN");
    default:
      return refuse("a comparison that no unit has");
    }
  }
  using enum arith::CmpIPredicate;
  switch (cast<arith::CmpIOp>(op).getPredicate()) {
  case eq:
    return compare(Opcode::ceq);
  case ne:
    return compare(Opcode::cne);
  case slt:
    return compare(Opcode::clt);
  case sle:
    return compare(Opcode::cle);
  case sgt:
    return compare(Opcode::cgt);
  case sge:
    return compare(Opcode::cge);
  default:
    return refuse("a comparison of unsigned integers");
  }
}

/// Of indices.
bool BodyReader::visitIndexArithmetic(Operation *op) {
  std::optional<Affine> a = indexOf(op->getOperand(0)), b = op->getNumOperands() == 2 ? indexOf(op->getOperand(1)) : a;
  if (!a || !b)
    return refuse("an index that is not affine");
  if (isa<arith::AddIOp>(op))
    return values[op->getResult(0)] = a->add(*b), true;
  if (isa<arith::SubIOp>(op))
    return values[op->getResult(0)] = a->add(*b, -1), true;
  if (isa<arith::MulIOp>(op) && (a->terms.empty() || b->terms.empty())) {
    Affine product;
    product.add(a->terms.empty() ? *b : *a, a->terms.empty() ? a->base : b->base);
    return values[op->getResult(0)] = std::move(product), true;
  }
  return refuse("no unit computes " + op->getName().getStringRef() + " of indices");
}

bool BodyReader::visitArithmetic(Operation *op) {
  if (op->getNumResults() == 1 && op->getResult(0).getType().isIndex())
    return visitIndexArithmetic(op);
  std::optional<Opcode> opcode = llvm::TypeSwitch<Operation *, std::optional<Opcode>>(op)
                                     .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Opcode::add; })
                                     .Case<arith::SubFOp, arith::SubIOp>([](auto) { return Opcode::sub; })
                                     .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Opcode::mul; })
                                     .Case<arith::DivFOp, arith::DivSIOp>([](auto) { return Opcode::div; })
                                     .Case<arith::MaximumFOp, arith::MaxSIOp>([](auto) { return Opcode::max; })
                                     .Case<arith::MinimumFOp, arith::MinSIOp>([](auto) { return Opcode::min; })
                                     .Case<arith::RemFOp, arith::RemSIOp>([](auto) { return Opcode::mod; })
                                     .Case([](arith::NegFOp) { return Opcode::neg; })
                                     .Case<math::AbsFOp, math::AbsIOp>([](auto) { return Opcode::abs; })
                                     .Case([](math::SqrtOp) { return Opcode::sqrt; })
                                     .Case([](math::RsqrtOp) { return Opcode::rsqrt; })
                                     .Case([](math::ExpOp) { return Opcode::exp; })
                                     .Case([](math::Exp2Op) { return Opcode::exp2; })
                                     .Case([](math::LogOp) { return Opcode::ln; })
                                     .Case([](math::Log2Op) { return Opcode::log2; })
                                     .Case([](math::SinOp) { return Opcode::sin; })
                                     .Case([](math::CosOp) { return Opcode::cos; })
                                     .Case([](math::TanhOp) { return Opcode::tanh; })
                                     .Case([](math::ErfOp) { return Opcode::erf; })
                                     .Case([](math::FloorOp) { return Opcode::floor; })
                                     .Case([](math::CeilOp) { return Opcode::ceil; })
                                     .Case([](math::RoundEvenOp) { return Opcode::rne; })
                                     .Case([](math::TruncOp) { return Opcode::trunc; })
                                     .Case([](math::PowFOp) { return Opcode::pow; })
                                     .Case([](math::FmaOp) { return Opcode::fma; })
                                     .Default([](Operation *) { return std::nullopt; });
  if (!opcode)
    return refuse("no unit computes " + op->getName().getStringRef());
  SmallVector<mlir::Value> operands(op->getOperands());
  return apply(op, *opcode, typeOf(op->getResult(0).getType()), operands);
}

bool BodyReader::visit(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::ConstantOp) { return visitConstant(op); })
      .Case([&](tile::IndexOp index) {
        std::optional<Affine> value = evaluate(index.getExpression().values()[0], index.getVariables());
        if (!value)
          return refuse("an index that is not affine");
        return values[index] = *value, true;
      })
      .Case([&](tile::LoadOp load) {
        std::optional<ElementAt> element = elementAt(load.getBuffer(), load.getIndices(), load.getVariables());
        if (!element)
          return refuse("an address that is not affine");
        Node node;
        node.kind = Node::Load;
        node.type = typeOf(load.getBuffer().getType().getElementType());
        if (node.type == DType::None)
          return refuse("elements of a type that no unit has");
        unsigned number = addNode(std::move(node));
        loads[number] = std::move(*element);
        return values[load] = number, true;
      })
      .Case([&](tile::StoreOp store) {
        std::optional<ElementAt> element = elementAt(store.getBuffer(), store.getIndices(), store.getVariables());
        std::optional<unsigned> value = nodeOf(store.getValue());
        DType type = typeOf(store.getBuffer().getType().getElementType());
        if (!element || !value || type == DType::None)
          return refuse("a result whose address is not affine, or whose type no unit has");
        return stores.push_back({*value, std::move(*element), type}), true;
      })
      .Case([&](tile::InitOp) { return true; })
      .Case([&](scf::IfOp) { return visitIf(op); })
      .Case([&](arith::SelectOp) { return visitSelect(op); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](auto) { return visitLogic(op); })
      .Case([&](arith::CmpIOp compare) {
        return compare.getLhs().getType().isIndex() ? visitCompare(op) : visitCompareNumbers(op);
      })
      .Case([&](arith::CmpFOp) { return visitCompareNumbers(op); })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
            arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>([&](auto) { return visitCast(op); })
      .Default([&](Operation *) { return visitArithmetic(op); });
}

bool BodyReader::read(mlir::Block *body) {
  for (Operation &op : *body)
    if (!visit(&op))
      return false;
  return true;
}

} // namespace perpend::quoin
