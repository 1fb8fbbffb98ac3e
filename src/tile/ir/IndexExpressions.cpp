//===- IndexExpressions.cpp - expressions over index values ---------------===//
//
// Symbols for index values, and simplification and bounds by ranges.
// IndexSyntax.cpp prints and parses.
//
//===----------------------------------------------------------------------===//

#include "tile/ir/IndexExpressions.h"

#include "tile/ir/Tile.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using support::SymbolicAtom;
using support::SymbolicAtomKind;
using support::SymbolicTerm;

static std::string operandName(unsigned number) { return "%" + std::to_string(number); }

static bool isOperand(StringRef name, unsigned &number) {
  return name.consume_front("%") && !name.getAsInteger(10, number);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

unsigned IndexNames::numberOf(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, values.size());
  if (isNew) {
    values.push_back(value);
    symbols.push_back(SymbolicInt::symbol(operandName(entry->second)));
  }
  return entry->second;
}

SymbolicInt IndexNames::symbol(Value value) { return symbols[numberOf(value)]; }
std::string IndexNames::nameOf(Value value) { return operandName(numberOf(value)); }

Value IndexNames::value(StringRef name) const {
  unsigned number = 0;
  return isOperand(name, number) && number < values.size() ? values[number] : Value();
}

bool IndexNames::anyValue(const SymbolicInt &expression, llvm::function_ref<bool(Value)> holds) const {
  return expression.anySymbol([&](StringRef name) {
    Value known = value(name);
    return known && holds(known);
  });
}

Shape IndexNames::read(graph::ShapeAttr expressions, ValueRange operands) {
  Shape list(expressions.values());
  if (operands.empty())
    return list;
  llvm::StringMap<SymbolicInt> replacements;
  for (auto [number, operand] : llvm::enumerate(operands))
    replacements[operandName(number)] = symbol(operand);
  for (SymbolicInt &expression : list)
    expression = expression.substitute(replacements);
  return list;
}

graph::ShapeAttr IndexNames::write(MLIRContext *context, ArrayRef<SymbolicInt> expressions,
                                   SmallVectorImpl<Value> &operands) {
  llvm::StringMap<SymbolicInt> replacements;
  Shape list;
  for (const SymbolicInt &expression : expressions) {
    std::set<std::string> names;
    expression.symbols(names);
    for (const std::string &name : names)
      if (Value used = value(name)) {
        auto known = llvm::find(operands, used);
        unsigned number = known - operands.begin();
        if (known == operands.end())
          operands.push_back(used);
        replacements[name] = SymbolicInt::symbol(operandName(number));
      }
    list.push_back(expression.substitute(replacements));
  }
  return graph::ShapeAttr::get(context, list);
}

Value IndexNames::emit(OpBuilder &builder, Location loc, const SymbolicInt &expression) {
  ArrayRef<SymbolicTerm> terms = expression.terms();
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1 &&
      terms[0].factors[0].power == 1 && terms[0].factors[0].atom.kind() == SymbolicAtomKind::Symbol)
    if (Value known = value(terms[0].factors[0].atom.name()))
      return known;
  SmallVector<Value> operands;
  graph::ShapeAttr text = write(builder.getContext(), expression, operands);
  return builder.create<IndexOp>(loc, builder.getIndexType(), operands, text);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

namespace {
/// Rebuilds an expression with every atom replaced.
template <typename Replace> SymbolicInt rebuild(const SymbolicInt &expression, Replace replace) {
  if (expression.isPoison())
    return expression;
  SymbolicInt sum;
  for (const SymbolicTerm &term : expression.terms()) {
    SymbolicInt product(term.coefficient);
    for (const support::SymbolicFactor &factor : term.factors)
      for (unsigned i = 0; i < factor.power; ++i)
        product *= replace(factor.atom);
    sum += product;
  }
  return sum;
}

SymbolicInt combined(SymbolicAtomKind kind, ArrayRef<SymbolicInt> operands) {
  SymbolicInt result = operands.front();
  for (const SymbolicInt &operand : operands.drop_front()) {
    switch (kind) {
    case SymbolicAtomKind::FloorDiv:
      result = support::floorDiv(result, operand);
      break;
    case SymbolicAtomKind::Mod:
      result = support::mod(result, operand);
      break;
    case SymbolicAtomKind::Min:
      result = support::min(result, operand);
      break;
    default:
      result = support::max(result, operand);
    }
  }
  return result;
}

std::optional<IndexBounds> boundsAsWritten(const SymbolicInt &expression, const IndexRanges &ranges);

/// Encodes the knowledge 0 <= value < extent by replacing value with mod(value, extent), simplifies, and undoes the
/// replacement.
class RangeSimplifier {
public:
  explicit RangeSimplifier(const IndexRanges &ranges) : ranges(ranges) {}

