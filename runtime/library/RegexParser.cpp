// Compiles a pattern to a program by recursive descent. The part being compiled is contiguous and at the program's end,
// so that operators that follow can insert instructions before it and copy it.
#include "library/Regex.h"
#include "library/Utf8.h"

namespace perpend::library {
namespace {

constexpr int32_t maxProgram = 1 << 17;
constexpr int maxDepth = 200;        //  nesting of groups
constexpr int32_t maxRepeats = 1000; // as RE2

struct NamedClass {
  const char *name;
  RegexRange ranges[4];
  int count;
};
// Sorted ranges.
constexpr NamedClass digits = {"digit", {{'0', '9'}}, 1};
constexpr NamedClass words = {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4};
constexpr NamedClass spaces = {"", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, 3};
constexpr NamedClass posixClasses[] = {
    digits,
    words,
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, 3},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}, 2},
    {"ascii", {{0, 0x7F}}, 1},
    {"blank", {{'\t', '\t'}, {' ', ' '}}, 2},
    {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}, 2},
    {"graph", {{'!', '~'}}, 1},
    {"lower", {{'a', 'z'}}, 1},
    {"print", {{' ', '~'}}, 1},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, 4},
    {"space", {{'\t', '\r'}, {' ', ' '}}, 2},
    {"upper", {{'A', 'Z'}}, 1},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, 3},
};

struct Flags {
  bool ignoresCase = false, isMultiLine = false, dotMatchesNewline = false;
};

} // namespace

class RegexParser {
public:
  RegexParser(Regex &regex, perpend_string pattern) : regex(regex), text(pattern) {}

  bool run() {
    alternatives(0);
    if (!regex.message[0] && position < text.sizeBytes)
      fail("a ')' has no '('");
    emit({RegexCode::Match});
    return !regex.message[0];
  }

private:
  void fail(const char *message) {
    if (!regex.message[0])
      regex.message = message;
  }
  bool failed() const { return regex.message[0]; }
  bool atEnd() const { return position >= text.sizeBytes || failed(); }
  uint32_t peek() const {
    int64_t at = position;
    return atEnd() ? 0 : decode(text.data, text.sizeBytes, at);
  }
  uint32_t next() { return atEnd() ? 0 : decode(text.data, text.sizeBytes, position); }
  bool take(char expected) {
    bool isThere = !atEnd() && text.data[position] == expected;
    position += isThere;
    return isThere;
  }
  bool takeWord(const char *word) {
    auto length = static_cast<int64_t>(strlen(word));
    bool isThere = !failed() && text.sizeBytes - position >= length &&
                   !memcmp(text.data + position, word, static_cast<size_t>(length));
    position += isThere ? length : 0;
    return isThere;
  }

  int32_t here() const { return static_cast<int32_t>(regex.program.count()); }
  void emit(const RegexInstruction &instruction) {
    if (here() >= maxProgram)
      fail("the pattern is too large");
    else if (!regex.program.add(instruction))
      fail("no memory");
  }
  // Inserts before the part that starts at `start`.
  void insert(int32_t start, const RegexInstruction &instruction) {
    emit(instruction);
    if (failed())
      return;
    RegexInstruction *code = regex.program.data();
    memmove(code + start + 1, code + start, static_cast<size_t>(here() - 1 - start) * sizeof *code);
    code[start] = instruction;
  }
  void copy(int32_t start, int32_t end) {
    for (int32_t i = start; i < end && !failed(); ++i)
      emit(RegexInstruction(regex.program[i]));
  }

