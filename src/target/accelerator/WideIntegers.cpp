//===- WideIntegers.cpp - integers of 64 bits, and indices from data ------===//
//
// Units compute with integers of 32 bits. An integer of 64 is two of them here, its low and its high word, and an
// index that data decides is such an integer. Where such an index is known to be inside of a dimension, a load becomes
// one from a row of a table; the number of the row is an element that units compute.
//
//===----------------------------------------------------------------------===//
#include "target/accelerator/ReadBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace perpend::accelerator {

constexpr int64_t wordBits = 32, leastWord = std::numeric_limits<int32_t>::min();

static bool isWide(Type type) { return type.isIndex() || type.isSignlessInteger(64) || type.isSignedInteger(64); }

unsigned BodyReader::applied(Function function, DType type, std::initializer_list<unsigned> operands) {
  Node node;
  node.kind = Node::Apply;
  node.function = function;
  node.type = type;
  node.operands = operands;
  return addNode(std::move(node));
}

unsigned BodyReader::wordOf(int64_t number) {
  Node node;
  node.type = DType::I32;
  node.number = static_cast<double>(static_cast<int32_t>(number));
  return addNode(std::move(node));
}

Wide BodyReader::wideNumber(int64_t number) { return {wordOf(number), wordOf(number >> wordBits), number, number}; }

/// The words of an element that is loaded, of which the low one comes first, or of a choice of such.
std::optional<Wide> BodyReader::wideLoad(unsigned node) {
  const Node load = nodes[node];
  if (load.type == DType::I32)
    return Wide{node, applied(Function::sar, DType::I32, {node, wordOf(wordBits - 1)}), leastWord, -leastWord - 1};
  if (load.kind == Node::Number && load.type == DType::None && elementTypes[node] && isWide(elementTypes[node]))
    return wideNumber(static_cast<int64_t>(load.number));
  if (load.kind == Node::Apply && load.function == Function::sel && load.type == DType::None) {
    std::optional<Wide> one = wideLoad(load.operands[1]), other = wideLoad(load.operands[2]);
    if (!one || !other)
      return std::nullopt;
    return Wide{applied(Function::sel, DType::I32, {load.operands[0], one->low, other->low}),
                applied(Function::sel, DType::I32, {load.operands[0], one->high, other->high})};
  }
  if (load.kind != Node::Load || load.type != DType::None || !elementTypes[node] || !isWide(elementTypes[node]) ||
      loads[node].isChosen())
    return std::nullopt;
  auto word = [&](int64_t number) {
    Node made;
    made.kind = Node::Load;
    made.type = DType::I32;
    const ElementAt element = loads[node];
    const unsigned added = addNode(std::move(made));
    loads[added].buffer = element.buffer;
    loads[added].offset.add(element.offset, 2).base += number;
    return added;
  };
  const unsigned low = word(0);
  return Wide{low, word(1)};
}

std::optional<Wide> BodyReader::wideOf(mlir::Value value) {
  if (!isWide(value.getType()))
    return std::nullopt;
  if (APInt number; matchPattern(value, m_ConstantInt(&number)))
    return wideNumber(number.getSExtValue());
  if (std::optional<Affine> index = indexOf(value)) {
    auto [least, most] = index->rangeIn(view.box);
    std::optional<unsigned> low = least >= leastWord && most < -leastWord ? numberOf(*index, DType::I32) : std::nullopt;
    if (!low)
      return std::nullopt;
    return Wide{*low, least >= 0 ? wordOf(0) : applied(Function::sar, DType::I32, {*low, wordOf(wordBits - 1)}), least,
                most};
  }
  const Known known = values.lookup(value);
  if (const auto *wide = std::get_if<Wide>(&known))
    return *wide;
  const unsigned *node = std::get_if<unsigned>(&known);
  return node && nodes[*node].type == DType::None ? wideLoad(*node) : std::nullopt;
}

/// The high words decide, and where they are the same the low ones, which have no sign.
unsigned BodyReader::lessOf(const Wide &a, const Wide &b) {
  auto withoutSign = [&](unsigned word) { return applied(Function::xor_, DType::I32, {word, wordOf(leastWord)}); };
  const unsigned isLower = applied(Function::clt, DType::Pred8, {a.high, b.high}),
                 isSame = applied(Function::ceq, DType::Pred8, {a.high, b.high}),
                 isLess = applied(Function::clt, DType::Pred8, {withoutSign(a.low), withoutSign(b.low)});
  return applied(Function::or_, DType::Pred8, {isLower, applied(Function::and_, DType::Pred8, {isSame, isLess})});
}

