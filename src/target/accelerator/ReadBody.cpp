//===- ReadBody.cpp - the body of a block as a tree -----------------------===//
#include "target/accelerator/ReadBody.h"

#include "tile/kernel/Buffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using perpend::support::SymbolicInt;

namespace perpend::accelerator {

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
  elementTypes.emplace_back();
  return static_cast<unsigned>(nodes.size() - 1);
}

std::optional<unsigned> BodyReader::nodeOf(mlir::Value value) {
  const Known known = values.lookup(value);
  if (const unsigned *node = std::get_if<unsigned>(&known))
    return *node;
  if (const Affine *index = std::get_if<Affine>(&known))
    return numberOf(*index, typeOf(value.getType()));
  if (const auto *samples = std::get_if<std::shared_ptr<Samples>>(&known))
    return elementOf(**samples, value.getType());
  const bool *truth = std::get_if<bool>(&known);
  if (!truth)
    return std::nullopt;
  Node node; // no instruction has a truth as a number
  node.kind = Node::Load;
  node.type = DType::Pred8;
  const unsigned number = addNode(std::move(node));
  loads[number].buffer = tableOf(DType::Pred8, 1, std::string(1, static_cast<char>(*truth)));
  return number;
}

std::optional<unsigned> BodyReader::elementOf(const Samples &samples, Type type) {
  if (type.isIndex())
    return std::nullopt;
  std::string contents;
  for (Attribute number : samples.values)
    appendBytes(contents, number);
  const auto bytes = static_cast<unsigned>(contents.size() / samples.values.size());
  Node node;
  node.kind = Node::Load;
  node.type = typeOf(type);
  const unsigned number = addNode(std::move(node));
  loads[number] = {tableOf(typeOf(type), bytes, std::move(contents)), view.iterator(samples.iterator)};
  elementTypes[number] = type;
  return number;
}

/// Whether a function is the same for integers with and without a sign.
static bool isSignless(Function function) {
  using enum Function;
  return llvm::is_contained({add, sub, mul, and_, or_, xor_, shl, ceq, cne, sel}, function);
}

/// Bytes without a sign are elements of a type of their own, and those with one in the operations.
void BodyReader::makeUnsigned(Node &node) {
  auto isUnsigned = [&](unsigned operand) { return nodes[operand].type == DType::U8; };
  if (!isSignless(node.function) || llvm::none_of(node.operands, isUnsigned))
    return;
  for (unsigned &operand : node.operands)
    if (Node number = nodes[operand]; number.kind == Node::Number && number.type == DType::I8) {
      number.type = DType::U8;
      number.number = static_cast<uint8_t>(static_cast<int64_t>(number.number));
      operand = addNode(std::move(number));
    }
  node.type = node.type == DType::I8 ? DType::U8 : node.type;
}

bool BodyReader::isOfUnsigned(Operation *op) {
  return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
    const Known known = values.lookup(operand);
    const unsigned *node = std::get_if<unsigned>(&known);
    return node && nodes[*node].type == DType::U8;
  });
}

bool BodyReader::apply(mlir::Value result, Function function, DType type, ArrayRef<mlir::Value> operands) {
  const StringRef name = result.getDefiningOp()->getName().getStringRef();
  Node node;
  node.kind = Node::Apply;
  node.function = function;
  node.type = type;
  for (mlir::Value operand : operands) {
    std::optional<unsigned> number = nodeOf(operand);
    if (!number || nodes[*number].type == DType::None)
      return refuse("an operand of " + name + " is no element that a unit has");
    node.operands.push_back(*number);
  }
  makeUnsigned(node);
  if (type == DType::None)
    return refuse("the type of " + name + " is none of the units'");
  values[result] = addNode(std::move(node));
  return true;
}

bool BodyReader::visitConstant(Operation *op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  mlir::Value result = op->getResult(0);
  if (result.getType().isIndex())
    return true; // indexOf finds it
  if (result.getType().isInteger(1))
    return values[result] = !cast<IntegerAttr>(value).getValue().isZero(), true;
  Node node;
  node.type = typeOf(result.getType());
  if (auto number = dyn_cast<FloatAttr>(value))
    node.number = number.getValueAsDouble();
  else if (auto integer = dyn_cast<IntegerAttr>(value); integer && integer.getValue().getSignificantBits() <= 53)
    node.number = static_cast<double>(integer.getValue().getSExtValue());
  else if (result.getType().isSignlessInteger(64))
    return true; // wideOf finds it
  else
    return refuse("a constant that is no number");
  const unsigned number = addNode(std::move(node));
  elementTypes[number] = result.getType();
  return values[result] = number, true;
}

