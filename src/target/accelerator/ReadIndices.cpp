//===- ReadIndices.cpp - indices in the body of a block -------------------===//
//
// Affine indices are kept as such, also where they have become integers. An index that is computed with as an element
// is a load from a table of numbers: the address of the number is affine, too.
//
//===----------------------------------------------------------------------===//
#include "target/accelerator/ReadBody.h"

#include "mlir/IR/Matchers.h"

#include <numeric>
#include <set>

using namespace mlir;
using perpend::support::SymbolicInt;

namespace perpend::accelerator {

bool isCounted(Type type) { return type.isIntOrIndex() && !type.isInteger(1); }

std::optional<Affine> BodyReader::indexOf(mlir::Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && isa<tile::BlockOp>(argument.getOwner()->getParentOp()))
    return view.iterator(argument.getArgNumber());
  if (APInt number; isCounted(value.getType()) && matchPattern(value, m_ConstantInt(&number)))
    return number.getSignificantBits() <= 62 ? std::optional(Affine{number.getSExtValue(), {}}) : std::nullopt;
  auto known = values.find(value);
  if (known == values.end())
    return std::nullopt;
  if (const auto *samples = std::get_if<std::shared_ptr<Samples>>(&known->second))
    return isCounted(value.getType()) ? affineOf(**samples) : std::nullopt;
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

/// The variable that an index is and nothing else; null: it is something else.
static mlir::Value variableOf(const SymbolicInt &index, ValueRange variables) {
  if (index.isPoison() || index.terms().size() != 1 || index.terms()[0].coefficient != 1 ||
      index.terms()[0].factors.size() != 1)
    return {};
  const support::SymbolicFactor &factor = index.terms()[0].factors[0];
  StringRef name = factor.atom.kind() == support::SymbolicAtomKind::Symbol ? factor.atom.name() : StringRef();
  unsigned number = 0;
  return factor.power != 1 || !name.consume_front("%") || name.getAsInteger(10, number) ? mlir::Value()
                                                                                        : variables[number];
}

std::optional<Wide> BodyReader::chosenBy(mlir::Value index) const {
  const Known known = index ? values.lookup(index) : Known();
  const Wide *wide = std::get_if<Wide>(&known);
  return wide ? std::optional(*wide) : std::nullopt;
}

std::optional<std::pair<Wide, unsigned>> BodyReader::chosenDigits(ArrayRef<int64_t> sizes,
                                                                  ArrayRef<SymbolicInt> indices, ValueRange variables,
                                                                  unsigned dim) const {
  std::set<std::string> names;
  indices[dim].symbols(names);
  if (names.size() != 1)
    return std::nullopt;
  const SymbolicInt variable = SymbolicInt::symbol(*names.begin());
  std::optional<Wide> wide = chosenBy(variableOf(variable, variables));
  if (!wide || wide->least < 0)
    return std::nullopt;
  for (unsigned last = static_cast<unsigned>(indices.size()) - 1; last > dim; --last) {
    int64_t weight = 1;
    bool isDigit = true;
    for (unsigned at = last; at > dim && isDigit; weight *= sizes[at--])
      isDigit = sizes[at] > 0 && indices[at] == mod(floorDiv(variable, weight), sizes[at]);
    if (isDigit && indices[dim] == floorDiv(variable, weight) && wide->most / weight < sizes[dim])
      return std::pair(*wide, last);
  }
  return std::nullopt;
}

/// x of x / size and x mod size, the indices of two dimensions of which the second has that size.
std::optional<Affine> BodyReader::dividendOf(mlir::Value outer, mlir::Value inner, int64_t size) const {
  auto divisionOf = [&](mlir::Value index) {
    const Known known = index ? values.lookup(index) : Known();
    const auto *samples = std::get_if<std::shared_ptr<Samples>>(&known);
    return samples ? (*samples)->division : std::nullopt;
  };
  const std::optional<Division> quotient = divisionOf(outer), rest = divisionOf(inner);
  if (!quotient || !rest || quotient->isRest || !rest->isRest || quotient->divisor != size || rest->divisor != size ||
      quotient->dividend != rest->dividend || quotient->dividend.rangeIn(view.box).first < 0)
    return std::nullopt;
  return quotient->dividend;
}

std::optional<ElementAt> BodyReader::elementAt(mlir::Value buffer, graph::ShapeAttr indices, ValueRange variables) {
  ElementAt element;
  auto number = buffers.find(buffer);
  if (number == buffers.end())
    return std::nullopt;
  element.buffer = number->second;
  auto type = cast<tile::BufferType>(buffer.getType());
  const graph::Shape extents = type.extents(), list(indices.values());
  SmallVector<int64_t> sizes;
  for (const SymbolicInt &extent : extents) {
    std::optional<Affine> size = evaluate(extent, {});
    sizes.push_back(size && size->terms.empty() ? size->base : 0);
  }
  for (unsigned dim = 0; dim < list.size(); ++dim) {
    std::optional<Affine> size = evaluate(extents[dim], {}), at;
    const mlir::Value variable = variableOf(list[dim], variables);
    if (std::optional<Affine> inner = size && dim + 1 < list.size() ? evaluate(extents[dim + 1], {}) : std::nullopt)
      if (std::optional<Affine> both = dividendOf(variable, variableOf(list[dim + 1], variables), inner->base)) {
        for (auto &[wide, scale] : element.chosen)
          scale *= size->base * inner->base;
        element.offset = Affine().add(element.offset, size->base * inner->base).add(*both);
        ++dim;
        continue;
      }
    if (!size)
      return std::nullopt;
    if (auto digits = chosenDigits(sizes, list, variables, dim)) {
      const int64_t all =
          std::accumulate(sizes.begin() + dim, sizes.begin() + digits->second + 1, int64_t{1}, std::multiplies<>());
      for (auto &[wide, scale] : element.chosen)
        scale *= all;
      element.chosen.emplace_back(digits->first, 1);
      element.offset = Affine().add(element.offset, all);
      dim = digits->second;
      continue;
    }
    for (auto &[wide, scale] : element.chosen)
      scale *= size->base;
    if (std::optional<Wide> wide = chosenBy(variable)) {
      if (wide->least < 0 || wide->most >= size->base)
        return std::nullopt;
      element.chosen.emplace_back(*wide, 1);
      at = Affine();
    } else if (!(at = evaluate(list[dim], variables))) {
      return std::nullopt;
    }
    Affine scaled;
    scaled.add(element.offset, size->base).add(*at);
    element.offset = std::move(scaled);
  }
  return element;
}

std::optional<unsigned> BodyReader::numberOf(const Affine &index, DType type) {
  constexpr int64_t mostNumbers = 1 << 16;
  if (type == DType::None)
    return std::nullopt;
  Node node;
  node.type = type;
  if (index.terms.empty()) {
    node.number = static_cast<double>(index.base);
    return addNode(std::move(node));
  }
  if (llvm::any_of(index.terms, [](const auto &term) { return term.second < 0; }))
    return differenceOf(index, type);
  Box whole; // so that all boxes share a table
  for (const Digit &digit : view.digits)
    whole.push_back({0, digit.extent});
  auto [least, most] = index.rangeIn(whole);
  if (most - least >= mostNumbers)
    return std::nullopt;
  node.kind = Node::Load;
  const unsigned number = addNode(std::move(node));
  loads[number] = {tableOf(type, sizeOf(type), bytesOfNumbers(type, least, most - least + 1)), index};
  loads[number].offset.base -= least;
  return number;
}

/// The parts of an index that rise and that fall with its iterators: its value is the first less the second.
static std::pair<Affine, Affine> directionsOf(const Affine &index) {
  Affine rising{index.base, {}}, falling;
  for (auto [digit, coefficient] : index.terms)
    (coefficient > 0 ? rising : falling).terms[digit] = std::abs(coefficient);
  return {rising, falling};
}

/// Tables are read forwards.
std::optional<unsigned> BodyReader::differenceOf(const Affine &index, DType type) {
  auto [rising, falling] = directionsOf(index);
  std::optional<unsigned> a = numberOf(rising, DType::I32), b = numberOf(falling, DType::I32);
  if (!a || !b)
    return std::nullopt;
  Node node;
  node.kind = Node::Apply;
  node.function = Function::sub;
  node.type = DType::I32;
  node.operands = {*a, *b};
  const unsigned difference = addNode(node);
  if (type == DType::I32)
    return difference;
  node.function = Function::cvt;
  node.type = type;
  node.operands = {difference};
  return addNode(std::move(node));
}

arith::CmpIPredicate signedOf(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
  case ult:
    return slt;
  case ule:
    return sle;
  case ugt:
    return sgt;
  case uge:
    return sge;
  default:
    return predicate;
  }
}

