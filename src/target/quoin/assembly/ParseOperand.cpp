//===- ParseOperand.cpp - addresses and numbers of assembly ----------------===//

#include "target/quoin/assembly/Parser.h"

namespace perpend::quoin {
namespace {
// Numbers of a text may be of any size: they wrap.
int64_t sumOf(int64_t left, int64_t right) { return int64_t(uint64_t(left) + uint64_t(right)); }
int64_t productOf(int64_t left, int64_t right) { return int64_t(uint64_t(left) * uint64_t(right)); }
} // namespace

bool Parser::fail(const llvm::Twine &text) {
  if (error.empty())
    error = name + ":" + lexer.position() + ": error: " + (lexer.problem().empty() ? text.str() : lexer.problem());
  return false;
}

bool Parser::accept(llvm::StringRef mark) {
  if (!lexer.current().is(mark))
    return false;
  lexer.advance();
  return true;
}

bool Parser::expect(llvm::StringRef mark) {
  return accept(mark) || fail("expected '" + mark + "', got '" + lexer.current().text.trim() + "'");
}

bool Parser::acceptName(llvm::StringRef word) {
  if (lexer.current().kind != Lexeme::Kind::Name || lexer.current().text != word)
    return false;
  lexer.advance();
  return true;
}

bool Parser::parseName(std::string &text) {
  if (lexer.current().kind != Lexeme::Kind::Name)
    return fail("expected a name, got '" + lexer.current().text.trim() + "'");
  text = lexer.current().text.str();
  lexer.advance();
  return true;
}

bool Parser::atEndOfLine() const {
  return lexer.current().kind == Lexeme::Kind::EndOfLine || lexer.current().kind == Lexeme::Kind::End;
}

/// l0 to l7 are sources 0 to 7, S0 to S63 are 16 to 79.
std::optional<unsigned> Parser::sourceOf(llvm::StringRef text) const {
  bool isLoop = text.consume_front("l");
  unsigned number;
  if ((!isLoop && !text.consume_front("S")) || text.getAsInteger(10, number) ||
      number >= (isLoop ? numLoops : numSRegs))
    return std::nullopt;
  return isLoop ? number : 16 + number;
}

bool Parser::parseFactor(int64_t &value) {
  const Lexeme &lexeme = lexer.current();
  if (accept("-")) {
    if (!parseFactor(value))
      return false;
    value = productOf(value, -1);
    return true;
  }
  if (lexeme.kind == Lexeme::Kind::Integer) {
    value = int64_t(lexeme.integer);
  } else if (lexeme.kind == Lexeme::Kind::Name) {
    if (auto constant = constants.find(lexeme.text); constant != constants.end())
      value = constant->second;
    else if (const Symbol *symbol = program.find(lexeme.text))
      value = int64_t(symbol->byte);
    else
      return fail("'" + lexeme.text + "' is no symbol and no constant");
  } else {
    return fail("expected a number, got '" + lexeme.text.trim() + "'");
  }
  lexer.advance();
  return true;
}

/// l0 [/ divisor] [% modulus] [* coefficient]
bool Parser::parseLoopTerm(Sum &sum, int64_t sign, unsigned source) {
  Sum::Term term{sign, 0, 0};
  int64_t value;
  if (accept("/")) {
    if (!parseFactor(value))
      return false;
    term.divisor = uint32_t(value);
  }
  if (accept("%")) {
    if (!parseFactor(value))
      return false;
    term.modulus = uint32_t(value);
  }
  while (accept("*")) {
    if (!parseFactor(value))
      return false;
    term.coefficient = productOf(term.coefficient, value);
  }
  if (!sum.terms.emplace(source, term).second)
    return fail("an address has one term of each loop");
  return true;
}

bool Parser::parseTerm(Sum &sum, int64_t sign) {
  if (accept("@")) {
    if (sum.generator || lexer.current().kind != Lexeme::Kind::Integer)
      return fail("expected the number of one generator");
    sum.generator = unsigned(lexer.current().integer);
    lexer.advance();
    return true;
  }
  if (lexer.current().kind == Lexeme::Kind::Name && !constants.count(lexer.current().text))
    if (std::optional<unsigned> source = sourceOf(lexer.current().text)) {
      lexer.advance();
      return parseLoopTerm(sum, sign, *source);
    }
  int64_t product;
  if (!parseFactor(product))
    return false;
  while (accept("*")) {
    if (std::optional<unsigned> source =
            lexer.current().kind == Lexeme::Kind::Name ? sourceOf(lexer.current().text) : std::nullopt) {
      lexer.advance();
      return parseLoopTerm(sum, productOf(sign, product), *source);
    }
    int64_t factor;
    if (!parseFactor(factor))
      return false;
    product = productOf(product, factor);
  }
  sum.constant = sumOf(sum.constant, productOf(sign, product));
  return true;
}

bool Parser::parseSum(Sum &sum) {
  int64_t sign = accept("-") ? -1 : 1;
  do {
    if (!parseTerm(sum, sign))
      return false;
    sign = lexer.current().is("-") ? -1 : 1;
  } while (accept("+") || accept("-"));
  return true;
}

bool Parser::parseInteger(int64_t &value) {
  Sum sum;
  if (!parseSum(sum))
    return false;
  if (!sum.terms.empty() || sum.generator)
    return fail("expected a number that does not vary");
  value = sum.constant;
  return true;
}

bool Parser::parseUnsigned(uint32_t &value) {
  int64_t wide;
  if (!parseInteger(wide))
    return false;
  if (wide < 0 || wide > UINT32_MAX)
    return fail(llvm::Twine(wide) + " is not a number of 32 bits");
  value = uint32_t(wide);
  return true;
}

bool Parser::parseList(llvm::SmallVectorImpl<int64_t> &values, size_t least, size_t most) {
  bool isList = accept("(");
  do {
    int64_t value;
    if (!parseInteger(value))
      return false;
    values.push_back(value);
  } while (isList && accept(","));
  if (isList && !expect(")"))
    return false;
  if (values.size() < least || values.size() > most)
    return fail("expected " + llvm::Twine(least) + " to " + llvm::Twine(most) + " numbers, got " +
                llvm::Twine(values.size()));
  return true;
}

/// The core's generator with these terms, which is made if it does not exist.
bool Parser::generatorFor(const Sum &sum, uint8_t &generator) {
  generator = uint8_t(sum.generator);
  if (sum.terms.empty())
    return true;
  if (sum.generator)
    return fail("an address has a generator or terms of loops");
  auto found = llvm::find(generators, sum.terms);
  size_t index = found - generators.begin();
  if (index >= numGenerators)
    return fail("a core has 63 address generators");
  if (found == generators.end())
    generators.push_back(sum.terms);
  generator = uint8_t(numGenerators - index);
  return true;
}

bool Parser::parseAddress(Operand &operand, Space space) {
  operand.space = space;
  if (accept("@")) {
    uint32_t peer;
    if (!parseUnsigned(peer))
      return false;
    operand.core = uint8_t(peer);
  }
  Sum sum;
  if (!expect("[") || !parseSum(sum) || !expect("]") || !generatorFor(sum, operand.generator))
    return false;
  operand.byte = uint64_t(sum.constant) & ((1ull << 41) - 1);
  return true;
}

/// SPACE[address], S[number], a number, or - for an operand that is absent.
bool Parser::parseOperand(Operand &operand) {
  if (lexer.current().kind == Lexeme::Kind::Name)
    if (std::optional<Space> space = spaceNamed(lexer.current().text)) {
      lexer.advance();
      return parseAddress(operand, *space);
    }
  if (accept("_"))
    return true;
  int64_t value;
  if (!parseInteger(value))
    return false;
  operand.byte = uint64_t(value) & ((1ull << 41) - 1);
  return true;
}

bool Parser::parseUnit(Unit &unit) {
  std::optional<Unit> found =
      lexer.current().kind == Lexeme::Kind::Name ? unitNamed(lexer.current().text) : std::nullopt;
  if (!found)
    return fail("'" + lexer.current().text.trim() + "' is no unit; hint: SEQ, LD, FD, MX, VX, ST, SC");
  unit = *found;
  lexer.advance();
  return true;
}

/// LD>MX:3
bool Parser::parseFlag(Unit &source, Unit &destination, unsigned &id) {
  if (!parseUnit(source) || !expect(">") || !parseUnit(destination) || !expect(":"))
    return false;
  if (lexer.current().kind != Lexeme::Kind::Integer || lexer.current().integer >= numFlagIds)
    return fail("expected a flag's number, 0 to 15");
  id = unsigned(lexer.current().integer);
  lexer.advance();
  return true;
}

} // namespace perpend::quoin