/// And, or and exclusive or, of which an operand may be known.
bool BodyReader::visitLogic(Operation *op) {
  const bool isAnd = isa<arith::AndIOp>(op), isOr = isa<arith::OrIOp>(op);
  Function function = isAnd ? Function::and_ : isOr ? Function::or_ : Function::xor_;
  if (!op->getResult(0).getType().isInteger(1))
    return visitWide(op) || apply(op->getResult(0), function, typeOf(op->getResult(0).getType()),
                                  {op->getOperand(0), op->getOperand(1)});
  auto decided = [&](mlir::Value value) {
    std::optional<bool> truth = truthOf(value);
    return truth ? Known(*truth) : values.lookup(value);
  };
  const Known a = decided(op->getOperand(0)), b = decided(op->getOperand(1));
  const bool *known = std::get_if<bool>(&a), *other = std::get_if<bool>(&b);
  if (known && other)
    return values[op->getResult(0)] = isAnd ? *known && *other : isOr ? *known || *other : *known != *other, true;
  const Known &rest = known ? b : a;
  const bool *one = known ? known : other;
  if (one && (isAnd || isOr))
    return values[op->getResult(0)] = *one == isAnd ? rest : Known(!isAnd), true;
  return apply(op->getResult(0), function, DType::Pred8, {op->getOperand(0), op->getOperand(1)});
}

bool BodyReader::visitSelect(Operation *op) {
  auto select = cast<arith::SelectOp>(op);
  const Known condition = values.lookup(select.getCondition());
  const bool isIndex = op->getResult(0).getType().isIndex();
  const bool isElement = std::holds_alternative<std::shared_ptr<Samples>>(condition) && !isIndex;
  if (std::optional<bool> truth = isElement ? std::nullopt : truthOf(select.getCondition())) {
    mlir::Value chosen = *truth ? select.getTrueValue() : select.getFalseValue();
    if (std::optional<Affine> index = isCounted(chosen.getType()) ? indexOf(chosen) : std::nullopt)
      values[op->getResult(0)] = *index;
    else
      values[op->getResult(0)] = values.lookup(chosen);
    return true;
  }
  return choose(op->getResult(0), select.getCondition(), select.getTrueValue(), select.getFalseValue());
}

bool BodyReader::choose(mlir::Value result, mlir::Value condition, mlir::Value one, mlir::Value other) {
  if (typeOf(result.getType()) == DType::None) {
    auto isWide = [&](mlir::Value value) { return std::holds_alternative<Wide>(values.lookup(value)); };
    return ((isWide(one) || isWide(other)) && visitWide(result.getDefiningOp())) ||
           chooseBits(result, condition, one, other);
  }
  return apply(result, Function::sel, typeOf(result.getType()), {condition, one, other});
}

/// For moves: whether elements have a sign does not matter.
static bool areSameBits(Type type, Type other) {
  return type && isa<FloatType>(type) == isa<FloatType>(other) && tile::elementBytes(type) == tile::elementBytes(other);
}

/// Of elements that can only be moved.
bool BodyReader::chooseBits(mlir::Value result, mlir::Value condition, mlir::Value one, mlir::Value other) {
  Node node;
  node.kind = Node::Apply;
  node.function = Function::sel;
  std::optional<unsigned> truth = nodeOf(condition);
  if (!truth || nodes[*truth].type != DType::Pred8)
    return refuse("a choice by what is no truth");
  node.operands = {*truth};
  for (mlir::Value value : {one, other}) {
    std::optional<unsigned> number = nodeOf(value);
    if (!number || !areSameBits(elementTypes[*number], result.getType()))
      return refuse("a choice of elements of a type that no unit has");
    node.operands.push_back(*number);
  }
  const unsigned number = addNode(std::move(node));
  elementTypes[number] = result.getType();
  return values[result] = number, true;
}