std::optional<Function> functionOf(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  switch (predicate) {
  case eq:
    return Function::ceq;
  case ne:
    return Function::cne;
  case slt:
    return Function::clt;
  case sle:
    return Function::cle;
  case sgt:
    return Function::cgt;
  case sge:
    return Function::cge;
  default:
    return std::nullopt;
  }
}

/// Compares the parts of the difference.
bool BodyReader::compareNumbers(arith::CmpIOp compare, const Affine &difference) {
  std::optional<Function> function = functionOf(compare.getPredicate());
  auto [rising, falling] = directionsOf(difference);
  std::optional<unsigned> a = numberOf(rising, DType::I32), b = numberOf(falling, DType::I32);
  if (!function || !a || !b)
    return refuse("a condition that no cut of the iterators decides");
  Node node;
  node.kind = Node::Apply;
  node.function = *function;
  node.type = DType::Pred8;
  node.operands = {*a, *b};
  return values[compare] = addNode(std::move(node)), true;
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
  if (result)
    return values[op->getResult(0)] = *result, true;
  if (comparesNumbers)
    view.refinement = {};
  if (std::holds_alternative<std::monostate>(view.refinement))
    return compareNumbers(compare, Affine(*a).add(*b, -1));
  return refuse("a condition that no cut of the iterators decides");
}