  void alternatives(int depth);
  void sequence(int depth);
  void group(int depth);
  bool setFlags();
  void atom(int depth);
  void escape();
  void repetition(int32_t start);
  bool bounds(int32_t &least, int32_t &most);
  void repeat(int32_t start, int32_t least, int32_t most);
  void set();
  bool setClass();
  bool perlClass(uint32_t letter);
  void addClass(const NamedClass &named, bool isNegated);
  uint32_t setCharacter();
  uint32_t escapedCharacter();
  uint32_t hexadecimal();
  void addRange(uint32_t first, uint32_t last) {
    if (!regex.ranges.add({first, last}))
      fail("no memory");
  }
  void emitRanges(int64_t first, bool isNegated) {
    RegexInstruction instruction{RegexCode::Characters};
    instruction.isNegated = isNegated;
    instruction.ignoresCase = flags.ignoresCase;
    instruction.first = static_cast<int32_t>(first);
    instruction.second = static_cast<int32_t>(regex.ranges.count() - first);
    emit(instruction);
  }
  void literal(uint32_t c) {
    int64_t first = regex.ranges.count();
    if (c >= invalidByte)
      fail("the pattern is not UTF-8");
    addRange(c, c);
    emitRanges(first, false);
  }
  void assertion(RegexAssertion kind) {
    RegexInstruction instruction{RegexCode::Assert};
    instruction.assertion = kind;
    emit(instruction);
  }

  Regex &regex;
  perpend_string text;
  int64_t position = 0;
  Flags flags;
  bool isQuoted = false; // between \Q and \E
};

// split(this, next); this; jump ...; each jump leads to that of the next alternative, the last one to the end.
void RegexParser::alternatives(int depth) {
  int32_t previous = -1;
  while (true) {
    int32_t start = here();
    sequence(depth);
    if (!take('|'))
      break;
    insert(start, {RegexCode::Split, false, false, RegexAssertion::TextBegin, 1, here() - start + 2});
    int32_t jump = here();
    emit({RegexCode::Jump});
    if (failed())
      return;
    if (previous >= 0)
      regex.program[previous].first = jump - previous;
    previous = jump;
  }
  if (previous >= 0 && !failed())
    regex.program[previous].first = here() - previous;
}

void RegexParser::sequence(int depth) {
  while (!atEnd() && (isQuoted || (peek() != '|' && peek() != ')'))) {
    if (takeWord(isQuoted ? "\\E" : "\\Q")) {
      isQuoted = !isQuoted;
      continue;
    }
    int32_t start = here();
    if (isQuoted)
      literal(next());
    else
      atom(depth);
    isQuoted = isQuoted && !takeWord("\\E");
    if (!isQuoted)
      repetition(start);
  }
}

void RegexParser::atom(int depth) {
  if (take('(')) {
    group(depth + 1);
  } else if (take('[')) {
    set();
  } else if (take('.')) {
    int64_t first = regex.ranges.count();
    if (!flags.dotMatchesNewline)
      addRange('\n', '\n');
    emitRanges(first, true);
  } else if (take('^')) {
    assertion(flags.isMultiLine ? RegexAssertion::LineBegin : RegexAssertion::TextBegin);
  } else if (take('$')) {
    assertion(flags.isMultiLine ? RegexAssertion::LineEnd : RegexAssertion::TextEnd);
  } else if (take('\\')) {
    escape();
  } else if (peek() == '*' || peek() == '+' || peek() == '?') {
    fail("a repetition has nothing before it");
  } else {
    literal(next());
  }
}

// The flags between '(?' and ')' or ':'; true at ')': they hold for the rest of the enclosing group.
bool RegexParser::setFlags() {
  bool value = true;
  while (!atEnd()) {
    uint32_t letter = next();
    if (letter == ')' || letter == ':')
      return letter == ')';
    if (letter == 'i')
      flags.ignoresCase = value;
    else if (letter == 'm')
      flags.isMultiLine = value;
    else if (letter == 's')
      flags.dotMatchesNewline = value;
    else if (letter == '-')
      value = false;
    else if (letter != 'U') // lazy: makes no difference to whole matches
      break;
  }
  fail("'(?' is followed by no flags that RE2 has; looking around is not possible");
  return false;
}

