//===- PatternParser.cpp - reads regular expressions ----------------------===//

#include "tokenizer/Pattern.h"
#include "tokenizer/Refusal.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace perpend::tokenizer {
namespace {

using Node = std::unique_ptr<PatternNode>;
constexpr int maxNesting = 60;
constexpr uint32_t maxRepeats = 1000;
constexpr size_t maxPatternBytes = 1 << 16;

/// Errors are sticky: after the first one every function returns something harmless.
class Parser {
public:
  Parser(llvm::StringRef pattern, std::vector<uint32_t> codes) : whole(pattern), text(std::move(codes)) {}
  llvm::Expected<Node> run();

private:
  struct Options {
    bool ignoresCase = false, dotIsAny = false, isExtended = false;
  };

  Node alternatives(Options options);
  Node sequence(Options &options);
  Node element(Options &options);
  Node group(Options &options);
  Node optionGroup(Options &options);
  Node repeated(Node node);
  bool bounds(uint32_t &least, uint32_t &most);
  Node escape(Options options);
  CodeSet bracket(Options options);
  CodeSet bracketPart(Options options);
  std::optional<uint32_t> bracketCode(Options options, CodeSet &set);
  CodeSet property(bool isNegated);
  std::optional<CodeSet> shorthand(uint32_t letter);
  uint32_t escapedCode(uint32_t letter);
  uint32_t number(int base, size_t most);
  CodeSet folded(uint32_t code, Options options);

  bool atEnd() const { return position >= text.size() || !problem.empty(); }
  uint32_t peek(size_t ahead = 0) const { return position + ahead < text.size() ? text[position + ahead] : 0; }
  bool take(uint32_t code) {
    const bool isTaken = !atEnd() && text[position] == code;
    position += isTaken;
    return isTaken;
  }
  bool takeWord(llvm::StringRef word);
  void fail(const llvm::Twine &what) { problem = problem.empty() ? what.str() : problem; }