bool BodyReader::visitIf(Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  std::optional<bool> truth = truthOf(branch.getCondition());
  if (!truth && !std::holds_alternative<std::monostate>(view.refinement))
    return refuse("a condition that no cut of the iterators decides");
  if (!truth)
    return visitBothBranches(op);
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

/// Computes both sides, and chooses: where that reads nothing, so that no side has to be left out.
bool BodyReader::visitBothBranches(Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    if (region->empty())
      return refuse("a branch that data decides");
    for (Operation &inner : region->front().without_terminator())
      if (isa<tile::LoadOp, tile::StoreOp>(inner) || inner.getNumRegions() || !visit(&inner))
        return refuse("a branch that data decides");
  }
  for (auto [result, one, other] :
       llvm::zip_equal(branch.getResults(), branch.thenYield()->getOperands(), branch.elseYield()->getOperands()))
    if (!choose(result, branch.getCondition(), one, other))
      return false;
  return true;
}

bool BodyReader::visitCast(Operation *op) {
  const Type type = op->getResult(0).getType();
  const DType to = typeOf(type);
  const Known known = values.lookup(op->getOperand(0));
  if (const Affine *index = std::get_if<Affine>(&known)) {
    const bool isSigned = !isa<arith::UIToFPOp, arith::ExtUIOp>(op) || index->rangeIn(view.box).first >= 0;
    if (isa<IntegerType>(type) && isSigned && fits(*index, view.box, type))
      return values[op->getResult(0)] = *index, true;
    std::optional<unsigned> number = isa<FloatType>(type) && isSigned ? numberOf(*index, to) : std::nullopt;
    return number ? (values[op->getResult(0)] = *number, true) : refuse("a conversion of an index");
  }
  if (visitWide(op))
    return true;
  std::optional<unsigned> node = nodeOf(op->getOperand(0));
  if (!node || nodes[*node].type == DType::None)
    return refuse("a conversion of an element of a type that no unit has");
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
  return apply(op->getResult(0), Function::cvt, to, {op->getOperand(0)});
}

bool BodyReader::visitCompareNumbers(Operation *op) {
  SmallVector<mlir::Value> operands(op->getOperands());
  auto compare = [&](Function function) { return apply(op->getResult(0), function, DType::Pred8, operands); };
  auto negated = [&](Function function) {
    if (!compare(function))
      return false;
    Node node;
    node.kind = Node::Apply;
    node.function = Function::not_;
    node.type = DType::Pred8;
    node.operands = {std::get<unsigned>(values[op->getResult(0)])};
    return values[op->getResult(0)] = addNode(std::move(node)), true;
  };
  if (auto floats = dyn_cast<arith::CmpFOp>(op)) {
    using enum arith::CmpFPredicate;
    switch (floats.getPredicate()) {
    case OEQ:
      return compare(Function::ceq);
    case UNE:
      return compare(Function::cne);
    case OLT:
      return compare(Function::clt);
    case OLE:
      return compare(Function::cle);
    case OGT:
      return compare(Function::cgt);
    case OGE:
      return compare(Function::cge);
    case UGE:
      return negated(Function::clt);
    case UGT:
      return negated(Function::cle);
    case ULE:
      return negated(Function::cgt);
    case ULT:
      return negated(Function::cge);
    case UNO:
      return floats.getLhs() == floats.getRhs() ? apply(floats, Function::isnan, DType::Pred8, {floats.getLhs()})
                                                : refuse("a comparison with NaN");
    default:
      return refuse("a comparison that no unit has");
    }
  }
  if (visitWide(op))
    return true;
  const arith::CmpIPredicate predicate = cast<arith::CmpIOp>(op).getPredicate();
  const bool isUnsigned = isOfUnsigned(op),
             isSame = predicate == arith::CmpIPredicate::eq || predicate == arith::CmpIPredicate::ne;
  std::optional<Function> function = functionOf(isUnsigned ? signedOf(predicate) : predicate);
  if (isUnsigned && !isSame && signedOf(predicate) == predicate)
    return refuse("a comparison with signs of integers that have none");
  return function ? compare(*function) : refuse("a comparison of unsigned integers");
}

/// Of bytes without a sign.
static std::optional<Function> unsignedFunctionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Function>>(op)
      .Case([](arith::MinUIOp) { return Function::min; })
      .Case([](arith::MaxUIOp) { return Function::max; })
      .Case([](arith::DivUIOp) { return Function::div; })
      .Case([](arith::RemUIOp) { return Function::mod; })
      .Case([](arith::ShRUIOp) { return Function::shr; })
      .Default([](Operation *) { return std::nullopt; });
}