  SymbolicInt run(const SymbolicInt &expression) {
    std::set<std::string> names;
    expression.symbols(names);
    bool isPolynomial = llvm::all_of(expression.terms(), hasOnlySymbols);
    llvm::StringMap<SymbolicInt> replacements;
    for (const std::string &name : names) {
      auto range = ranges.find(name);
      if (range == ranges.end() || range->second == SymbolicInt(0))
        continue;
      // For a plain sum of products a range helps only if it has a single element, 0.
      if (!isPolynomial || range->second == SymbolicInt(1))
        replacements[name] = limited(name, range->second);
    }
    SymbolicInt simple = replacements.empty() ? expression : restore(expression.substitute(replacements));
    return simple.isPoison() ? expression : simple;
  }

private:
  static bool hasOnlySymbols(const SymbolicTerm &term) {
    return llvm::all_of(term.factors, [](const support::SymbolicFactor &factor) {
      return factor.atom.kind() == SymbolicAtomKind::Symbol;
    });
  }

  static SymbolicInt limited(StringRef name, const SymbolicInt &extent) {
    return support::mod(SymbolicInt::symbol(name), extent);
  }

  /// Whether variable < extent implies value < limit; value is the variable itself or floordiv(variable, d).
  static bool isBelow(const SymbolicInt &value, const SymbolicInt &limit, const SymbolicInt &variable,
                      const SymbolicInt &extent) {
    if (value == variable)
      return limit == extent;
    ArrayRef<SymbolicTerm> terms = value.terms();
    if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1)
      return false;
    const SymbolicAtom &atom = terms[0].factors[0].atom;
    return terms[0].factors[0].power == 1 && atom.kind() == SymbolicAtomKind::FloorDiv &&
           atom.operands()[0] == variable && atom.operands()[1] * limit == extent;
  }

  SymbolicInt restore(const SymbolicInt &expression) {
    return rebuild(expression, [&](const SymbolicAtom &atom) {
      if (atom.kind() == SymbolicAtomKind::Symbol)
        return SymbolicInt::of(atom);
      SmallVector<SymbolicInt, 2> operands;
      for (const SymbolicInt &operand : atom.operands())
        operands.push_back(restore(operand));
      if (atom.kind() == SymbolicAtomKind::Mod)
        for (const auto &range : ranges)
          if (isBelow(operands[0], operands[1], SymbolicInt::symbol(range.getKey()), range.second))
            return operands[0];
      if (atom.kind() == SymbolicAtomKind::Mod) {
        std::optional<IndexBounds> bounds = boundsAsWritten(operands[0], ranges);
        if (bounds && bounds->low.knownNonNegative() && (operands[1] - bounds->high).knownPositive())
          return operands[0];
      }
      return combined(atom.kind(), operands);
    });
  }

  const IndexRanges &ranges;
};

/// Interval arithmetic whose ends are expressions.
class BoundsFinder {
public:
  explicit BoundsFinder(const IndexRanges &ranges) : ranges(ranges) {}

  std::optional<IndexBounds> of(const SymbolicInt &expression) {
    if (expression.isPoison())
      return std::nullopt;
    IndexBounds sum{SymbolicInt(0), SymbolicInt(0)};
    for (const SymbolicTerm &term : expression.terms()) {
      std::optional<IndexBounds> product = of(term);
      if (!product)
        return std::nullopt;
      sum.low += product->low;
      sum.high += product->high;
    }
    return sum.low.isPoison() || sum.high.isPoison() ? std::nullopt : std::optional(sum);
  }

private:
  /// All factors of a product with a range must be nonnegative; otherwise its ends would swap.
  std::optional<IndexBounds> of(const SymbolicTerm &term) {
    IndexBounds product{SymbolicInt(1), SymbolicInt(1)};
    bool hasRange = false, mayBeNegative = false;
    for (const support::SymbolicFactor &factor : term.factors) {
      std::optional<IndexBounds> atom = of(factor.atom);
      if (!atom)
        return std::nullopt;
      hasRange |= atom->low != atom->high;
      mayBeNegative |= !atom->low.knownNonNegative();
      for (unsigned i = 0; i < factor.power; ++i) {
        product.low *= atom->low;
        product.high *= atom->high;
      }
    }
    bool isAlone = term.factors.size() == 1 && term.factors.front().power == 1;
    if (hasRange && mayBeNegative && !isAlone)
      return std::nullopt;
    product.low *= SymbolicInt(term.coefficient);
    product.high *= SymbolicInt(term.coefficient);
    if (term.coefficient < 0)
      std::swap(product.low, product.high);
    return product;
  }

