// Parser and printer of symbolic integers. The parser takes untrusted text: its
// nesting, its number of tree nodes and its exponents are bounded.
#include "support/SymbolicIntSyntax.h"
#include "support/SymbolicIntNodes.h"
#include "support/SymbolicIntRules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

namespace perpend::support {
namespace {

constexpr unsigned maximalParserNesting = 400;
constexpr unsigned maximalParserNodes = 16384;

struct FunctionName {
  llvm::StringLiteral name;
  SymbolicSyntaxKind kind;
};
constexpr FunctionName functionNames[] = {
    {"floordiv", SymbolicSyntaxKind::FloorDiv}, {"FloorDiv", SymbolicSyntaxKind::FloorDiv},
    {"ceildiv", SymbolicSyntaxKind::CeilDiv},   {"CeilDiv", SymbolicSyntaxKind::CeilDiv},
    {"mod", SymbolicSyntaxKind::Mod},           {"Mod", SymbolicSyntaxKind::Mod},
    {"PythonMod", SymbolicSyntaxKind::Mod},     {"min", SymbolicSyntaxKind::Min},
    {"Min", SymbolicSyntaxKind::Min},           {"max", SymbolicSyntaxKind::Max},
    {"Max", SymbolicSyntaxKind::Max},
};

bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; }

class Parser {
public:
  Parser(llvm::StringRef text, std::string *error) : rest(text), size(text.size()), error(error) {}

  std::optional<SymbolicSyntax> parseAll();
  std::optional<std::vector<SymbolicComparison>> parseComparisons();

private:
  std::nullopt_t fail(const llvm::Twine &message);
  bool consume(llvm::StringRef token);
  bool atEnd();
  std::optional<SymbolicSyntax> node(SymbolicSyntaxKind kind, std::vector<SymbolicSyntax> operands);
  std::optional<SymbolicSyntax> parseSum();
  std::optional<SymbolicSyntax> parseProduct();
  std::optional<SymbolicSyntaxKind> consumeProductOperator();
  std::optional<SymbolicSyntax> parseUnary();
  std::optional<SymbolicSyntax> parsePrimary();
  std::optional<SymbolicSyntax> parsePower(SymbolicSyntax base);
  std::optional<SymbolicSyntax> parseNumber(bool isNegated);
  std::optional<SymbolicSyntax> parseQuotedName();
  std::optional<SymbolicSyntax> parseCall(const FunctionName &function);
  std::optional<SymbolicRelation> consumeRelation();