unsigned BodyReader::comparisonOf(arith::CmpIPredicate predicate, const Wide &a, const Wide &b) {
  using enum arith::CmpIPredicate;
  auto inverse = [&](unsigned node) { return applied(Function::not_, DType::Pred8, {node}); };
  auto areSame = [&] {
    return applied(
        Function::and_, DType::Pred8,
        {applied(Function::ceq, DType::Pred8, {a.low, b.low}), applied(Function::ceq, DType::Pred8, {a.high, b.high})});
  };
  switch (predicate) {
  case eq:
    return areSame();
  case ne:
    return inverse(areSame());
  case slt:
    return lessOf(a, b);
  case sge:
    return inverse(lessOf(a, b));
  case sgt:
    return lessOf(b, a);
  default: // sle
    return inverse(lessOf(b, a));
  }
}

std::optional<Wide> BodyReader::wideChoice(mlir::Value condition, const Wide &one, const Wide &other) {
  if (std::optional<bool> truth = truthOf(condition))
    return *truth ? one : other;
  std::optional<unsigned> node = nodeOf(condition);
  if (!node || nodes[*node].type != DType::Pred8)
    return std::nullopt;
  return Wide{applied(Function::sel, DType::I32, {*node, one.low, other.low}),
              applied(Function::sel, DType::I32, {*node, one.high, other.high}), std::min(one.least, other.least),
              std::max(one.most, other.most)};
}

/// A sum of bounds; no bound if that has more than 64 bits.
static std::pair<int64_t, int64_t> sumOf(const Wide &a, const Wide &b) {
  int64_t least = 0, most = 0;
  if (llvm::AddOverflow(a.least, b.least, least) || llvm::AddOverflow(a.most, b.most, most))
    return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  return {least, most};
}

/// The words of a float without its fraction. All steps are exact: the parts have no more digits than the float. The
/// lower one, which has its sign, is less than 2^32, and becomes an I32 by 2^32 more or less.
Wide BodyReader::wideOfFloat(unsigned node) {
  constexpr double ofHigh = 4294967296.0;
  auto number = [&](double value) {
    Node made;
    made.type = DType::F32;
    made.number = value;
    return addNode(std::move(made));
  };
  auto apply = [&](Function function, std::initializer_list<unsigned> operands) {
    return applied(function, DType::F32, operands);
  };
  const unsigned whole = apply(Function::trunc, {node}),
                 high = apply(Function::trunc, {apply(Function::mul, {whole, number(1 / ofHigh)})}),
                 low = apply(Function::sub, {whole, apply(Function::mul, {high, number(ofHigh)})});
  const unsigned isAbove = applied(Function::cge, DType::Pred8, {low, number(ofHigh / 2)}),
                 isBelow = applied(Function::clt, DType::Pred8, {low, number(-ofHigh / 2)}),
                 isNegative = applied(Function::clt, DType::Pred8, {low, number(0)});
  const unsigned less = apply(Function::sub, {low, number(ofHigh)}), more = apply(Function::add, {low, number(ofHigh)}),
                 word = apply(Function::sel, {isAbove, less, apply(Function::sel, {isBelow, more, low})});
  return {applied(Function::cvt, DType::I32, {word}),
          applied(Function::sub, DType::I32,
                  {applied(Function::cvt, DType::I32, {high}), applied(Function::cvt, DType::I32, {isNegative})})};
}

