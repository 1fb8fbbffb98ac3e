// The bounded JSON reader. Every loop advances the cursor or stops; nesting is at most maxDepth.
#include "library/Json.h"

namespace perpend::library {

void JsonReader::skipSpace() {
  while (cursor < end && (*cursor == ' ' || *cursor == '\n' || *cursor == '\t' || *cursor == '\r'))
    ++cursor;
}

// The next character that is not white space; 0 at the end or after an error.
char JsonReader::peek() {
  if (failedAt)
    return 0;
  skipSpace();
  return cursor < end ? *cursor : '\0';
}

bool JsonReader::take(char expected) {
  if (peek() != expected || failedAt) {
    fail();
    return false;
  }
  ++cursor;
  return true;
}

void JsonReader::enter(char open) {
  if (depth == maxDepth)
    fail();
  if (take(open))
    first[++depth] = true;
}

bool JsonReader::more(char close) {
  if (failedAt)
    return false;
  if (peek() == close) {
    ++cursor;
    --depth;
    return false;
  }
  if (!first[depth])
    take(',');
  first[depth] = false;
  return !failedAt;
}

const char *JsonReader::key() {
  const char *text = string();
  take(':');
  return text;
}

bool JsonReader::atString() { return peek() == '"'; }

// Two passes: find the closing quote (an upper bound for the length), then decode.
const char *JsonReader::string() {
  if (!take('"'))
    return "";
  const char *close = cursor;
  while (close < end && *close != '"')
    close += *close == '\\' ? 2 : 1;
  if (close >= end) {
    fail();
    return "";
  }
  char *text = region.allocate<char>(static_cast<size_t>(close - cursor) + 1);
  char *last = text ? writeString(text) : nullptr;
  if (!last || failedAt) {
    fail();
    return "";
  }
  *last = '\0';
  return text;
}

char *JsonReader::writeString(char *out) {
  while (*cursor != '"' && !failedAt) {
    if (static_cast<unsigned char>(*cursor) < 0x20)
      fail();
    else if (*cursor == '\\')
      out = writeEscape(out);
    else
      *out++ = *cursor++;
  }
  ++cursor;
  return out;
}

uint32_t JsonReader::hexDigits() {
  uint32_t value = 0;
  for (int i = 0; i < 4 && !failedAt; ++i) {
    char c = cursor < end ? *cursor : '\0';
    uint32_t digit = c >= '0' && c <= '9'   ? static_cast<uint32_t>(c - '0')
                     : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A' + 10)
                                            : 16u;
    if (digit == 16)
      fail();
    else
      ++cursor;
    value = value * 16 + digit;
  }
  return value;
}

static char *writeUtf8(char *out, uint32_t code) {
  if (code < 0x80) {
    *out++ = static_cast<char>(code);
    return out;
  }
  int trailing = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  uint32_t lead = trailing == 1 ? 0xC0 : trailing == 2 ? 0xE0 : 0xF0;
  *out++ = static_cast<char>(lead | (code >> (6 * trailing)));
  while (trailing--)
    *out++ = static_cast<char>(0x80 | ((code >> (6 * trailing)) & 0x3F));
  return out;
}

char *JsonReader::writeEscape(char *out) {
  ++cursor; // the backslash; string() made sure that a character follows
  char kind = *cursor++;
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  for (int i = 0; names[i]; ++i)
    if (names[i] == kind) {
      *out++ = values[i];
      return out;
    }
  uint32_t code = kind == 'u' ? hexDigits() : 0;
  if (code >= 0xD800 && code < 0xDC00 && end - cursor > 6 && cursor[0] == '\\' && cursor[1] == 'u') {
    cursor += 2;
    uint32_t low = hexDigits();
    code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0;
  }
  if (code == 0 || (code >= 0xD800 && code < 0xE000)) {
    fail();
    return out;
  }
  return writeUtf8(out, code);
}

int64_t JsonReader::integer() {
  bool negative = peek() == '-';
  if (negative)
    ++cursor;
  if (failedAt || cursor >= end || *cursor < '0' || *cursor > '9') {
    fail();
    return 0;
  }
  int64_t value = 0;
  for (; cursor < end && *cursor >= '0' && *cursor <= '9'; ++cursor)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *cursor - '0', &value)) {
      fail();
      return 0;
    }
  if (cursor < end && (*cursor == '.' || *cursor == 'e' || *cursor == 'E'))
    fail();
  return negative ? -value : value;
}

// Skips numbers, true, false and null by their characters, without validation.
void JsonReader::skipLiteral() {
  const char *start = cursor;
  auto isPart = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'E';
  };
  while (cursor < end && isPart(*cursor))
    ++cursor;
  if (cursor == start)
    fail();
}

void JsonReader::skip() {
  char next = peek();
  if (next == '"') {
    string();
  } else if (next == '[') {
    enter('[');
    while (more(']'))
      skip();
  } else if (next == '{') {
    enter('{');
    while (more('}')) {
      key();
      skip();
    }
  } else {
    skipLiteral();
  }
}

} // namespace perpend::library
