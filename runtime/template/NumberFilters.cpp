// Filters that make numbers.
#include "library/Numbers.h"
#include "template/Filters.h"
#include "template/Texts.h"
#include <cstdio>
#include <cstdlib>

namespace perpend::templates {
namespace {

constexpr double beyondIntegers = 9223372036854775808.0; // 2^63

// Python's numbers may have _ between digits. False: no number.
bool withoutUnderscores(Span text, char *digits, size_t most, size_t &size) {
  text = strip(text, nullptr, 0);
  auto isPart = [](char c) { return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); };
  size = 0;
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    if (c == '_' && (!i || i + 1 == text.size || !isPart(text.data[i - 1]) || !isPart(text.data[i + 1])))
      return false;
    if (c != '_' && size == most)
      return false;
    if (c != '_')
      digits[size++] = c;
  }
  return size > 0;
}

int digitOf(char c) {
  return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10 : 99;
}

// int(text, base), where that has 64 bits.
bool parseWhole(Machine &machine, Span text, int64_t base, int64_t &result) {
  char digits[128];
  size_t size = 0, i = 0;
  if (base != 0 && (base < 2 || base > 36)) {
    machine.fail("int: expected a base of 0 or 2 to 36, got %lld", static_cast<long long>(base));
    return false;
  }
  if (!withoutUnderscores(text, digits, sizeof digits, size))
    return false;
  const bool isNegative = digits[0] == '-';
  i += isNegative || digits[0] == '+';
  const char letter = i + 1 < size && digits[i] == '0' ? static_cast<char>(digits[i + 1] | 0x20) : '\0';
  const int64_t prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (prefix && (base == prefix || base == 0)) {
    i += 2;
    base = prefix;
  }
  bool isZero = true;
  const bool hasLeadingZero = base == 0 && i + 1 < size && digits[i] == '0';
  base = base ? base : 10;
  if (i == size)
    return false;
  for (result = 0; i < size; ++i) {
    const int digit = digitOf(digits[i]);
    if (digit >= base)
      return false;
    isZero &= digit == 0;
    if (__builtin_mul_overflow(result, base, &result) || __builtin_sub_overflow(result, digit, &result)) {
      machine.fail("an integer needs more than 64 bits");
      return false;
    }
  }
  if (hasLeadingZero && !isZero)
    return false;
  if (!isNegative && __builtin_sub_overflow(int64_t{0}, result, &result)) {
    machine.fail("an integer needs more than 64 bits");
    return false;
  }
  return true;
}

bool parseFloat(Span text, double &result) {
  char digits[512];
  size_t size = 0;
  return withoutUnderscores(text, digits, sizeof digits, size) &&
         library::parseNumber(perpend_string{digits, static_cast<int64_t>(size)}, result);
}

Value truncated(Machine &machine, double value, Value otherwise) {
  if (value != value || value - value != 0) // NaN, infinite
    return otherwise;
  if (value >= beyondIntegers || value < -beyondIntegers)
    return machine.fail("an integer needs more than 64 bits");
  return integer(static_cast<int64_t>(value));
}

Value integerFilter(Machine &machine, Value operand, const Value *a) {
  const Value otherwise = isGiven(a[0]) ? a[0] : integer(0);
  if (operand.kind == Undefined)
    return machine.failUndefined(operand);
  if (isWhole(operand))
    return integer(operand.as.integer);
  double value = 0;
  if (operand.kind == Float) {
    if (operand.as.number - operand.as.number != 0 && operand.as.number == operand.as.number)
      return machine.fail("int: infinity is no integer");
    return truncated(machine, operand.as.number, otherwise);
  }
  if (!isText(operand))
    return otherwise;
  int64_t whole = 0;
  if (parseWhole(machine, span(operand), wholeArgument(machine, "int", a[1], 10), whole))
    return integer(whole);
  return machine.ok() && parseFloat(span(operand), value) ? truncated(machine, value, otherwise) : otherwise;
}

Value floatFilter(Machine &machine, Value operand, const Value *a) {
  if (operand.kind == Undefined)
    return machine.failUndefined(operand);
  double value = 0;
  if (isNumber(operand))
    return number(asDouble(operand));
  if (isText(operand) && parseFloat(span(operand), value))
    return number(value);
  return isGiven(a[0]) ? a[0] : number(0);
}

Value absFilter(Machine &machine, Value operand) {
  if (operand.kind == Float)
    return number(operand.as.number < 0 ? -operand.as.number : operand.as.number == 0 ? 0 : operand.as.number);
  if (operand.kind == Undefined)
    return machine.failUndefined(operand);
  if (!isWhole(operand))
    return machine.fail("abs: expected a number, got a %s", kindName(operand));
  return negate(machine, operand, operand.as.integer >= 0);
}

Value roundFilter(Machine &machine, Value operand, const Value *a) {
  const int64_t digits = wholeArgument(machine, "round", a[0], 0);
  if (operand.kind == Undefined)
    return machine.failUndefined(operand);
  if (isGiven(a[1]) && !(isText(a[1]) && span(a[1]) == "common"))
    return machine.fail("round: the method is not known here; known is 'common'");
  if (isWhole(operand) && digits >= 0)
    return integer(operand.as.integer);
  if (operand.kind != Float || digits < 0 || digits > 300)
    return machine.fail("round: such a value or number of digits is not known here");
  if (operand.as.number - operand.as.number != 0)
    return operand;
  char text[700];
  snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), operand.as.number);
  double rounded = 0;
  library::parseNumber(perpend_string{text, static_cast<int64_t>(strlen(text))}, rounded);
  return number(rounded);
}

} // namespace

Value numberFilter(Machine &machine, FilterKind filter, Value operand, const Value *a) {
  switch (filter) {
  case FilterKind::ToInteger:
    return integerFilter(machine, operand, a);
  case FilterKind::ToFloat:
    return floatFilter(machine, operand, a);
  case FilterKind::Abs:
    return absFilter(machine, operand);
  default:
    return roundFilter(machine, operand, a);
  }
}

} // namespace perpend::templates