bool fits(const Affine &index, const Box &box, Type type) {
  auto [least, most] = index.rangeIn(box);
  const unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return bits >= 63 || (least >= -(int64_t{1} << (bits - 1)) && most < int64_t{1} << (bits - 1));
}

/// Between indices and integers.
bool BodyReader::visitIndexCast(Operation *op) {
  std::optional<Affine> index = indexOf(op->getOperand(0));
  if (!index && visitWide(op))
    return true;
  if (!index || !fits(*index, view.box, op->getResult(0).getType()))
    return refuse("an index that data decides");
  return values[op->getResult(0)] = *index, true;
}

std::optional<Affine> BodyReader::affineResult(Operation *op) {
  std::optional<Affine> a = indexOf(op->getOperand(0)), b = op->getNumOperands() == 2 ? indexOf(op->getOperand(1)) : a;
  if (!a || !b)
    return std::nullopt;
  std::optional<Affine> result;
  if (isa<arith::AddIOp>(op))
    result = a->add(*b);
  else if (isa<arith::SubIOp>(op))
    result = a->add(*b, -1);
  else if (isa<arith::MulIOp>(op) && (a->terms.empty() || b->terms.empty()))
    result = Affine().add(a->terms.empty() ? *b : *a, a->terms.empty() ? a->base : b->base);
  else if (isa<arith::MaxSIOp, arith::MinSIOp>(op)) {
    std::optional<bool> isLess = view.isNegative(Affine(*a).add(*b, -1));
    if (isLess)
      result = *isLess == isa<arith::MinSIOp>(op) ? a : b;
  }
  return result && fits(*result, view.box, op->getResult(0).getType()) ? result : std::nullopt;
}

} // namespace perpend::accelerator