void RegexParser::group(int depth) {
  Flags outside = flags;
  if (depth > maxDepth)
    return fail("groups are nested too deeply");
  bool isNamed = takeWord("?P<");
  if (!isNamed && takeWord("?<")) {
    if (peek() == '=' || peek() == '!')
      return fail("looking around is not possible");
    isNamed = true;
  }
  while (isNamed && !atEnd() && peek() != '>')
    next();
  if (isNamed && !take('>'))
    return fail("the name of a group does not end");
  if (!isNamed && take('?') && setFlags())
    return; // the flags stay
  alternatives(depth);
  if (!take(')'))
    fail("a '(' has no ')'");
  flags = outside;
}

void RegexParser::escape() {
  if (atEnd())
    return fail("the pattern ends with '\\'");
  uint32_t letter = peek();
  int64_t first = regex.ranges.count();
  if (perlClass(letter))
    return emitRanges(first, false);
  if (take('A'))
    return assertion(RegexAssertion::TextBegin);
  if (take('z'))
    return assertion(RegexAssertion::TextEnd);
  if (take('b'))
    return assertion(RegexAssertion::WordBoundary);
  if (take('B'))
    return assertion(RegexAssertion::NoWordBoundary);
  literal(escapedCharacter());
}

// \d \D \s \S \w \W
bool RegexParser::perlClass(uint32_t letter) {
  uint32_t lower = letter | 0x20;
  if (letter > 0x7F || (lower != 'd' && lower != 's' && lower != 'w'))
    return false;
  next();
  addClass(lower == 'd' ? digits : lower == 's' ? spaces : words, letter != lower);
  return true;
}

void RegexParser::addClass(const NamedClass &named, bool isNegated) {
  uint32_t open = 0; // first character not yet covered
  for (int i = 0; i < named.count; ++i) {
    RegexRange range = named.ranges[i];
    if (!isNegated)
      addRange(range.first, range.last);
    else if (open < range.first)
      addRange(open, range.first - 1);
    open = range.last + 1;
  }
  if (isNegated)
    addRange(open, 0x10FFFF);
}

uint32_t RegexParser::hexadecimal() {
  bool isBraced = take('{');
  uint32_t value = 0;
  int count = 0;
  for (; !atEnd() && (isBraced ? peek() != '}' : count < 2); ++count) {
    uint32_t c = next(), lower = c | 0x20;
    bool isDigit = c >= '0' && c <= '9';
    if (!isDigit && (lower < 'a' || lower > 'f'))
      fail("\\x is followed by no hexadecimal number");
    value = value * 16 + (isDigit ? c - '0' : lower - 'a' + 10);
    if (value > 0x10FFFF)
      fail("\\x{...} is beyond Unicode");
  }
  if (!count || (isBraced && !take('}')))
    fail("\\x is followed by no hexadecimal number");
  return value;
}

// Parses the character that follows a backslash.
uint32_t RegexParser::escapedCharacter() {
  constexpr char letters[] = "aftnrv", values[] = "\a\f\t\n\r\v";
  uint32_t c = next();
  for (int i = 0; letters[i]; ++i)
    if (c == static_cast<uint32_t>(letters[i]))
      return static_cast<uint32_t>(values[i]);
  if (c == 'x')
    return hexadecimal();
  if (c == '0' || (c >= '1' && c <= '7' && peek() >= '0' && peek() <= '7')) {
    uint32_t value = c - '0';
    for (int i = 0; i < 2 && !atEnd() && peek() >= '0' && peek() <= '7'; ++i)
      value = value * 8 + (next() - '0');
    return value;
  }
  bool isLetter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  if (c == 'p' || c == 'P')
    fail("Unicode classes (\\p) are not supported; write the ranges of characters");
  else if (isLetter)
    fail("a '\\' is followed by a letter or digit without meaning (there are no back-references)");
  return c;
}

//===-- Sets: [a-z]
//------------------------------------------------------------------------------------------------===//

// [:alpha:] or [:^alpha:] inside a set.
bool RegexParser::setClass() {
  int64_t start = position;
  if (!takeWord("[:"))
    return false;
  bool isNegated = take('^');
  for (const NamedClass &named : posixClasses)
    if (takeWord(named.name)) {
      if (takeWord(":]")) {
        addClass(named, isNegated);
        return true;
      }
      position -= static_cast<int64_t>(strlen(named.name));
    }
  position = start;
  return false;
}