  llvm::StringRef whole;
  std::vector<uint32_t> text;
  size_t position = 0;
  int depth = 0;
  uint32_t previousLetter = 0; ///< under (?i), for pairs of letters that one character folds to
  std::string problem;
};

Node makeSetNode(CodeSet set) {
  auto node = std::make_unique<PatternNode>();
  node->kind = PatternNode::Set;
  node->set = std::move(set);
  return node;
}

Node makeNode(PatternNode::Kind kind) {
  auto node = std::make_unique<PatternNode>();
  node->kind = kind;
  return node;
}

Node makePosition(Op op, bool isNegated = false) {
  Node node = makeNode(PatternNode::Position);
  node->position = op;
  node->isNegated = isNegated;
  return node;
}

llvm::Expected<Node> Parser::run() {
  Node node = alternatives({});
  if (problem.empty() && position < text.size())
    fail("there is a ')' too many");
  if (problem.empty())
    return node;
  return refuse(
      llvm::formatv("tokenizer: cannot read the pattern '{0}' at character {1}: {2}", whole, position, problem),
      "patterns have Oniguruma's syntax without back references, conditions and calls of groups");
}

bool Parser::takeWord(llvm::StringRef word) {
  for (size_t i = 0; i < word.size(); ++i)
    if (peek(i) != static_cast<unsigned char>(word[i]))
      return false;
  position += word.size();
  return true;
}

Node Parser::alternatives(Options options) {
  if (++depth > maxNesting)
    fail("groups are nested too deep");
  Node node = makeNode(PatternNode::Alternatives);
  do
    node->parts.push_back(sequence(options));
  while (take('|'));
  --depth;
  if (node->parts.size() == 1)
    return std::move(node->parts[0]);
  return node;
}

Node Parser::sequence(Options &options) {
  Node node = makeNode(PatternNode::Sequence);
  previousLetter = 0;
  while (!atEnd() && peek() != '|' && peek() != ')')
    if (Node part = element(options))
      node->parts.push_back(repeated(std::move(part)));
  return node;
}

Node Parser::element(Options &options) {
  const uint32_t code = text[position++];
  const uint32_t before = previousLetter;
  previousLetter = 0;
  switch (code) {
  case '(':
    return group(options);
  case '[':
    return makeSetNode(bracket(options));
  case '.':
    return makeSetNode(options.dotIsAny ? CodeSet({{0, lastCode}}) : CodeSet({{'\n', '\n'}}).complement());
  case '^':
    return makePosition(Op::LineStart);
  case '$':
    return makePosition(Op::LineEnd);
  case '\\':
    return escape(options);
  case '*':
  case '+':
  case '?':
    fail("there is nothing to repeat");
    return nullptr;
  default:
    break;
  }
  if (options.isExtended && (code == ' ' || code == '\n' || code == '\t' || code == '#')) {
    while (code == '#' && !atEnd() && text[position++] != '\n')
      ;
    return nullptr;
  }
  if (options.ignoresCase) {
    previousLetter = code | 0x20;
    const bool isPair = (before == 's' && (previousLetter == 's' || previousLetter == 't')) ||
                        (before == 'f' && (previousLetter == 'f' || previousLetter == 'i' || previousLetter == 'l'));
    if (isPair)
      fail("without case, a pair of letters may be one character (as in U+00DF), which is not supported");
  }
  return makeSetNode(folded(code, options));
}

Node Parser::optionGroup(Options &options) {
  Options inner = options;
  bool isOn = true;
  while (!atEnd() && peek() != ')' && peek() != ':') {
    const uint32_t letter = text[position++];
    if (letter == '-')
      isOn = false;
    else if (letter == 'i')
      inner.ignoresCase = isOn;
    else if (letter == 'm')
      inner.dotIsAny = isOn;
    else if (letter == 'x')
      inner.isExtended = isOn;
    else
      fail(llvm::Twine("the option '") + llvm::Twine(static_cast<char>(letter)) + "' is unknown");
  }
  if (take(':')) {
    Node node = alternatives(inner);
    if (!take(')'))
      fail("a ')' is missing");
    return node;
  }
  if (!take(')'))
    fail("a ')' is missing");
  // (?i) holds to the end of the group around it, alternatives included.
  Node node = alternatives(inner);
  return node;
}

Node Parser::group(Options &options) {
  Node node;
  if (take('?')) {
    const bool isBehind = peek() == '<' && (peek(1) == '=' || peek(1) == '!');
    if (isBehind || peek() == '=' || peek() == '!') {
      node = makeNode(PatternNode::Look);
      position += isBehind;
      node->isBehind = isBehind;
      node->isNegated = text[position++] == '!';
    } else if (take('>')) {
      node = makeNode(PatternNode::Atomic);
    } else if (take('#')) {
      while (!atEnd() && !take(')'))
        ++position;
      return nullptr;
    } else if (peek() == '<' || peek() == '\'' || takeWord("P<")) {
      while (!atEnd() && peek() != '>' && peek() != '\'')
        ++position;
      ++position;
    } else if (!take(':')) {
      return optionGroup(options);
    }
  }
  Node inner = alternatives(options);
  if (!take(')'))
    fail("a ')' is missing");
  if (!node)
    return inner;
  node->parts.push_back(std::move(inner));
  return node;
}

uint32_t Parser::number(int base, size_t most) {
  std::string digits;
  while (digits.size() < most && peek() < 128 &&
         llvm::hexDigitValue(static_cast<char>(peek())) < static_cast<unsigned>(base) && position < text.size())
    digits += static_cast<char>(text[position++]);
  uint32_t value = 0;
  if (llvm::StringRef(digits).getAsInteger(base, value))
    fail("a number is missing");
  return value;
}

/// {2}, {2,}, {,2}, {2,3}; anything else is text.
bool Parser::bounds(uint32_t &least, uint32_t &most) {
  size_t end = position;
  while (end < text.size() && text[end] != '}' && (text[end] == ',' || (text[end] >= '0' && text[end] <= '9')))
    ++end;
  if (peek() == '}' || end >= text.size() || text[end] != '}' || (peek() == ',' && peek(1) == '}'))
    return false;
  const bool hasLeast = peek() != ',';
  least = hasLeast ? number(10, 9) : 0;
  most = least;
  if (take(','))
    most = peek() == '}' ? unlimited : number(10, 9);
  take('}');
  if (least > maxRepeats || (most != unlimited && most > maxRepeats))
    fail("more than 1000 repeats");
  if (most < least)
    fail("a repeat has a higher lower bound than upper bound");
  return true;
}

Node Parser::repeated(Node node) {
  for (;;) {
    uint32_t least = 0, most = unlimited;
    bool isInterval = false;
    if (take('?'))
      most = 1;
    else if (take('+'))
      least = 1;
    else if (peek() == '{' && !atEnd()) {
      ++position;
      isInterval = bounds(least, most);
      if (!isInterval) {
        --position;
        return node;
      }
    } else if (!take('*'))
      return node;
    Node outer = makeNode(PatternNode::Repeat);
    outer->least = least;
    outer->most = most;
    if (take('?'))
      outer->mode = PatternNode::Lazy;
    else if (!isInterval && take('+'))
      outer->mode = PatternNode::Possessive;
    if (most == unlimited && node->leastLength() == 0)
      fail("something that may be empty is repeated without a limit");
    outer->parts.push_back(std::move(node));
    node = std::move(outer);
    previousLetter = 0;
  }
}

CodeSet Parser::folded(uint32_t code, Options options) {
  CodeSet set({{code, code}});
  if (!options.ignoresCase)
    return set;
  const bool isLetter = (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
  if (code >= 128 && propertyNamed("L")->contains(code))
    fail("letters beyond ASCII without case are not supported");
  if (!isLetter || code >= 128)
    return set;
  set.add(code ^ 0x20, code ^ 0x20);
  if ((code | 0x20) == 's')
    set.add(0x17F, 0x17F);
  if ((code | 0x20) == 'k')
    set.add(0x212A, 0x212A);
  return set;
}

std::optional<CodeSet> Parser::shorthand(uint32_t letter) {
  CodeSet set;
  switch (letter | 0x20) {
  case 'd':
    set = *propertyNamed("Nd");
    break;
  case 's':
    set = namedSet(NamedSet::Space);
    break;
  case 'w':
    set = namedSet(NamedSet::PatternWord);
    break;
  case 'h':
    set = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
    break;
  default:
    return std::nullopt;
  }
  return letter & 0x20 ? set : set.complement();
}

CodeSet Parser::property(bool isNegated) {
  if (!take('{')) {
    fail("a '{' is missing behind \\p");
    return {};
  }
  isNegated ^= take('^');
  std::string name;
  while (!atEnd() && peek() != '}')
    appendCode(name, text[position++]);
  take('}');
  const std::optional<CodeSet> set = propertyNamed(name);
  if (!set)
    fail("the property '" + name + "' is unknown");
  return !set ? CodeSet() : isNegated ? set->complement() : *set;
}

uint32_t Parser::escapedCode(uint32_t letter) {
  switch (letter) {
  case 'n':
    return '\n';
  case 'r':
    return '\r';
  case 't':
    return '\t';
  case 'f':
    return '\f';
  case 'v':
    return '\v';
  case 'a':
    return '\a';
  case 'e':
    return 0x1B;
  case '0':
    return number(8, 2);
  case 'u':
    return number(16, 4);
  case 'x':
    if (take('{')) {
      const uint32_t code = number(16, 8);
      if (!take('}') || code > lastCode)
        fail("the code point is not one");
      return code;
    }
    return number(16, 2);
  default:
    break;
  }
  const bool isWord = letter < 128 && (llvm::isAlnum(static_cast<char>(letter)));
  if (isWord)
    fail(llvm::Twine("the escape '\\") + llvm::Twine(static_cast<char>(letter)) + "' is not supported");
  return letter;
}

Node Parser::escape(Options options) {
  if (atEnd()) {
    fail("the pattern ends with '\\'");
    return nullptr;
  }
  const uint32_t letter = text[position++];
  if (letter == 'p' || letter == 'P')
    return makeSetNode(property(letter == 'P'));
  if (std::optional<CodeSet> set = shorthand(letter))
    return makeSetNode(*set);
  switch (letter) {
  case 'A':
    return makePosition(Op::TextStart);
  case 'z':
    return makePosition(Op::TextEnd);
  case 'Z':
    return makePosition(Op::LastLineEnd);
  case 'b':
  case 'B':
    return makePosition(Op::WordEdge, letter == 'B');
  default:
    return makeSetNode(folded(escapedCode(letter), options));
  }
}

//===----------------------------------------------------------------------===//
// Brackets
//===----------------------------------------------------------------------===//

/// One character, which may begin a range; nothing if it was a set.
std::optional<uint32_t> Parser::bracketCode(Options options, CodeSet &set) {
  const uint32_t code = text[position++];
  if (code == '[') {
    if (peek() == ':')
      fail("POSIX brackets are not supported");
    set.add(bracket(options));
    return std::nullopt;
  }
  if (code != '\\')
    return code;
  if (atEnd())
    return 0;
  const uint32_t letter = text[position++];
  if (letter == 'p' || letter == 'P') {
    set.add(property(letter == 'P'));
    return std::nullopt;
  }
  if (std::optional<CodeSet> found = shorthand(letter)) {
    set.add(*found);
    return std::nullopt;
  }
  return letter == 'b' ? '\b' : escapedCode(letter);
}

/// Up to "&&" or the end.
CodeSet Parser::bracketPart(Options options) {
  CodeSet set;
  bool isFirst = true;
  for (; !atEnd() && (peek() != ']' || isFirst) && !(peek() == '&' && peek(1) == '&'); isFirst = false) {
    const std::optional<uint32_t> first = bracketCode(options, set);
    if (!first)
      continue;
    uint32_t last = *first;
    if (peek() == '-' && peek(1) != ']' && position + 1 < text.size() && peek(1) != '[') {
      ++position;
      const std::optional<uint32_t> end = bracketCode(options, set);
      if (!end || *end < *first)
        fail("a range ends before it begins");
      last = end.value_or(*first);
    }
    if (!options.ignoresCase || *first == last)
      set.add(folded(*first, options));
    else if (last >= 128)
      fail("ranges beyond ASCII without case are not supported");
    for (uint32_t code = *first; options.ignoresCase && code <= last && last < 128; ++code)
      set.add(folded(code, options));
    set.add(*first, last);
  }
  return set;
}

CodeSet Parser::bracket(Options options) {
  if (++depth > maxNesting)
    fail("brackets are nested too deep");
  const bool isNegated = take('^');
  CodeSet set = bracketPart(options);
  while (takeWord("&&"))
    set = set.intersection(bracketPart(options));
  if (!take(']'))
    fail("a ']' is missing");
  --depth;
  return isNegated ? set.complement() : set;
}

} // namespace

llvm::Expected<std::unique_ptr<PatternNode>> parsePattern(llvm::StringRef pattern) {
  std::optional<std::vector<uint32_t>> codes = codesOf(pattern);
  if (!codes || pattern.size() > maxPatternBytes)
    return refuse("tokenizer: expected patterns of UTF-8 of at most 64 KB, got another",
                  "the file may be damaged; fetch it again");
  return Parser(pattern, std::move(*codes)).run();
}

llvm::Expected<std::unique_ptr<PatternNode>> literalPattern(llvm::StringRef text) {
  std::optional<std::vector<uint32_t>> codes = codesOf(text);
  if (!codes || codes->empty())
    return refuse("tokenizer: expected a text to look for, got '" + text + "'",
                  "the file may be damaged; fetch it again");
  Node node = makeNode(PatternNode::Sequence);
  for (const uint32_t code : *codes)
    node->parts.push_back(makeSetNode({{code, code}}));
  return node;
}
} // namespace perpend::tokenizer
