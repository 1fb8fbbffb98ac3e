//===- Parser.cpp - lines and directives of assembly -----------------------===//

#include "target/quoin/assembly/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <bit>
#include <cstring>

namespace perpend::quoin {

bool Parser::parseConfig() {
  // The name of a configuration has a minus sign, which names have not.
  std::string first, second;
  if (!parseName(first) || !expect("-") || !parseName(second))
    return false;
  std::optional<Config> config = configNamed(first + "-" + second);
  if (!config)
    return fail("there is no configuration '" + first + "-" + second + "'; hint: qn-t1, qn-c1, qn-c8 or qn-c32");
  if (hasConfig)
    return fail("the configuration is given twice");
  program.config = std::move(*config);
  hasConfig = true;
  return true;
}

bool Parser::beginCore(uint32_t number) {
  if (number >= program.config.numCores())
    return fail("core " + llvm::Twine(number) + " of " + llvm::Twine(program.config.numCores()));
  if (program.cores.size() <= number)
    program.cores.resize(number + 1);
  if (!program.cores[number].empty())
    return fail("core " + llvm::Twine(number) + " has a program already");
  core = number;
  constants["core"] = number;
  return true;
}

/// .core NUMBER
bool Parser::parseCore() {
  uint32_t number;
  if (!finishCore() || !parseUnsigned(number))
    return false;
  lastCore = number;
  return beginCore(number);
}

/// .cores FIRST, LAST: what follows is for each of them, with `core` as its number.
bool Parser::parseCores() {
  uint32_t first, last;
  if (!finishCore() || !parseUnsigned(first) || !expect(",") || !parseUnsigned(last))
    return false;
  if (last < first)
    return fail("the last core is before the first");
  lastCore = last;
  coresBegin = lexer;
  return beginCore(first);
}

/// At the end of a core's text: begins again with it for the next core of .cores.
bool Parser::repeatForNextCore() {
  if (core >= lastCore || !finishCore())
    return false;
  lexer = coresBegin;
  return beginCore(core + 1);
}

/// .input NAME, SPACE, BYTES [, ADDRESS [, UNIT]]
bool Parser::parseSymbol(Symbol::Kind kind) {
  Symbol symbol;
  symbol.kind = kind;
  std::string space;
  int64_t bytes, address = -1, unit = 0;
  if (!parseName(symbol.name) || !expect(",") || !parseName(space) || !expect(",") || !parseInteger(bytes))
    return false;
  bool hasAddress = accept(",");
  if (hasAddress && (!parseInteger(address) || (accept(",") && !parseInteger(unit))))
    return false;
  std::optional<Space> found = spaceNamed(space);
  if (!found || *found < Space::DDR || *found > Space::L1)
    return fail("a symbol lies in DDR, LLB or L1, not in '" + space + "'");
  if (program.find(symbol.name) || constants.count(symbol.name))
    return fail("'" + symbol.name + "' is defined twice");
  if (bytes < 0 || unit < 0 || unit > 255 || (hasAddress && address < 0))
    return fail("a negative number of bytes, an address or a unit that cannot be");
  symbol.space = *found;
  symbol.unit = uint8_t(unit);
  symbol.sizeBytes = uint64_t(bytes);
  uint64_t &next = allocated[{*found, symbol.unit}];
  symbol.byte = hasAddress ? uint64_t(address) : next;
  next = std::max(next, (symbol.byte + symbol.sizeBytes + 63) / 64 * 64);
  program.symbols.push_back(std::move(symbol));
  return true;
}

/// .data NAME, TYPE, numbers: the content of a symbol in DDR, from its beginning.
bool Parser::parseData() {
  std::string symbolName, typeName;
  if (!parseName(symbolName) || !expect(",") || !parseName(typeName))
    return false;
  const Symbol *symbol = program.find(symbolName);
  std::optional<DType> type = dtypeNamed(typeName);
  if (!symbol || symbol->space != Space::DDR || !type || (isFloat(*type) && *type != DType::F32))
    return fail("expected a symbol in DDR and an integer type or f32");
  Data datum{symbol->unit, symbol->byte, {}};
  while (accept(",")) {
    bool isNegative = accept("-");
    const Lexeme &lexeme = lexer.current();
    if (lexeme.kind != Lexeme::Kind::Integer && lexeme.kind != Lexeme::Kind::Float)
      return fail("expected a number");
    float value = lexeme.kind == Lexeme::Kind::Float ? lexeme.number : float(lexeme.integer);
    uint32_t bits = isFloat(*type) ? std::bit_cast<uint32_t>(isNegative ? -value : value)
                                   : uint32_t(isNegative ? -lexeme.integer : lexeme.integer);
    for (unsigned byte = 0; byte < sizeOf(*type); ++byte)
      datum.bytes.push_back(uint8_t(bits >> 8 * byte));
    lexer.advance();
  }
  program.data.push_back(std::move(datum));
  return true;
}

/// "hexadecimal digits"
bool Parser::parseBytes(std::vector<uint8_t> &bytes) {
  const Lexeme &lexeme = lexer.current();
  std::string decoded;
  if (lexeme.kind != Lexeme::Kind::Text || lexeme.content.size() % 2 || !llvm::tryGetFromHex(lexeme.content, decoded))
    return fail("expected \"hexadecimal digits\"");
  bytes.insert(bytes.end(), decoded.begin(), decoded.end());
  lexer.advance();
  return true;
}

/// .entry NAME, BYTE
bool Parser::parseEntry() {
  ScalarCode::Entry entry;
  uint32_t byte;
  const Lexeme &lexeme = lexer.current();
  if (lexeme.kind == Lexeme::Kind::Text)
    entry.name = lexeme.content;
  else if (lexeme.kind == Lexeme::Kind::Name)
    entry.name = lexeme.text.str();
  else
    return fail("expected a name");
  lexer.advance();
  if (!expect(",") || !parseUnsigned(byte))
    return false;
  entry.byte = byte;
  program.scalar.entries.push_back(std::move(entry));
  return true;
}

/// .loc "text" is that of the instructions that follow, .loc alone ends it.
bool Parser::parseLocation() {
  location = noLocation;
  if (atEndOfLine())
    return true;
  if (lexer.current().kind != Lexeme::Kind::Text)
    return fail("expected a text");
  location = locationIndex(program, lexer.current().content);
  lexer.advance();
  return true;
}

bool Parser::parseDirective(llvm::StringRef directive) {
  if (directive == ".config")
    return parseConfig();
  if (!hasConfig)
    return fail("the first line is .config; hint: .config qn-c8");
  if (directive == ".core")
    return parseCore();
  if (directive == ".cores")
    return parseCores();
  if (directive == ".input")
    return parseSymbol(Symbol::Kind::Input);
  if (directive == ".output")
    return parseSymbol(Symbol::Kind::Output);
  if (directive == ".constant")
    return parseSymbol(Symbol::Kind::Constant);
  if (directive == ".scratch")
    return parseSymbol(Symbol::Kind::Scratch);
  if (directive == ".data")
    return parseData();
  if (directive == ".code")
    return parseBytes(program.scalar.image);
  if (directive == ".entry")
    return parseEntry();
  if (directive == ".loc")
    return parseLocation();
  if (directive == ".bytes") {
    uint32_t cluster;
    int64_t byte;
    Data datum;
    if (!parseUnsigned(cluster) || !expect(",") || !parseInteger(byte) || !expect(",") || !parseBytes(datum.bytes))
      return false;
    datum.cluster = uint8_t(cluster);
    datum.byte = uint64_t(byte);
    program.data.push_back(std::move(datum));
    return true;
  }
  std::string constant;
  int64_t value;
  if (directive != ".equ")
    return fail("there is no directive '" + directive + "'");
  if (!parseName(constant) || !expect(",") || !parseInteger(value))
    return false;
  if (program.find(constant) || !constants.try_emplace(constant, value).second)
    return fail("'" + constant + "' is defined twice");
  return true;
}

bool Parser::parseLine() {
  if (accept("}")) {
    if (openLoops.empty())
      return fail("there is no loop that ends here");
    uint32_t begin = openLoops.back(), end = uint32_t(body.size());
    openLoops.pop_back();
    Instruction instruction;
    instruction.opcode = Opcode::endl;
    instruction.axis = body[begin].axis;
    instruction.dst().byte = begin;
    instruction.location = location;
    body[begin].dst().byte = end;
    return append(std::move(instruction));
  }
  std::string word;
  if (!parseName(word))
    return false;
  if (accept(":")) {
    if (!labels.emplace(word, body.size()).second)
      return fail("the label '" + word + "' is defined twice");
    return true;
  }
  return word.front() == '.' ? parseDirective(word)
         : hasConfig         ? parseInstruction(word)
                             : fail("the first line is .config; hint: .config qn-c8");
}

/// Puts the terms of generators before the body, and moves the targets of jumps.
bool Parser::finishCore() {
  if (!openLoops.empty())
    return fail("a loop has no end");
  std::vector<Instruction> all;
  for (size_t index = 0; index < generators.size(); ++index)
    for (auto [source, term] : generators[index]) {
      Instruction instruction;
      instruction.opcode = Opcode::setag;
      instruction.axis = uint32_t(numGenerators - index);
      instruction.extent = {source, term.modulus, term.divisor};
      instruction.src(0).byte = uint64_t(term.coefficient) & ((1ull << 41) - 1);
      all.push_back(std::move(instruction));
    }
  for (auto &[index, label] : branches) {
    auto found = labels.find(label);
    if (found == labels.end())
      return fail("there is no label '" + label + "'");
    body[index].dst().byte = found->second;
  }
  for (Instruction &instruction : body) {
    bool jumps = instruction.opcode == Opcode::loop || instruction.opcode == Opcode::endl ||
                 instruction.opcode == Opcode::brz || instruction.opcode == Opcode::brnz;
    if (jumps)
      instruction.dst().byte += all.size();
  }
  all.insert(all.end(), std::make_move_iterator(body.begin()), std::make_move_iterator(body.end()));
  if (program.cores.size() <= core && !all.empty())
    program.cores.resize(core + 1);
  if (!all.empty())
    program.cores[core] = std::move(all);
  body.clear(), labels.clear(), branches.clear(), generators.clear(), lines.clear();
  location = noLocation;
  return true;
}

llvm::Expected<Program> Parser::parse() {
  bool good = true;
  auto isAtCore = [&] {
    llvm::StringRef word = lexer.current().text;
    return lexer.current().kind == Lexeme::Kind::End || word == ".core" || word == ".cores";
  };
  while (good) {
    if (isAtCore() && repeatForNextCore())
      continue;
    if (lexer.current().kind == Lexeme::Kind::End || !error.empty())
      break;
    if (lexer.current().kind == Lexeme::Kind::EndOfLine) {
      lexer.advance();
      continue;
    }
    good = parseLine();
    bool continues = lexer.current().is("}") || (!body.empty() && body.back().opcode == Opcode::loop);
    if (good && !atEndOfLine() && !continues)
      good = lexer.current().kind == Lexeme::Kind::Name || fail("unexpected '" + lexer.current().text.trim() + "'");
    if (good && !lexer.problem().empty())
      good = fail("");
  }
  good = good && error.empty() && (hasConfig || fail("the first line is .config; hint: .config qn-c8")) && finishCore();
  if (good)
    if (std::string problem = check(program); !problem.empty())
      good = fail(problem);
  if (!good)
    return llvm::createStringError(error);
  return std::move(program);
}

llvm::Expected<Program> assemble(llvm::MemoryBufferRef text, ScalarCode scalar) {
  return Parser(text, std::move(scalar)).parse();
}

} // namespace perpend::quoin