  std::optional<IndexBounds> of(const SymbolicAtom &atom) {
    if (atom.kind() == SymbolicAtomKind::Symbol) {
      SymbolicInt symbol = SymbolicInt::symbol(atom.name());
      auto range = ranges.find(atom.name());
      if (range == ranges.end())
        return IndexBounds{symbol, symbol};
      return IndexBounds{SymbolicInt(0), range->second - SymbolicInt(1)};
    }
    SmallVector<IndexBounds, 2> operands;
    for (const SymbolicInt &operand : atom.operands()) {
      std::optional<IndexBounds> bounds = of(operand);
      if (!bounds)
        return std::nullopt;
      operands.push_back(*bounds);
    }
    return of(atom, operands);
  }

  static std::optional<IndexBounds> of(const SymbolicAtom &atom, ArrayRef<IndexBounds> operands) {
    if (llvm::all_of(operands, [](const IndexBounds &bounds) { return bounds.low == bounds.high; }))
      return IndexBounds{SymbolicInt::of(atom), SymbolicInt::of(atom)};
    if (atom.kind() == SymbolicAtomKind::Min || atom.kind() == SymbolicAtomKind::Max) {
      SmallVector<SymbolicInt, 2> low, high;
      for (const IndexBounds &bounds : operands) {
        low.push_back(bounds.low);
        high.push_back(bounds.high);
      }
      return IndexBounds{combined(atom.kind(), low), combined(atom.kind(), high)};
    }
    const IndexBounds &divisor = operands[1];
    if (divisor.low != divisor.high || !divisor.low.knownPositive())
      return std::nullopt;
    if (atom.kind() == SymbolicAtomKind::Mod) {
      SymbolicInt first = support::floorDiv(operands[0].low, divisor.low);
      if (first == support::floorDiv(operands[0].high, divisor.low))
        return IndexBounds{operands[0].low - first * divisor.low, operands[0].high - first * divisor.low};
      return IndexBounds{SymbolicInt(0), divisor.low - SymbolicInt(1)};
    }
    return IndexBounds{support::floorDiv(operands[0].low, divisor.low),
                       support::floorDiv(operands[0].high, divisor.low)};
  }

  const IndexRanges &ranges;
};
std::optional<IndexBounds> boundsAsWritten(const SymbolicInt &expression, const IndexRanges &ranges) {
  return BoundsFinder(ranges).of(expression);
}
} // namespace

SymbolicInt perpend::tile::simplify(const SymbolicInt &expression, const IndexRanges &ranges) {
  return RangeSimplifier(ranges).run(expression);
}

SymbolicInt perpend::tile::whereNotEmpty(const SymbolicInt &expression, ArrayRef<SymbolicInt> extents) {
  if (llvm::all_of(extents, [](const SymbolicInt &extent) { return extent.isConstant(); }))
    return expression;
  return rebuild(expression, [&](const SymbolicAtom &atom) {
    SymbolicInt same = SymbolicInt::of(atom);
    if (atom.kind() == SymbolicAtomKind::Symbol)
      return same;
    for (const SymbolicInt &extent : extents)
      if (atom.kind() == SymbolicAtomKind::Max && same == support::max(extent, SymbolicInt(1)))
        return extent;
    SmallVector<SymbolicInt, 2> operands;
    for (const SymbolicInt &operand : atom.operands())
      operands.push_back(whereNotEmpty(operand, extents));
    return combined(atom.kind(), operands);
  });
}

std::optional<IndexBounds> perpend::tile::boundsOf(const SymbolicInt &expression, const IndexRanges &ranges) {
  // Simplification may divide by an extent that could be 0.
  std::optional<IndexBounds> bounds = BoundsFinder(ranges).of(simplify(expression, ranges));
  return bounds ? bounds : BoundsFinder(ranges).of(expression);
}

IndexAlong perpend::tile::along(const SymbolicInt &expression, StringRef variable, const IndexRanges &ranges) {
  SymbolicInt simple = simplify(expression, ranges);
  llvm::StringMap<SymbolicInt> atZero;
  atZero[variable] = SymbolicInt(0);
  SymbolicInt first = simple.substitute(atZero);
  std::optional<SymbolicInt> stride = support::exactDiv(simple - first, SymbolicInt::symbol(variable));
  if (stride && stride->uses(variable))
    stride = std::nullopt;
  return {first, stride};
}