std::optional<Wide> BodyReader::wideResult(Operation *op) {
  if (auto cast = dyn_cast<arith::FPToSIOp>(op)) {
    std::optional<unsigned> node = nodeOf(cast.getIn());
    const DType from = node ? nodes[*node].type : DType::None;
    if ((from != DType::F32 && from != DType::F16 && from != DType::BF16) || nodes[*node].kind == Node::Number)
      return std::nullopt;
    return wideOfFloat(from == DType::F32 ? *node : applied(Function::cvt, DType::F32, {*node}));
  }
  if (auto cast = dyn_cast<arith::ExtSIOp>(op)) {
    std::optional<unsigned> node = nodeOf(cast.getIn());
    const DType from = node ? nodes[*node].type : DType::None;
    if (from != DType::I8 && from != DType::I16 && from != DType::I32)
      return std::nullopt;
    return wideLoad(from == DType::I32 ? *node : applied(Function::cvt, DType::I32, {*node}));
  }
  if (auto cast = dyn_cast<arith::ExtUIOp>(op)) {
    std::optional<unsigned> node = nodeOf(cast.getIn());
    if (!node || (nodes[*node].type != DType::Pred8 && nodes[*node].type != DType::U8))
      return std::nullopt;
    return Wide{applied(Function::cvt, DType::I32, {*node}), wordOf(0), 0, std::numeric_limits<uint8_t>::max()};
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    std::optional<Wide> one = wideOf(select.getTrueValue()), other = wideOf(select.getFalseValue());
    return one && other ? wideChoice(select.getCondition(), *one, *other) : std::nullopt;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          op))
    return std::nullopt;
  std::optional<Wide> a = wideOf(op->getOperand(0)), b = wideOf(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  auto words = [&](Function function) {
    return Wide{applied(function, DType::I32, {a->low, b->low}), applied(function, DType::I32, {a->high, b->high})};
  };
  auto withoutSign = [&](unsigned word) { return applied(Function::xor_, DType::I32, {word, wordOf(leastWord)}); };
  auto isBelow = [&](unsigned one, unsigned other) { // 1, or 0
    return applied(Function::cvt, DType::I32,
                   {applied(Function::clt, DType::Pred8, {withoutSign(one), withoutSign(other)})});
  };
  return llvm::TypeSwitch<Operation *, std::optional<Wide>>(op)
      .Case([&](arith::AddIOp) { // a carry, where the sum of the low words is below one of them
        Wide sum = words(Function::add);
        sum.high = applied(Function::add, DType::I32, {sum.high, isBelow(sum.low, a->low)});
        std::tie(sum.least, sum.most) = sumOf(*a, *b);
        return sum;
      })
      .Case([&](arith::SubIOp) {
        Wide difference = words(Function::sub);
        difference.high = applied(Function::sub, DType::I32, {difference.high, isBelow(a->low, b->low)});
        return difference;
      })
      .Case<arith::MaxSIOp, arith::MinSIOp>([&](auto) {
        const bool isMax = isa<arith::MaxSIOp>(op);
        const unsigned isLess = lessOf(*a, *b);
        const Wide &one = isMax ? *b : *a, &other = isMax ? *a : *b;
        return Wide{applied(Function::sel, DType::I32, {isLess, one.low, other.low}),
                    applied(Function::sel, DType::I32, {isLess, one.high, other.high}),
                    isMax ? std::max(a->least, b->least) : std::min(a->least, b->least),
                    isMax ? std::max(a->most, b->most) : std::min(a->most, b->most)};
      })
      .Case([&](arith::AndIOp) { return words(Function::and_); })
      .Case([&](arith::OrIOp) { return words(Function::or_); })
      .Default([&](Operation *) { return words(Function::xor_); });
}

/// The least or the greatest of the element as it is and another value.
std::optional<BodyReader::Store> BodyReader::wideCombination(mlir::Value value, const ElementAt &element) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::MaxSIOp, arith::MinSIOp>(op) || !isWide(value.getType()))
    return std::nullopt;
  for (unsigned side : {0u, 1u}) {
    const Known known = values.lookup(op->getOperand(side));
    const unsigned *node = std::get_if<unsigned>(&known);
    if (!node || nodes[*node].kind != Node::Load || nodes[*node].type != DType::None || !(loads[*node] == element))
      continue;
    std::optional<Wide> other = wideOf(op->getOperand(1 - side));
    if (other)
      return Store{other->low, element, value.getType(), other,
                   isa<arith::MaxSIOp>(op) ? Function::max : Function::min};
  }
  return std::nullopt;
}