  llvm::StringRef rest;
  size_t size;
  std::string *error;
  unsigned nesting = 0;
  unsigned nodes = 0;
};

std::nullopt_t Parser::fail(const llvm::Twine &message) {
  if (error && error->empty())
    *error = ("symbolic integer: " + message + " at offset " + llvm::Twine(size - rest.size())).str();
  return std::nullopt;
}

bool Parser::atEnd() {
  rest = rest.ltrim(" \t\r\n");
  return rest.empty();
}

bool Parser::consume(llvm::StringRef token) { return !atEnd() && rest.consume_front(token); }

std::optional<SymbolicSyntax> Parser::node(SymbolicSyntaxKind kind, std::vector<SymbolicSyntax> operands) {
  if (++nodes > maximalParserNodes)
    return fail("expected at most " + llvm::Twine(maximalParserNodes) +
                " operations, got more; hint: name a part of the expression");
  return SymbolicSyntax{kind, 0, "", std::move(operands)};
}

std::optional<SymbolicSyntax> Parser::parseAll() {
  std::optional<SymbolicSyntax> result = parseSum();
  if (result && !atEnd())
    return fail("expected the end of the text, got '" + rest.take_front(8) + "'");
  return result;
}

std::optional<SymbolicSyntax> Parser::parseSum() {
  if (nesting >= maximalParserNesting)
    return fail("expected nesting of at most " + llvm::Twine(maximalParserNesting) +
                ", got more; hint: remove parentheses");
  ++nesting;
  std::vector<SymbolicSyntax> operands;
  for (bool isNegated = false;;) {
    std::optional<SymbolicSyntax> operand = parseProduct();
    if (operand && isNegated) {
      std::vector<SymbolicSyntax> negated;
      negated.push_back(std::move(*operand));
      operand = node(SymbolicSyntaxKind::Negate, std::move(negated));
    }
    if (!operand)
      return std::nullopt;
    operands.push_back(std::move(*operand));
    isNegated = consume("-");
    if (!isNegated && !consume("+"))
      break;
  }
  --nesting;
  if (operands.size() == 1)
    return std::move(operands.front());
  return node(SymbolicSyntaxKind::Add, std::move(operands));
}

std::optional<SymbolicSyntaxKind> Parser::consumeProductOperator() {
  if (consume("//"))
    return SymbolicSyntaxKind::FloorDiv;
  if (consume("%"))
    return SymbolicSyntaxKind::Mod;
  if (consume("*"))
    return SymbolicSyntaxKind::Multiply;
  return std::nullopt;
}

/// A product is one node, however long; // and % nest to the left and count as nesting, since the tree is walked
/// recursively.
std::optional<SymbolicSyntax> Parser::parseProduct() {
  std::optional<SymbolicSyntax> left = parseUnary();
  unsigned outerNesting = nesting;
  while (left) {
    std::optional<SymbolicSyntaxKind> kind = consumeProductOperator();
    if (!kind)
      break;
    std::optional<SymbolicSyntax> right = parseUnary();
    if (!right)
      return std::nullopt;
    if (*kind == SymbolicSyntaxKind::Multiply && left->kind == *kind && nesting > outerNesting) {
      left->operands.push_back(std::move(*right));
      continue;
    }
    if (++nesting > maximalParserNesting)
      return fail("expected a chain of at most " + llvm::Twine(maximalParserNesting) + " operators, got more");
    std::vector<SymbolicSyntax> operands;
    operands.push_back(std::move(*left));
    operands.push_back(std::move(*right));
    left = node(*kind, std::move(operands));
  }
  nesting = outerNesting;
  return left;
}

std::optional<SymbolicSyntax> Parser::parseUnary() {
  if (!consume("-"))
    return parsePrimary();
  if (!atEnd() && llvm::isDigit(rest.front())) {
    llvm::StringRef afterDigits = rest.drop_while(llvm::isDigit).ltrim();
    if (!afterDigits.starts_with("**"))
      return parseNumber(/*isNegated=*/true);
  }
  if (++nesting > maximalParserNesting)
    return fail("expected at most " + llvm::Twine(maximalParserNesting) + " signs, got more");
  std::optional<SymbolicSyntax> operand = parseUnary();
  --nesting;
  if (!operand)
    return std::nullopt;
  std::vector<SymbolicSyntax> operands;
  operands.push_back(std::move(*operand));
  return node(SymbolicSyntaxKind::Negate, std::move(operands));
}

std::optional<SymbolicSyntax> Parser::parseNumber(bool isNegated) {
  llvm::StringRef digits = rest.take_while(llvm::isDigit);
  uint64_t value = 0;
  uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (isNegated ? 1 : 0);
  if (digits.getAsInteger(10, value) || value > limit)
    return fail("expected a number of 64 bits, got '" + digits.take_front(24) + "'");
  rest = rest.drop_front(digits.size());
  std::optional<SymbolicSyntax> result = node(SymbolicSyntaxKind::Number, {});
  if (result)
    result->number = static_cast<int64_t>(isNegated ? 0 - value : value);
  return result;
}

std::optional<SymbolicSyntax> Parser::parseQuotedName() {
  std::string name;
  while (!rest.empty() && rest.front() != '"') {
    if (rest.consume_front("\\") && rest.empty())
      break;
    name.push_back(rest.front());
    rest = rest.drop_front();
  }
  if (!rest.consume_front("\""))
    return fail("expected '\"' after a quoted name, got the end of the text");
  std::optional<SymbolicSyntax> result = node(SymbolicSyntaxKind::Name, {});
  if (result)
    result->name = std::move(name);
  return result;
}

std::optional<SymbolicSyntax> Parser::parseCall(const FunctionName &function) {
  std::vector<SymbolicSyntax> operands;
  do {
    std::optional<SymbolicSyntax> operand = parseSum();
    if (!operand)
      return std::nullopt;
    operands.push_back(std::move(*operand));
  } while (consume(","));
  if (!consume(")"))
    return fail("expected ',' or ')', got '" + rest.take_front(8) + "'");
  bool isExtremum = function.kind == SymbolicSyntaxKind::Min || function.kind == SymbolicSyntaxKind::Max;
  if (!isExtremum && operands.size() != 2)
    return fail("expected 2 operands of " + function.name + ", got " + llvm::Twine(operands.size()));
  return node(function.kind, std::move(operands));
}

std::optional<SymbolicSyntax> Parser::parsePrimary() {
  std::optional<SymbolicSyntax> result;
  if (consume("(")) {
    result = parseSum();
    if (result && !consume(")"))
      return fail("expected ')', got '" + rest.take_front(8) + "'");
  } else if (consume("\"")) {
    result = parseQuotedName();
  } else if (!atEnd() && llvm::isDigit(rest.front())) {
    result = parseNumber(/*isNegated=*/false);
  } else if (!atEnd() && isNameStart(rest.front())) {
    llvm::StringRef name = rest.take_while(isNamePart);
    rest = rest.drop_front(name.size());
    const FunctionName *function = llvm::find_if(functionNames, [&](const FunctionName &f) { return f.name == name; });
    if (consume("(")) {
      if (function == std::end(functionNames))
        return fail("expected floordiv, ceildiv, mod, min or max, got function '" + name + "'");
      result = parseCall(*function);
    } else if ((result = node(SymbolicSyntaxKind::Name, {}))) {
      result->name = name.str();
    }
  } else {
    return fail("expected a number, a name or '(', got '" + rest.take_front(8) + "'");
  }
  return result ? parsePower(std::move(*result)) : std::nullopt;
}

std::optional<SymbolicSyntax> Parser::parsePower(SymbolicSyntax base) {
  if (!consume("**"))
    return base;
  if (++nesting > maximalParserNesting)
    return fail("expected at most " + llvm::Twine(maximalParserNesting) + " powers, got more");
  std::optional<SymbolicSyntax> exponent = parseUnary();
  --nesting;
  if (!exponent)
    return std::nullopt;
  if (exponent->kind != SymbolicSyntaxKind::Number || exponent->number < 0 || exponent->number > maximalDegree)
    return fail("expected a number from 0 to " + llvm::Twine(maximalDegree) + " as exponent");
  std::vector<SymbolicSyntax> operands;
  operands.push_back(std::move(base));
  std::optional<SymbolicSyntax> result = node(SymbolicSyntaxKind::Power, std::move(operands));
  if (result)
    result->number = exponent->number;
  return result;
}

std::optional<SymbolicRelation> Parser::consumeRelation() {
  static constexpr std::pair<llvm::StringLiteral, SymbolicRelation> relations[] = {
      {"==", SymbolicRelation::Equal}, {"!=", SymbolicRelation::NotEqual},       {"<=", SymbolicRelation::LessOrEqual},
      {"<", SymbolicRelation::Less},   {">=", SymbolicRelation::GreaterOrEqual}, {">", SymbolicRelation::Greater},
  };
  for (const auto &[text, relation] : relations)
    if (consume(text))
      return relation;
  return fail("expected a comparison, got '" + rest.take_front(8) + "'");
}

std::optional<std::vector<SymbolicComparison>> Parser::parseComparisons() {
  std::vector<SymbolicComparison> result;
  while (!atEnd()) {
    std::optional<SymbolicSyntax> left = parseSum();
    std::optional<SymbolicRelation> relation = left ? consumeRelation() : std::nullopt;
    std::optional<SymbolicSyntax> right = relation ? parseSum() : std::nullopt;
    if (!right)
      return std::nullopt;
    result.push_back({*relation, std::move(*left), std::move(*right)});
    if (!atEnd() && !consume(","))
      return fail("expected ',', got '" + rest.take_front(8) + "'");
  }
  return result;
}

//===- Printer ------------------------------------------------------------===//

void printValue(llvm::raw_ostream &stream, const SymbolicInt &value);

void printName(llvm::raw_ostream &stream, llvm::StringRef name) {
  if (!name.empty() && isNameStart(name.front()) && llvm::all_of(name, isNamePart)) {
    stream << name;
    return;
  }
  stream << '"';
  for (char c : name) {
    if (c == '"' || c == '\\')
      stream << '\\';
    stream << c;
  }
  stream << '"';
}

void printAtom(llvm::raw_ostream &stream, const SymbolicAtom &atom) {
  if (atom.kind() == SymbolicAtomKind::Symbol)
    return printName(stream, atom.name());
  static constexpr llvm::StringLiteral names[] = {"", "floordiv", "mod", "min", "max"};
  stream << names[static_cast<unsigned>(atom.kind())] << '(';
  llvm::ListSeparator separator;
  for (const SymbolicInt &operand : atom.operands()) {
    stream << separator;
    printValue(stream, operand);
  }
  stream << ')';
}

void printTerm(llvm::raw_ostream &stream, const SymbolicTerm &term, bool isFirst) {
  // The lowest number has no counterpart, so it keeps its sign.
  bool isNegative = term.coefficient < 0;
  bool keepsSign = isFirst || term.coefficient == std::numeric_limits<int64_t>::min();
  if (!isFirst)
    stream << (isNegative && !keepsSign ? " - " : " + ");
  else if (isNegative && term.coefficient == -1 && !term.factors.empty())
    stream << '-';
  int64_t coefficient = isNegative && !keepsSign ? -term.coefficient : term.coefficient;
  bool isUnit = coefficient == 1 || (isFirst && coefficient == -1);
  llvm::ListSeparator separator("*");
  if (term.factors.empty() || !isUnit)
    stream << separator << coefficient;
  for (const SymbolicFactor &factor : term.factors) {
    stream << separator;
    printAtom(stream, factor.atom);
    if (factor.power > 1)
      stream << "**" << factor.power;
  }
}

void printValue(llvm::raw_ostream &stream, const SymbolicInt &value) {
  if (value.isPoison())
    stream << "<poison>";
  else if (value.terms().empty())
    stream << '0';
  bool isFirst = true;
  for (const SymbolicTerm &term : value.terms()) {
    printTerm(stream, term, isFirst);
    isFirst = false;
  }
}

} // namespace

std::optional<SymbolicSyntax> parseSymbolicSyntax(llvm::StringRef text, std::string *error) {
  return Parser(text, error).parseAll();
}

std::optional<std::vector<SymbolicComparison>> parseSymbolicComparisons(llvm::StringRef text, std::string *error) {
  return Parser(text, error).parseComparisons();
}

std::string SymbolicInt::str() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printValue(stream, *this);
  return text;
}

std::optional<SymbolicInt> SymbolicInt::parse(llvm::StringRef text, std::string *error) {
  if (error)
    error->clear();
  std::optional<SymbolicSyntax> syntax = parseSymbolicSyntax(text, error);
  if (!syntax)
    return std::nullopt;
  SymbolicInt result = SymbolicRewriter().build(*syntax, SymbolicIntBuilder::symbol);
  if (!result.isPoison())
    return result;
  if (error)
    *error = "symbolic integer: expected a value within the limits, got '" + text.take_front(80).str() +
             "', which overflows 64 bits, divides by 0 or is too large; hint: see SymbolicInt.h";
  return std::nullopt;
}

} // namespace perpend::support
