//===- Lexer.cpp - tokens of assembly --------------------------------------===//

#include "target/quoin/assembly/Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdlib>

namespace perpend::quoin {
namespace {
bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_' || c == '.'; }
bool isNameRest(char c) { return isNameStart(c) || llvm::isDigit(c); }
} // namespace

std::string Lexer::position() const {
  llvm::StringRef before = all.take_front(lexeme.text.data() - all.data());
  size_t line = before.count('\n') + 1, column = before.size() - (before.rfind('\n') + 1) + 1;
  if (before.rfind('\n') == llvm::StringRef::npos)
    column = before.size() + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

void Lexer::skipBlanks() {
  rest = rest.ltrim(" \t\r");
  if (rest.starts_with("//"))
    rest = rest.drop_front(std::min(rest.find('\n'), rest.size()));
}

void Lexer::take(Lexeme::Kind kind, size_t length) {
  lexeme.kind = kind;
  lexeme.text = rest.take_front(length);
  rest = rest.drop_front(length);
}

void Lexer::lexText() {
  size_t length = 1;
  while (length < rest.size() && rest[length] != '"' && rest[length] != '\n') {
    if (rest[length] == '\\' && length + 1 < rest.size())
      ++length;
    lexeme.content += rest[length++];
  }
  if (length >= rest.size() || rest[length] != '"')
    wrong = "the text has no end";
  take(Lexeme::Kind::Text, std::min(length + 1, rest.size()));
}

/// 12, 0x1F, 4K, 2M, 1.5, 1e-3.
void Lexer::lexNumber() {
  bool isHex = rest.starts_with_insensitive("0x");
  size_t length = isHex ? 2 : 0;
  while (length < rest.size() && (isHex ? llvm::isHexDigit(rest[length]) : llvm::isDigit(rest[length])))
    ++length;
  bool isFloat = !isHex && length < rest.size() && (rest[length] == '.' || rest[length] == 'e');
  if (isFloat) {
    while (length < rest.size() && (llvm::isDigit(rest[length]) || rest[length] == '.' || rest[length] == 'e' ||
                                    ((rest[length] == '-' || rest[length] == '+') && rest[length - 1] == 'e')))
      ++length;
    std::string text = rest.take_front(length).str();
    char *end = nullptr;
    lexeme.number = std::strtof(text.c_str(), &end);
    if (*end)
      wrong = "'" + text + "' is no number";
    return take(Lexeme::Kind::Float, length);
  }
  if (rest.take_front(length).getAsInteger(0, lexeme.integer))
    wrong = "'" + rest.take_front(length).str() + "' is no number of 64 bits";
  if (length < rest.size() && (rest[length] == 'K' || rest[length] == 'M')) {
    lexeme.integer <<= rest[length] == 'K' ? 10 : 20;
    ++length;
  }
  take(Lexeme::Kind::Integer, length);
}

void Lexer::advance() {
  skipBlanks();
  lexeme = Lexeme();
  lexeme.text = rest.take_front(0);
  if (rest.empty())
    return;
  char c = rest.front();
  if (c == '\n')
    return take(Lexeme::Kind::EndOfLine, 1);
  if (c == '"')
    return lexText();
  if (llvm::isDigit(c))
    return lexNumber();
  if (isNameStart(c)) {
    size_t length = 1;
    while (length < rest.size() && isNameRest(rest[length]))
      ++length;
    return take(Lexeme::Kind::Name, length);
  }
  take(Lexeme::Kind::Mark, rest.starts_with("->") ? 2 : 1);
}

} // namespace perpend::quoin
