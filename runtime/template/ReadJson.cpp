// Reads JSON into values.
#include "library/Numbers.h"
#include "library/Utf8.h"
#include "template/Operations.h"

namespace perpend::templates {
namespace {

class JsonReader {
public:
  JsonReader(Machine &machine, Span text) : machine(machine), text(text) {}
  Value read();

private:
  Value value();
  Value list();
  Value dict();
  Value string();
  Value numeral();
  bool word(const char *expected);
  bool addEscape(Builder &out);
  bool hexDigits(uint32_t &code);
  void skipSpace();
  char peek() const { return at < text.size ? text.data[at] : '\0'; }
  bool take(char expected);
  Value expected(const char *what) { return machine.fail("byte %zu: expected %s", at, what); }

  Machine &machine;
  Span text;
  size_t at = 0;
};

void JsonReader::skipSpace() {
  while (at < text.size && (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r'))
    ++at;
}

bool JsonReader::take(char wanted) {
  skipSpace();
  if (at >= text.size || peek() != wanted)
    return false;
  ++at;
  return true;
}

bool JsonReader::word(const char *wanted) {
  const Span whole = span(wanted);
  if (text.size - at < whole.size || !(Span{text.data + at, whole.size} == whole))
    return false;
  at += whole.size;
  return true;
}

bool JsonReader::hexDigits(uint32_t &code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    const char c = peek();
    const int digit = c >= '0' && c <= '9'                     ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                               : -1;
    if (digit < 0)
      return false;
    code = code * 16 + static_cast<uint32_t>(digit);
  }
  return true;
}

bool JsonReader::addEscape(Builder &out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char kind = peek();
  ++at;
  if (const char *found = kind ? strchr(from, kind) : nullptr) {
    out.add(to[found - from]);
    return true;
  }
  uint32_t code = 0, low = 0;
  if (kind != 'u' || !hexDigits(code))
    return false;
  if (code >= 0xD800 && code < 0xDC00 && word("\\u") && hexDigits(low) && low >= 0xDC00 && low < 0xE000)
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  if (code >= 0xD800 && code < 0xE000)
    return false;
  out.addCode(code);
  return true;
}

Value JsonReader::string() {
  Builder out(machine);
  ++at;
  for (size_t plain = at; machine.ok(); plain = at) {
    while (at < text.size && peek() != '"' && peek() != '\\' && static_cast<unsigned char>(peek()) >= 0x20)
      ++at;
    out.add(Span{text.data + plain, at - plain});
    if (at < text.size && peek() == '"')
      break;
    if (at >= text.size || peek() != '\\')
      return expected("a text that ends, without control characters");
    ++at;
    if (!addEscape(out))
      return expected("an escape such as \\n or \\u00e9, without halves of pairs");
  }
  ++at;
  return out.value();
}

Value JsonReader::numeral() {
  const size_t start = at;
  auto digits = [&] {
    const size_t first = at;
    while (peek() >= '0' && peek() <= '9')
      ++at;
    return at - first;
  };
  at += peek() == '-';
  const bool startsWithZero = peek() == '0';
  const size_t whole = digits();
  if (!whole || (startsWithZero && whole > 1))
    return expected("a value");
  bool isInteger = true;
  if (const size_t before = at; peek() == '.' && (++at, !digits()))
    at = before;
  else
    isInteger &= at == before;
  if (const size_t before = at; (peek() | 0x20) == 'e') {
    ++at;
    at += peek() == '+' || peek() == '-';
    at = digits() ? at : before;
    isInteger &= at == before;
  }
  const perpend_string content = {text.data + start, static_cast<int64_t>(at - start)};
  double result = 0;
  if (!isInteger)
    return library::parseNumber(content, result) ? number(result) : expected("a number");
  int64_t sum = 0;
  const bool isNegative = text.data[start] == '-';
  for (size_t i = start + isNegative; i < at; ++i)
    if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, text.data[i] - '0', &sum))
      return expected("an integer of at most 64 bits");
  if (!isNegative && __builtin_sub_overflow(int64_t{0}, sum, &sum))
    return expected("an integer of at most 64 bits");
  return integer(sum);
}

Value JsonReader::list() {
  ValueList values(machine);
  ++at;
  if (take(']'))
    return values.value(List);
  do
    values.add(value());
  while (machine.ok() && take(','));
  return machine.ok() && take(']') ? values.value(List) : expected("',' or ']'");
}

Value JsonReader::dict() {
  ValueList pairs(machine);
  ++at;
  if (take('}'))
    return pairs.value(Dict);
  do {
    skipSpace();
    if (peek() != '"')
      return expected("a key in quotes");
    pairs.add(string());
    if (!take(':'))
      return expected("':'");
    pairs.add(value());
  } while (machine.ok() && take(','));
  if (!machine.ok() || !take('}'))
    return expected("',' or '}'");
  return dictOf(machine, pairs.begin(), pairs.count() / 2);
}

Value JsonReader::value() {
  Nested nested(machine);
  if (!nested)
    return none();
  skipSpace();
  switch (peek()) {
  case '"':
    return string();
  case '[':
    return list();
  case '{':
    return dict();
  default:
    break;
  }
  if (word("null"))
    return none();
  if (word("true"))
    return boolean(true);
  if (word("false"))
    return boolean(false);
  if (word("NaN"))
    return number(__builtin_nan(""));
  if (word("Infinity"))
    return number(__builtin_inf());
  if (word("-Infinity"))
    return number(-__builtin_inf());
  return numeral();
}

Value JsonReader::read() {
  for (int64_t i = 0, size = static_cast<int64_t>(text.size); i < size;)
    if (library::decode(text.data, size, i) >= library::invalidByte) {
      at = static_cast<size_t>(i - 1);
      return expected("UTF-8");
    }
  const Value result = value();
  skipSpace();
  return machine.ok() && at < text.size ? expected("the end") : result;
}

} // namespace
} // namespace perpend::templates

using namespace perpend::templates;

perpend_status perpend_json_read(const char *text, size_t bytes, const perpend_template_limits *limits,
                                 perpend_json *json) {
  if (!json || (bytes && !text))
    return PERPEND_INVALID_ARGUMENT;
  json->value = none();
  json->memory = nullptr;
  json->message[0] = '\0';
  Limits bounds(limits);
  bounds.steps = 1'000'000 + 64 * uint64_t{bytes}; // more only if keys were chosen to collide
  Machine machine(bounds, json->message);
  const Value value = JsonReader(machine, {text, bytes}).read();
  if (!machine.ok())
    return machine.status();
  json->value = value;
  json->memory = machine.arena.takeBlocks();
  return PERPEND_OK;
}

void perpend_json_free(perpend_json *json) {
  if (!json)
    return;
  Arena::release(json->memory);
  json->value = none();
  json->memory = nullptr;
}
