//===- Lexer.h - tokens of assembly -----------------------------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_ASSEMBLY_LEXER_H
#define PERPEND_TARGET_QUOIN_ASSEMBLY_LEXER_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace perpend::quoin {

struct Lexeme {
  enum class Kind : uint8_t { End, EndOfLine, Name, Integer, Float, Text, Mark };
  Kind kind = Kind::End;
  llvm::StringRef text;
  uint64_t integer = 0; ///< with the factor of its suffix K or M
  float number = 0;
  std::string content; ///< of a Text, without its quotes

  bool is(llvm::StringRef mark) const { return kind == Kind::Mark && text == mark; }
};

/// Names have letters, digits, '_' and '.'; comments go from // to the end of the line.
class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : all(text), rest(text) { advance(); }

  const Lexeme &current() const { return lexeme; }
  void advance();
  /// "LINE:COLUMN" of the current lexeme.
  std::string position() const;
  /// Not empty: what is wrong with the current lexeme.
  const std::string &problem() const { return wrong; }

private:
  void skipBlanks();
  void lexNumber();
  void lexText();
  void take(Lexeme::Kind kind, size_t length);

  llvm::StringRef all, rest;
  Lexeme lexeme;
  std::string wrong;
};

} // namespace perpend::quoin

#endif