bool BodyReader::visitArithmetic(Operation *op) {
  if (op->getNumResults() == 1 && op->getNumOperands() > 0 && isCounted(op->getResult(0).getType())) {
    if (std::optional<Affine> index = affineResult(op))
      return values[op->getResult(0)] = *index, true;
    if (std::holds_alternative<std::monostate>(view.refinement) && sample(op))
      return true;
    if (visitWide(op))
      return true;
    if (op->getResult(0).getType().isIndex())
      return refuse("an index that is not affine: " + op->getName().getStringRef());
  }
  std::optional<Function> function = llvm::TypeSwitch<Operation *, std::optional<Function>>(op)
                                         .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Function::add; })
                                         .Case<arith::SubFOp, arith::SubIOp>([](auto) { return Function::sub; })
                                         .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Function::mul; })
                                         .Case<arith::DivFOp, arith::DivSIOp>([](auto) { return Function::div; })
                                         .Case<arith::MaximumFOp, arith::MaxSIOp>([](auto) { return Function::max; })
                                         .Case<arith::MinimumFOp, arith::MinSIOp>([](auto) { return Function::min; })
                                         .Case<arith::RemFOp, arith::RemSIOp>([](auto) { return Function::mod; })
                                         .Case([](arith::NegFOp) { return Function::neg; })
                                         .Case<math::AbsFOp, math::AbsIOp>([](auto) { return Function::abs; })
                                         .Case([](math::SqrtOp) { return Function::sqrt; })
                                         .Case([](math::RsqrtOp) { return Function::rsqrt; })
                                         .Case([](math::ExpOp) { return Function::exp; })
                                         .Case([](math::Exp2Op) { return Function::exp2; })
                                         .Case([](math::LogOp) { return Function::ln; })
                                         .Case([](math::Log2Op) { return Function::log2; })
                                         .Case([](math::SinOp) { return Function::sin; })
                                         .Case([](math::CosOp) { return Function::cos; })
                                         .Case([](math::TanhOp) { return Function::tanh; })
                                         .Case([](math::ErfOp) { return Function::erf; })
                                         .Case([](math::FloorOp) { return Function::floor; })
                                         .Case([](math::CeilOp) { return Function::ceil; })
                                         .Case([](math::RoundEvenOp) { return Function::rne; })
                                         .Case([](math::TruncOp) { return Function::trunc; })
                                         .Case([](math::PowFOp) { return Function::pow; })
                                         .Case([](math::FmaOp) { return Function::fma; })
                                         .Case([](arith::ShLIOp) { return Function::shl; })
                                         .Case([](arith::ShRSIOp) { return Function::sar; })
                                         .Case([](arith::ShRUIOp) { return Function::shr; })
                                         .Case([](arith::BitcastOp) { return Function::mov; })
                                         .Default([](Operation *) { return std::nullopt; });
  if (isa<math::TanOp>(op))
    return visitTangent(op);
  if (isa<math::CopySignOp>(op))
    return visitCopySign(op);
  if (isOfUnsigned(op) && !(function && isSignless(*function)))
    function = unsignedFunctionOf(op);
  if (!function)
    return refuse("no unit computes " + op->getName().getStringRef());
  SmallVector<mlir::Value> operands(op->getOperands());
  const DType type = isOfUnsigned(op) ? DType::U8 : typeOf(op->getResult(0).getType());
  return apply(op->getResult(0), *function, type, operands);
}

/// The quotient of sine and cosine.
bool BodyReader::visitTangent(Operation *op) {
  const DType type = typeOf(op->getResult(0).getType());
  if (!apply(op->getResult(0), Function::sin, type, op->getOperand(0)))
    return false;
  const unsigned sine = std::get<unsigned>(values[op->getResult(0)]);
  if (!apply(op->getResult(0), Function::cos, type, op->getOperand(0)))
    return false;
  Node quotient;
  quotient.kind = Node::Apply;
  quotient.function = Function::div;
  quotient.type = type;
  quotient.operands = {sine, std::get<unsigned>(values[op->getResult(0)])};
  return values[op->getResult(0)] = addNode(std::move(quotient)), true;
}