uint32_t RegexParser::setCharacter() {
  if (atEnd()) {
    fail("a '[' has no ']'");
    return 0;
  }
  return take('\\') ? escapedCharacter() : next();
}

void RegexParser::set() {
  int64_t first = regex.ranges.count();
  bool isNegated = take('^'), isFirst = true;
  while (!failed() && (isFirst || !take(']'))) {
    isFirst = false;
    if (setClass())
      continue;
    if (position + 1 < text.sizeBytes && text.data[position] == '\\') {
      ++position;
      if (perlClass(peek()))
        continue;
      --position;
    }
    uint32_t low = setCharacter(), high = low;
    bool isRange = position + 1 < text.sizeBytes && text.data[position] == '-' && text.data[position + 1] != ']';
    if (isRange && take('-'))
      high = setCharacter();
    if (high < low)
      fail("a range of a set ends before it begins");
    if (low >= invalidByte || high >= invalidByte)
      fail("the pattern is not UTF-8");
    addRange(low, high);
  }
  emitRanges(first, isNegated);
}

//===-- Repetitions
//------------------------------------------------------------------------------------------------===//

// {n}, {n,} or {n,m}; false: the '{' is a character. most -1: any number.
bool RegexParser::bounds(int32_t &least, int32_t &most) {
  int64_t start = position;
  auto number = [&](int32_t &value) {
    int64_t first = position;
    value = 0;
    while (!atEnd() && peek() >= '0' && peek() <= '9') {
      auto digit = static_cast<int32_t>(next() - '0');
      value = value > maxRepeats ? value : value * 10 + digit;
    }
    return position > first;
  };
  if (take('{') && number(least)) {
    most = least;
    if (take(',') && !number(most))
      most = -1;
    if (take('}')) {
      if (least > maxRepeats || most > maxRepeats || (most >= 0 && most < least))
        fail("a repetition must be {n,m} with n <= m <= 1000");
      return true;
    }
  }
  position = start;
  return false;
}

void RegexParser::repetition(int32_t start) {
  int32_t least = 0, most = -1;
  bool isRepeated = false;
  while (!failed()) {
    if (take('*'))
      least = 0, most = -1;
    else if (take('+'))
      least = 1, most = -1;
    else if (take('?'))
      least = 0, most = 1;
    else if (!bounds(least, most))
      return;
    if (isRepeated)
      return fail("two repetitions follow one another");
    isRepeated = true;
    take('?'); // lazy: makes no difference to whole matches
    repeat(start, least, most);
  }
}

// `least` copies, then `most - least` optional ones, each of which also skips those after it, or a loop.
void RegexParser::repeat(int32_t start, int32_t least, int32_t most) {
  int32_t end = here(), size = end - start;
  auto split = [](int32_t first, int32_t second) {
    return RegexInstruction{RegexCode::Split, false, false, RegexAssertion::TextBegin, first, second};
  };
  if (least == 0 && most == 0) {
    regex.program.shrink(start);
    return;
  }
  for (int32_t i = 1; i < least; ++i)
    copy(start, end);
  if (most < 0 && least > 0)
    return emit(split(-size, 1));
  if (most < 0) {
    insert(start, split(1, size + 2));
    return emit({RegexCode::Jump, false, false, RegexAssertion::TextBegin, -(size + 1), 0});
  }
  int32_t optional = most - least, rest = optional * (size + 1);
  if (least == 0) { // the existing part is the first optional one
    insert(start, split(1, rest));
    --optional;
    ++start, ++end;
    rest -= size + 1;
  }
  for (; optional > 0; --optional, rest -= size + 1) {
    emit(split(1, rest));
    copy(start, end);
  }
}

bool Regex::compile(perpend_string pattern) { return RegexParser(*this, pattern).run(); }

} // namespace perpend::library
