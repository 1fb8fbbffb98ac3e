//===- Lexer.cpp - text and tags of a template ----------------------------===//
//
// Follows Jinja's rules for white space: '-' in a tag strips the white space between the tag and the text on that
// side; trim_blocks drops the line break after a block or comment; lstrip_blocks drops the spaces before one that
// begins a line. '+' keeps both.
//
//===----------------------------------------------------------------------===//

#include "templates/Syntax.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

#include <cstdlib>

using llvm::StringRef;

namespace perpend::templates {
namespace {

/// The bytes of a white-space character at the start of a text; 0: there is none.
size_t spaceAt(StringRef text) {
  if (text.empty())
    return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first == ' ' || (first >= 9 && first <= 13) || (first >= 0x1C && first <= 0x1F))
    return 1;
  for (StringRef space :
       {"\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83",
        "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
        "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"})
    if (text.starts_with(space))
      return space.size();
  return 0;
}

size_t spacesAt(StringRef text) {
  size_t size = 0;
  while (size_t more = spaceAt(text.drop_front(size)))
    size += more;
  return size;
}

StringRef stripEnd(StringRef text) {
  while (!text.empty()) {
    size_t start = text.size() - 1;
    while (start && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
      --start;
    if (!spaceAt(text.drop_front(start)))
      break;
    text = text.take_front(start);
  }
  return text;
}

/// Line breaks become '\n', and one at the end is dropped.
std::string normalize(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r')
      i += i + 1 < text.size() && text[i + 1] == '\n';
    result += text[i] == '\r' ? '\n' : text[i];
  }
  if (!result.empty() && result.back() == '\n')
    result.pop_back();
  return result;
}

class Lexer {
public:
  Lexer(StringRef source, Problem &problem) : source(source), problem(problem) {}
  std::vector<Token> run();

private:
  void lexData();
  void lexComment();
  bool lexRaw(size_t tag);
  void lexTag(bool isBlock);
  bool lexEnd(bool isBlock);
  bool lexToken();
  bool lexNumber();
  bool lexString();
  bool lexOperator();
  bool unescape(StringRef text, std::string &result);
  bool unescapeCode(StringRef text, size_t &i, std::string &result);
  void addData(StringRef text, char sign, bool isVariable);
  void add(TokenKind kind, StringRef text = {}) { tokens.push_back({kind, line, text.str()}); }
  void advance(size_t size) {
    line += rest().take_front(size).count('\n');
    at += size;
  }
  StringRef rest() const { return source.drop_front(at); }
  char signAt(size_t position) const {
    const char c = position < source.size() ? source[position] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  StringRef source;
  Problem &problem;
  std::vector<Token> tokens;
  size_t at = 0;
  uint32_t line = 1;
  bool atLineStart = true;
  std::string open; // closing brackets that are expected
};

/// Adds the text up to a tag, without what the tag strips.
void Lexer::addData(StringRef text, char sign, bool isVariable) {
  const size_t size = text.size();
  if (sign == '-') {
    text = stripEnd(text);
  } else if (sign != '+' && !isVariable) {
    const size_t lineStart = text.rfind('\n') == StringRef::npos ? 0 : text.rfind('\n') + 1;
    if ((lineStart > 0 || atLineStart) && spacesAt(text.drop_front(lineStart)) == text.size() - lineStart)
      text = text.take_front(lineStart);
  }
  if (!text.empty())
    add(TokenKind::Data, text);
  advance(size);
}

void Lexer::lexData() {
  size_t tag = at;
  while (tag < source.size() &&
         !(source[tag] == '{' && tag + 1 < source.size() && StringRef("%{#").contains(source[tag + 1])))
    ++tag;
  if (tag >= source.size()) {
    if (at < source.size())
      add(TokenKind::Data, rest());
    advance(source.size() - at);
    return;
  }
  const char kind = source[tag + 1];
  if (kind == '%' && lexRaw(tag))
    return;
  const char sign = signAt(tag + 2);
  addData(source.slice(at, tag), sign, kind == '{');
  advance(2 + (sign != '\0'));
  atLineStart = false;
  if (kind == '#')
    lexComment();
  else
    lexTag(kind == '%');
}

void Lexer::lexComment() {
  const size_t end = source.find("#}", at);
  if (end == StringRef::npos)
    return problem.report(line, "a comment does not end", "close it with #}");
  const char sign = end > at ? signAt(end - 1) : '\0';
  advance(end + 2 - at);
  if (sign == '-')
    advance(spacesAt(rest()));
  else if (sign != '+' && rest().starts_with("\n"))
    advance(1);
  atLineStart = source[at - 1] == '\n';
}

/// {% raw %} ... {% endraw %}. False: the tag is another one.
bool Lexer::lexRaw(size_t tag) {
  auto skipWord = [&](size_t position, StringRef word) {
    position += signAt(position) != '\0';
    position += spacesAt(source.drop_front(position));
    if (!source.drop_front(position).starts_with(word))
      return StringRef::npos;
    position += word.size();
    return position + spacesAt(source.drop_front(position));
  };
  size_t body = skipWord(tag + 2, "raw");
  if (body == StringRef::npos)
    return false;
  if (source.drop_front(body).starts_with("-%}"))
    body += 3 + spacesAt(source.drop_front(body + 3));
  else if (source.drop_front(body).starts_with("%}"))
    body += 2;
  else
    return false;
  addData(source.slice(at, tag), signAt(tag + 2), false);
  advance(body - at);
  atLineStart = source[at - 1] == '\n';
  for (size_t end = source.find("{%", at); end != StringRef::npos; end = source.find("{%", end + 1)) {
    size_t behind = skipWord(end + 2, "endraw");
    if (behind == StringRef::npos)
      continue;
    const StringRef close = source.drop_front(behind);
    const char sign = close.starts_with("-%}") ? '-' : close.starts_with("+%}") ? '+' : '\0';
    if (!sign && !close.starts_with("%}"))
      continue;
    behind += 2 + (sign != '\0');
    behind += sign == '-' ? spacesAt(source.drop_front(behind)) : !sign && source.drop_front(behind).starts_with("\n");
    addData(source.slice(at, end), signAt(end + 2), false);
    advance(behind - at);
    atLineStart = source[at - 1] == '\n';
    return true;
  }
  problem.report(line, "a raw block does not end", "close it with {% endraw %}");
  return true;
}

void Lexer::lexTag(bool isBlock) {
  add(isBlock ? TokenKind::BlockBegin : TokenKind::VariableBegin);
  open.clear();
  const uint32_t start = line;
  while (!problem.has()) {
    if (open.empty() && lexEnd(isBlock))
      return;
    if (at >= source.size())
      return problem.report(start, isBlock ? "a block tag does not end" : "an expression does not end",
                            isBlock ? "close it with %}" : "close it with }}");
    if (const size_t spaces = spacesAt(rest()))
      advance(spaces);
    else if (!lexToken())
      problem.report(line, "unexpected '" + rest().take_front(llvm::getNumBytesForUTF8(rest()[0])).str() + "'",
                     "names are of letters of ASCII, digits and _; texts stand in quotes");
  }
}

bool Lexer::lexEnd(bool isBlock) {
  const StringRef close = isBlock ? "%}" : "}}";
  const char sign = signAt(at);
  if ((sign == '+' && !isBlock) || !rest().drop_front(sign != '\0').starts_with(close))
    return false;
  add(isBlock ? TokenKind::BlockEnd : TokenKind::VariableEnd);
  advance(2 + (sign != '\0'));
  if (sign == '-')
    advance(spacesAt(rest()));
  else if (isBlock && !sign && rest().starts_with("\n"))
    advance(1);
  atLineStart = source[at - 1] == '\n';
  return true;
}

bool Lexer::lexToken() {
  const char c = source[at];
  if (llvm::isDigit(c))
    return lexNumber();
  if (llvm::isAlpha(c) || c == '_') {
    const StringRef name = rest().take_while([](char n) { return llvm::isAlnum(n) || n == '_'; });
    add(TokenKind::Name, name);
    advance(name.size());
    return true;
  }
  return c == '"' || c == '\'' ? lexString() : lexOperator();
}

/// Digits that single underscores may separate.
static size_t digitsAt(StringRef text, unsigned radix) {
  size_t size = 0;
  auto isDigit = [&](size_t i) { return i < text.size() && llvm::hexDigitValue(text[i]) < radix; };
  while (isDigit(size) || (size && size < text.size() && text[size] == '_' && isDigit(size + 1)))
    ++size;
  return size;
}

bool Lexer::lexNumber() {
  const StringRef text = rest();
  const char mark = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  unsigned radix = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  size_t size = digitsAt(text, 10), prefix = 0;
  if (radix != 10) {
    prefix = text.size() > 2 && text[2] == '_' ? 3 : 2;
    const size_t digits = digitsAt(text.drop_front(prefix), radix);
    radix = digits ? radix : 10;
    size = digits ? prefix + digits : size;
  }
  size_t end = size;
  if (radix == 10) {
    const bool followsDot = at && source[at - 1] == '.';
    if (const size_t fraction = text.drop_front(end).starts_with(".") ? digitsAt(text.drop_front(end + 1), 10) : 0)
      end += 1 + fraction;
    size_t exponent = end;
    if (exponent < text.size() && (text[exponent] | 0x20) == 'e') {
      ++exponent;
      exponent += exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-');
      const size_t digits = digitsAt(text.drop_front(exponent), 10);
      end = digits ? exponent + digits : end;
    }
    end = followsDot ? size : end;
  }
  std::string digits = llvm::join(llvm::split(text.slice(radix == 10 ? 0 : prefix, end), '_'), "");
  add(end > size ? TokenKind::Float : TokenKind::Integer, text.take_front(end));
  if (end > size) {
    tokens.back().number = std::strtod(digits.c_str(), nullptr);
  } else if (radix == 10 && digits.size() > 1 && digits[0] == '0' &&
             digits.find_first_not_of('0') != std::string::npos) {
    problem.report(line, "a number begins with 0: '" + text.take_front(end).str() + "'");
  } else if (StringRef(digits).getAsInteger(radix, tokens.back().integer)) {
    problem.report(line, "an integer needs more than 64 bits: '" + text.take_front(end).str() + "'");
  }
  advance(end);
  return true;
}

bool Lexer::lexString() {
  const char quote = source[at];
  size_t end = at + 1;
  while (end < source.size() && source[end] != quote)
    end += source[end] == '\\' ? 2 : 1;
  if (end >= source.size()) {
    problem.report(line, "a text does not end", std::string("close it with ") + quote);
    return true;
  }
  std::string text;
  if (!unescape(source.slice(at + 1, end), text))
    problem.report(
        line, "an escape is not known in the text " + source.slice(at, end + 1).str(),
        "known are \\n, \\t, \\\", \\\\ and their relatives, \\x41, \\u00e9 and \\U0001f600, without halves of "
        "pairs");
  add(TokenKind::String, text);
  advance(end + 1 - at);
  return true;
}

/// \ooo, \xhh, \uhhhh, \Uhhhhhhhh; `i` is behind the backslash.
bool Lexer::unescapeCode(StringRef text, size_t &i, std::string &result) {
  const char kind = text[i];
  const bool isOctal = kind >= '0' && kind <= '7';
  const size_t most = isOctal ? 3 : kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
  const unsigned radix = isOctal ? 8 : 16;
  i += !isOctal;
  uint32_t code = 0;
  size_t count = 0;
  for (; count < most && i < text.size() && llvm::hexDigitValue(text[i]) < radix; ++count, ++i)
    code = code * radix + llvm::hexDigitValue(text[i]);
  char bytes[4];
  char *end = bytes;
  if ((!isOctal && count < most) || code > 0x10FFFF || !llvm::ConvertCodePointToUTF8(code, end))
    return false;
  result.append(bytes, end);
  return true;
}

bool Lexer::unescape(StringRef text, std::string &result) {
  static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      result += text[i++];
      continue;
    }
    const char kind = text[++i];
    const char *found = kind ? strchr(from, kind) : nullptr;
    if (found) {
      result += to[found - from];
      ++i;
    } else if (kind == '\n') {
      ++i;
    } else if ((kind >= '0' && kind <= '7') || kind == 'x' || kind == 'u' || kind == 'U') {
      if (!unescapeCode(text, i, result))
        return false;
    } else if (kind == 'N' || static_cast<unsigned char>(kind) >= 0x80) {
      return false;
    } else {
      result += '\\'; // as Python does
      result += kind;
      ++i;
    }
  }
  return true;
}

bool Lexer::lexOperator() {
  StringRef op;
  for (StringRef known : {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                          "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"})
    if (op.empty() && rest().starts_with(known))
      op = rest().take_front(known.size());
  if (op.empty())
    return false;
  if (op == "(" || op == "[" || op == "{")
    open += op == "(" ? ')' : op == "[" ? ']' : '}';
  if (op == ")" || op == "]" || op == "}") {
    if (open.empty() || open.back() != op[0])
      problem.report(line, "unexpected '" + op.str() + "'",
                     open.empty() ? "no bracket is open" : std::string("expected '") + open.back() + "'");
    else
      open.pop_back();
  }
  add(TokenKind::Operator, op);
  advance(op.size());
  return true;
}

std::vector<Token> Lexer::run() {
  while (at < source.size() && !problem.has())
    lexData();
  add(TokenKind::End);
  return std::move(tokens);
}

} // namespace

std::vector<Token> tokenize(StringRef text, Problem &problem) {
  const std::string normalized = normalize(text);
  return Lexer(normalized, problem).run();
}

} // namespace perpend::templates
