//===- IndexMap.cpp - maps from one index space to another ----------------===//

#include "tile/schedule/IndexMap.h"

#include "support/ReadableText.h"

#include "llvm/ADT/StringExtras.h"

using namespace perpend;
using namespace perpend::tile;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using support::SymbolicAtomKind;

static std::string inputName(unsigned number) { return "%" + std::to_string(number); }

static std::optional<unsigned> inputNumber(StringRef name) {
  unsigned number = 0;
  if (!name.consume_front("%") || name.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

static bool usesInputs(const SymbolicInt &expression) {
  return expression.anySymbol([](StringRef name) { return inputNumber(name).has_value(); });
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Rewrites `j floordiv 32` as `floordiv(j, 32)`, which SymbolicInt parses; leaves function calls alone.
static std::string withoutWords(StringRef text) {
  std::string result;
  while (!text.empty()) {
    StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    size_t length = std::max<size_t>(word.size(), 1);
    bool follows = StringRef(result).rtrim().ends_with(")") ||
                   (!StringRef(result).rtrim().empty() &&
                    (llvm::isAlnum(StringRef(result).rtrim().back()) || StringRef(result).rtrim().back() == '_'));
    if (follows && (word == "floordiv" || word == "mod"))
      result += word == "mod" ? "%" : "//";
    else
      result += text.take_front(length).str();
    text = text.drop_front(length);
  }
  return result;
}

/// Splits "(…)" at its outermost commas.
static std::optional<SmallVector<StringRef>> listOf(StringRef text) {
  text = text.trim();
  if (!text.consume_front("(") || !text.consume_back(")"))
    return std::nullopt;
  SmallVector<StringRef> list;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    depth += (c == '(') - (c == ')');
    if (c != ',' || (depth != 0 && i < text.size()))
      continue;
    list.push_back(text.slice(start, i).trim());
    start = i + 1;
  }
  if (list.size() == 1 && list.front().empty())
    list.clear();
  return depth == 0 ? std::optional(list) : std::nullopt;
}

std::optional<IndexMap> IndexMap::parse(StringRef text, std::string &why) {
  auto [left, right] = text.split("->");
  std::optional<SmallVector<StringRef>> names = listOf(left), results = listOf(right);
  if (!names || !results)
    return why = "expected a map such as (i, j) -> (j, i), got '" + text.str() + "'", std::nullopt;
  IndexMap map;
  llvm::StringMap<SymbolicInt> replacements;
  for (StringRef name : *names) {
    bool isName = !name.empty() && !llvm::isDigit(name.front()) &&
                  llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!isName || replacements.contains(name))
      return why = "expected a name for each input, all of them different, got '" + name.str() + "'", std::nullopt;
    replacements[name] = SymbolicInt::symbol(inputName(map.inputs.size()));
    map.inputs.push_back(name.str());
  }
  for (StringRef result : *results) {
    std::optional<SymbolicInt> expression = SymbolicInt::parse(withoutWords(result), &why);
    if (!expression || expression->isPoison() || usesInputs(*expression))
      return why = "expected an expression of the inputs, got '" + result.str() + "'", std::nullopt;
    map.outputs.push_back(expression->substitute(replacements));
  }
  return map;
}

IndexMap IndexMap::of(unsigned inputCount, ArrayRef<SymbolicInt> outputs) {
  IndexMap map;
  for (unsigned i = 0; i < inputCount; ++i)
    map.inputs.push_back("i" + std::to_string(i));
  map.outputs.assign(outputs.begin(), outputs.end());
  return map;
}

std::string IndexMap::str() const {
  llvm::StringMap<SymbolicInt> replacements;
  for (auto [number, name] : llvm::enumerate(inputs))
    replacements[inputName(number)] = SymbolicInt::symbol(name);
  std::string text = "(" + llvm::join(inputs, ", ") + ") -> (";
  for (auto [i, output] : llvm::enumerate(outputs))
    text += (i ? ", " : "") + output.substitute(replacements).str();
  return text + ")";
}

Shape IndexMap::apply(ArrayRef<SymbolicInt> point) const {
  llvm::StringMap<SymbolicInt> replacements;
  for (auto [number, value] : llvm::enumerate(point))
    replacements[inputName(number)] = value;
  Shape results;
  for (const SymbolicInt &output : outputs)
    results.push_back(output.substitute(replacements));
  return results;
}

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

/// Accepts %k, floordiv(%k, d), mod(%k, m), mod(floordiv(%k, d), m) or floordiv(mod(%k, m), d), times a stride.
std::optional<Renumbering::Digit> Renumbering::digitOf(const support::SymbolicTerm &term) {
  Digit digit;
  digit.stride = SymbolicInt(term.coefficient);
  const support::SymbolicFactor *found = nullptr;
  for (const support::SymbolicFactor &factor : term.factors) {
    SymbolicInt atom = SymbolicInt::of(factor.atom);
    if (usesInputs(atom)) {
      if (found || factor.power != 1)
        return std::nullopt;
      found = &factor;
      continue;
    }
    for (unsigned i = 0; i < factor.power; ++i)
      digit.stride *= atom;
  }
  if (!found || !digit.stride.knownNonNegative()) // 0 only if an extent is 0; then there are no points
    return std::nullopt;
  digit.divisor = SymbolicInt(1);
  digit.isTop = true;
  support::SymbolicAtom atom = found->atom;
  while (atom.kind() != SymbolicAtomKind::Symbol) {
    bool divides = atom.kind() == SymbolicAtomKind::FloorDiv;
    if ((!divides && atom.kind() != SymbolicAtomKind::Mod) || usesInputs(atom.operands()[1]) ||
        !atom.operands()[1].knownPositive())
      return std::nullopt;
    SymbolicInt inner = atom.operands()[0], by = atom.operands()[1];
    if (inner.terms().size() != 1 || inner.terms()[0].coefficient != 1 || inner.terms()[0].factors.size() != 1 ||
        inner.terms()[0].factors[0].power != 1)
      return std::nullopt;
    if (divides) {
      digit.divisor *= by;
    } else {
      if (!digit.isTop) // a digit of a digit of a digit
        return std::nullopt;
      // The digit has by / divisor values after the division.
      std::optional<SymbolicInt> values = support::exactDiv(by, digit.divisor);
      if (!values)
        return std::nullopt;
      digit.extent = *values;
      digit.isTop = false;
    }
    support::SymbolicAtom next = inner.terms()[0].factors[0].atom;
    atom = next;
  }
  digit.input = *inputNumber(atom.name());
  return digit;
}

bool Renumbering::collect(ArrayRef<SymbolicInt> outputs, std::string &why) {
  for (auto [number, output] : llvm::enumerate(outputs))
    for (const support::SymbolicTerm &term : output.terms()) {
      std::optional<Digit> digit = digitOf(term);
      if (!digit)
        return why = "its result " + std::to_string(number) + " is no sum of digits of the inputs: i floordiv a mod b",
               false;
      digit->output = number;
      digits.push_back(*digit);
    }
  return true;
}

/// Orders the digits of an input: starting from 1, each begins where the previous one ends, with no gap and no overlap.
bool Renumbering::orderInput(unsigned input, const SymbolicInt &extent, std::string &why) {
  SymbolicInt end(1);
  size_t count = llvm::count_if(digits, [&](const Digit &digit) { return digit.input == input; });
  for (size_t i = 0; i < count; ++i) {
    auto begins = [&](const Digit &digit) { return digit.input == input && digit.divisor == end; };
    auto digit = llvm::find_if(digits, begins);
    if (digit == digits.end())
      return why = "its results have no digit of input " + std::to_string(input) + " that begins at " + end.str(),
             false;
    bool isLast = digit->isTop || (end * digit->extent - extent).knownNonNegative();
    if (isLast != (i + 1 == count))
      return why = "its results have a part of input " + std::to_string(input) + (isLast ? " twice" : " not at all"),
             false;
    if (isLast)
      digit->extent = support::ceilDiv(extent, end);
    end *= digit->extent;
  }
  if (!(end - extent).knownNonNegative())
    return why = "its results do not say all of input " + std::to_string(input), false;
  isPadded.push_back(end != extent);
  return true;
}

/// Orders the digits of an output: starting from 1, each stride is where the previous digit ends.
bool Renumbering::orderOutput(unsigned output, std::string &why) {
  SymbolicInt end(1);
  SmallVector<unsigned> &inputs = sources.emplace_back();
  size_t count = llvm::count_if(digits, [&](const Digit &digit) { return digit.output == output; });
  for (size_t i = 0; i < count; ++i) {
    auto begins = [&](const Digit &digit) { return digit.output == output && digit.stride == end; };
    auto digit = llvm::find_if(digits, begins);
    if (digit == digits.end() || llvm::count_if(digits, begins) != 1)
      return why = "two points may have the same result " + std::to_string(output) + ", or some result has no point",
             false;
    inputs.push_back(digit->input);
    end *= digit->extent;
    digit->isTop = i + 1 == count; // the most significant digit of its output
  }
  extents.push_back(end);
  return true;
}

/// A name in the results that is neither an input nor a symbol of the extents.
static std::string unknownName(const IndexMap &map, ArrayRef<SymbolicInt> extents) {
  std::string unknown;
  auto isUnknown = [&](StringRef name) {
    auto isThis = [&](StringRef symbol) { return symbol == name; };
    if (inputNumber(name) || llvm::any_of(extents, [&](const SymbolicInt &extent) { return extent.anySymbol(isThis); }))
      return false;
    unknown = name.str();
    return true;
  };
  (void)llvm::any_of(map.expressions(), [&](const SymbolicInt &output) { return output.anySymbol(isUnknown); });
  return unknown;
}

std::optional<Renumbering> Renumbering::of(const IndexMap &map, ArrayRef<SymbolicInt> extents, std::string &why) {
  if (map.inputCount() != extents.size())
    return why = "expected a map of " + support::counted(extents.size(), "input") + ", got " + map.str(), std::nullopt;
  IndexRanges ranges;
  for (auto [number, extent] : llvm::enumerate(extents))
    ranges[inputName(number)] = extent;
  Shape outputs;
  for (const SymbolicInt &output : map.expressions())
    outputs.push_back(simplify(output, ranges));
  Renumbering result;
  std::string reason;
  bool isKnown = result.collect(outputs, reason);
  for (unsigned input = 0; isKnown && input < extents.size(); ++input)
    isKnown = result.orderInput(input, extents[input], reason);
  for (unsigned output = 0; isKnown && output < outputs.size(); ++output)
    isKnown = result.orderOutput(output, reason);
  if (std::string name = unknownName(map, extents); !isKnown && !name.empty())
    return why = "the map " + map.str() + " uses '" + name + "', expected expressions of its inputs " +
                 llvm::join(map.inputNames(), ", ") + " and of symbols of the extents",
           std::nullopt;
  if (!isKnown)
    return why = "the map " + map.str() + " is not known to be one to one: " + reason, std::nullopt;
  for (const SymbolicInt &extent : result.extents)
    if (extent.isPoison())
      return why = "the extents of " + map.str() + " are too long expressions", std::nullopt;
  return result;
}

Shape Renumbering::invert(ArrayRef<SymbolicInt> outputs) const {
  Shape inputs(isPadded.size(), SymbolicInt(0));
  for (const Digit &digit : digits) {
    SymbolicInt value = support::floorDiv(outputs[digit.output], support::max(digit.stride, SymbolicInt(1)));
    if (!digit.isTop)
      value = support::mod(value, support::max(digit.extent, SymbolicInt(1)));
    inputs[digit.input] += value * digit.divisor;
  }
  return inputs;
}