/// The magnitude's bits with the other number's sign.
bool BodyReader::visitCopySign(Operation *op) {
  const DType type = typeOf(op->getResult(0).getType());
  std::optional<unsigned> magnitude = nodeOf(op->getOperand(0)), sign = nodeOf(op->getOperand(1));
  if (!magnitude || !sign || type != DType::F32)
    return refuse("no unit computes math.copysign of these");
  auto node = [&](Function function, DType result, std::initializer_list<unsigned> operands) {
    Node made;
    made.kind = Node::Apply;
    made.function = function;
    made.type = result;
    made.operands = operands;
    return addNode(std::move(made));
  };
  auto maskedBits = [&](unsigned number, int32_t mask) {
    Node bits;
    bits.type = DType::I32;
    bits.number = mask;
    return node(Function::and_, DType::I32, {node(Function::mov, DType::I32, {number}), addNode(std::move(bits))});
  };
  const unsigned bits = node(Function::or_, DType::I32,
                             {maskedBits(*magnitude, std::numeric_limits<int32_t>::max()),
                              maskedBits(*sign, std::numeric_limits<int32_t>::min())});
  return values[op->getResult(0)] = node(Function::mov, type, {bits}), true;
}

bool BodyReader::visitLoad(tile::LoadOp load) {
  std::optional<ElementAt> element = elementAt(load.getBuffer(), load.getIndices(), load.getVariables());
  if (!element)
    return refuse("an address that is not affine");
  if (element->isChosen())
    return visitRowLoad(load, std::move(*element));
  if (std::shared_ptr<Samples> samples = samplesOf(load, *element))
    return values[load] = std::move(samples), true;
  Node node;
  node.kind = Node::Load;
  node.type = typeOf(load.getBuffer().getType().getElementType());
  const unsigned number = addNode(std::move(node));
  loads[number] = std::move(*element);
  elementTypes[number] = load.getBuffer().getType().getElementType();
  return values[load] = number, true;
}

bool BodyReader::visitStore(tile::StoreOp store) {
  std::optional<ElementAt> element = elementAt(store.getBuffer(), store.getIndices(), store.getVariables());
  const Type type = store.getBuffer().getType().getElementType();
  const Known known = values.lookup(store.getValue());
  const unsigned *moved = std::get_if<unsigned>(&known);
  if (std::optional<Store> combined = element ? wideCombination(store.getValue(), *element) : std::nullopt)
    return stores.push_back(std::move(*combined)), true;
  if (std::optional<Wide> wide =
          element && typeOf(type) == DType::None && !moved ? wideOf(store.getValue()) : std::nullopt) {
    const Type word = IntegerType::get(type.getContext(), 32);
    for (int64_t number : {0, 1}) {
      ElementAt at{element->buffer, {}};
      at.offset.add(element->offset, 2).base += number;
      stores.push_back({number ? wide->high : wide->low, std::move(at), word});
    }
    return true;
  }
  std::optional<unsigned> value = nodeOf(store.getValue());
  if (!element || element->isChosen())
    return refuse("a result whose address is not affine");
  const bool isMoved = value && (typeOf(type) == DType::None || nodes[*value].type == DType::None);
  if (!value || (isMoved && !areSameBits(elementTypes[*value], type)))
    return refuse("a result whose type no unit has");
  return stores.push_back({*value, std::move(*element), type}), true;
}

bool BodyReader::visit(Operation *op) {
  if (isSampled(op))
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::ConstantOp) { return visitConstant(op); })
      .Case([&](tile::IndexOp index) {
        std::optional<Affine> value = evaluate(index.getExpression().values()[0], index.getVariables());
        if (!value)
          return refuse("an index that is not affine");
        return values[index] = *value, true;
      })
      .Case([&](tile::LoadOp load) { return visitLoad(load); })
      .Case([&](tile::StoreOp store) { return visitStore(store); })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>([&](auto) { return visitIndexCast(op); })
      .Case([&](tile::InitOp) { return true; })
      .Case([&](scf::IfOp) { return visitIf(op); })
      .Case([&](arith::SelectOp) { return visitSelect(op); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](auto) { return visitLogic(op); })
      .Case([&](arith::CmpIOp compare) {
        return indexOf(compare.getLhs()) && indexOf(compare.getRhs()) ? visitCompare(op) : visitCompareNumbers(op);
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

} // namespace perpend::accelerator