bool BodyReader::visitWide(Operation *op) {
  if (op->getNumResults() != 1 || !std::holds_alternative<std::monostate>(view.refinement))
    return false;
  mlir::Value result = op->getResult(0);
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    if (!isWide(compare.getLhs().getType()) || !functionOf(compare.getPredicate()))
      return false;
    std::optional<Wide> a = wideOf(compare.getLhs()), b = wideOf(compare.getRhs());
    return a && b ? (values[result] = comparisonOf(compare.getPredicate(), *a, *b), true) : false;
  }
  if (auto cast = dyn_cast<arith::TruncIOp>(op)) {
    std::optional<Wide> wide = wideOf(cast.getIn());
    const DType to = typeOf(result.getType());
    if (!wide || (to != DType::I32 && to != DType::I16 && to != DType::I8))
      return false;
    return values[result] = to == DType::I32 ? wide->low : applied(Function::cvt, to, {wide->low}), true;
  }
  if (isa<arith::IndexCastOp>(op)) {
    mlir::Value from = op->getOperand(0);
    std::optional<Wide> wide = wideOf(from);
    if (const std::optional<unsigned> node = wide ? std::nullopt : nodeOf(from);
        node && nodes[*node].type == DType::I32 && from.getType().isSignlessInteger(32))
      wide = wideLoad(*node);
    if (wide && isWide(result.getType()))
      return values[result] = *wide, true;
    if (wide && result.getType().isSignlessInteger(32))
      return values[result] = wide->low, true;
    return false;
  }
  if (!isWide(result.getType()))
    return false;
  std::optional<Wide> wide = wideResult(op);
  return wide ? (values[result] = *wide, true) : false;
}

/// The digits of all elements from which a node is computed.
void BodyReader::findDigits(unsigned node, std::vector<bool> &digits) const {
  if (nodes[node].kind == Node::Load)
    for (auto [digit, coefficient] : loads[node].offset.terms)
      digits[digit] = true;
  if (nodes[node].kind == Node::Load && loads[node].row)
    findDigits(*loads[node].row, digits);
  for (unsigned operand : nodes[node].operands)
    findDigits(operand, digits);
}

bool BodyReader::visitRowLoad(tile::LoadOp load, ElementAt element) {
  const DType type = typeOf(load.getBuffer().getType().getElementType());
  if (type == DType::None)
    return refuse("an index that data decides, of elements of a type that no unit has");
  std::vector<bool> ofIndex(view.digits.size());
  for (const auto &[wide, scale] : element.chosen)
    findDigits(wide.low, ofIndex);
  // The row: elements side by side that no index chooses.
  Affine inRow;
  int64_t rowElements = 1;
  auto divides = [&](int64_t elements, unsigned taken) {
    return element.offset.base % elements == 0 &&
           llvm::all_of(element.chosen, [&](const auto &each) { return each.second % elements == 0; }) &&
           llvm::all_of(element.offset.terms, [&](const auto &term) {
             return term.first == taken || term.second % elements == 0 || inRow.terms.count(term.first);
           });
  };
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (auto [digit, coefficient] : element.offset.terms) {
      const int64_t extent = view.digits[digit].extent;
      if (coefficient != rowElements || ofIndex[digit] || view.box[digit].begin != 0 || view.box[digit].end != extent ||
          inRow.terms.count(digit) || !divides(rowElements * extent, digit))
        continue;
      inRow.terms[digit] = coefficient;
      rowElements *= extent;
      goesOn = true;
      break;
    }
  }
  Affine others{element.offset.base / rowElements, {}};
  for (auto [digit, coefficient] : element.offset.terms)
    if (!inRow.terms.count(digit))
      others.terms[digit] = coefficient / rowElements;
  std::optional<unsigned> row;
  if (others.base || !others.terms.empty()) {
    row = numberOf(others, DType::I32);
    if (!row)
      return refuse("an index that data decides, in a large table");
  }
  for (const auto &[wide, scale] : element.chosen) {
    const int64_t factor = scale / rowElements;
    const unsigned scaled = factor == 1 ? wide.low : applied(Function::mul, DType::I32, {wide.low, wordOf(factor)});
    row = row ? applied(Function::add, DType::I32, {*row, scaled}) : scaled;
  }
  Node node;
  node.kind = Node::Load;
  node.type = type;
  const unsigned number = addNode(std::move(node));
  loads[number].buffer = element.buffer;
  loads[number].offset = inRow;
  loads[number].row = row;
  loads[number].rowElements = rowElements;
  elementTypes[number] = load.getBuffer().getType().getElementType();
  return values[load] = number, true;
}

} // namespace perpend::accelerator
