// string.tokenize(x, patterns [p], padding []): the tokens of each string, [x..., most tokens]. Parameters: separates
// (true: the patterns separate tokens, and each pattern splits further what the previous ones left; false: the patterns
// are the tokens), leastCharacters (shorter tokens are dropped), marks (before and after the tokens of each string, if
// any string has tokens). Matches are leftmost and longest (Regex.h). Source: Tokenizer of ONNX Runtime.
#include "library/Arguments.h"
#include "library/Regex.h"
#include "library/Utf8.h"

using namespace perpend::library;

namespace {

// A range of bytes in the string of a row.
struct Token {
  int64_t row, begin, end;
};

// Splits a token by one pattern.
class Cutter {
public:
  Cutter(const Regex &pattern, int64_t leastCharacters, perpend_string whole, const Token &token, Array<Token> &parts)
      : pattern(pattern), leastCharacters(leastCharacters), token(token),
        text{whole.data + token.begin, token.end - token.begin}, parts(parts) {}

  // False if out of memory.
  bool takeMatches() {
    for (int64_t at = 0; find(at);)
      at = keep(match.begin, match.end) ? match.end : behindCharacter(match.begin);
    return hasMemory;
  }

  // An empty match consumes the character after it.
  bool takeBetween() {
    int64_t at = 0;
    for (; find(at); at = match.end > match.begin ? match.end : behindCharacter(match.begin))
      keep(at, match.begin);
    if (at <= text.sizeBytes)
      keep(at, text.sizeBytes);
    return hasMemory;
  }

private:
  bool find(int64_t at) {
    if (!hasMemory || at > text.sizeBytes)
      return false;
    Regex::Outcome outcome = pattern.find(text, at, match);
    hasMemory = outcome != Regex::Outcome::NoMemory;
    return outcome == Regex::Outcome::Matches;
  }

  bool keep(int64_t begin, int64_t end) {
    int64_t characters = 0;
    for (int64_t at = begin; at < end; ++characters)
      decode(text.data, end, at);
    bool isLong = characters >= leastCharacters;
    hasMemory &= !isLong || parts.add({token.row, token.begin + begin, token.begin + end});
    return isLong;
  }

  int64_t behindCharacter(int64_t at) const {
    if (at >= text.sizeBytes)
      return at + 1;
    decode(text.data, text.sizeBytes, at);
    return at;
  }

  const Regex &pattern;
  int64_t leastCharacters;
  Token token;
  perpend_string text;
  Array<Token> &parts;
  RegexMatch match;
  bool hasMemory = true;
};

class Tokenizer {
public:
  explicit Tokenizer(perpend_call *call) : call(call), x(call->inputs[0]) {}

  perpend_status run() {
    for (int64_t row = 0; row < elementCount(x); ++row)
      if (!tokens.add({row, 0, textOf(row).sizeBytes}))
        return PERPEND_OUT_OF_MEMORY;
    for (int64_t i = 0, count = elementCount(call->inputs[1]); i < count; ++i)
      if (perpend_status status = apply(perpend_call_text(call, wordsOf(call->inputs[1])[i])))
        return status;
    return write();
  }

private:
  perpend_string textOf(int64_t row) { return perpend_call_text(call, wordsOf(x)[row]); }

  perpend_status apply(perpend_string source) {
    Regex pattern;
    if (!pattern.compile(source))
      return perpend_call_fail(call, "the pattern '%.*s' is not valid: %s",
                               static_cast<int>(source.sizeBytes > 60 ? 60 : source.sizeBytes), source.data,
                               pattern.error());
    Array<Token> parts;
    int64_t leastCharacters = perpend_call_integer(call, "leastCharacters", 1);
    for (int64_t i = 0; i < tokens.count(); ++i) {
      Cutter cutter(pattern, leastCharacters, textOf(tokens[i].row), tokens[i], parts);
      if (!(perpend_call_integer(call, "separates", 0) ? cutter.takeBetween() : cutter.takeMatches()))
        return PERPEND_OUT_OF_MEMORY;
    }
    tokens.swap(parts);
    return PERPEND_OK;
  }

  int64_t mostTokens() const {
    int64_t most = 0;
    for (int64_t i = 0, inRow = 0; i < tokens.count(); ++i) {
      inRow = i && tokens[i].row == tokens[i - 1].row ? inRow + 1 : 1;
      most = inRow > most ? inRow : most;
    }
    return most;
  }

  perpend_status write() {
    bool marks = perpend_call_integer(call, "marks", 0) != 0;
    int64_t shape[PERPEND_MAX_RANK], most = mostTokens(), wide = most && marks ? most + 2 : most;
    if (x.rank >= PERPEND_MAX_RANK)
      return PERPEND_OUT_OF_MEMORY;
    for (int32_t i = 0; i < x.rank; ++i)
      shape[i] = x.shape[i];
    shape[x.rank] = wide;
    auto *result = static_cast<int64_t *>(perpend_call_allocate(call, 0, shape, x.rank + 1));
    int64_t begin = perpend_call_identity(call, "\x02", 1), end = perpend_call_identity(call, "\x03", 1), next = 0;
    if (!result || begin < 0 || end < 0)
      return PERPEND_OUT_OF_MEMORY;
    for (int64_t row = 0; wide && row < elementCount(x); ++row, result += wide) {
      int64_t column = 0;
      if (marks)
        result[column++] = begin;
      for (; next < tokens.count() && tokens[next].row == row; ++next) {
        const Token &token = tokens[next];
        result[column] = perpend_call_identity(call, textOf(row).data + token.begin, token.end - token.begin);
        if (result[column++] < 0)
          return PERPEND_OUT_OF_MEMORY;
      }
      if (marks)
        result[column++] = end;
      while (column < wide)
        result[column++] = wordsOf(call->inputs[2])[0];
    }
    return PERPEND_OK;
  }

  perpend_call *call;
  const perpend_tensor &x;
  Array<Token> tokens; // ordered by row
};

} // namespace

extern "C" perpend_status perpend_string_tokenize(perpend_call *call) { return Tokenizer(call).run(); }
