// Parses and prints numbers by the C library, in the "C" locale. Digits are found by trying: the first precision at
// which the number survives a round trip is the shortest.
#include "library/Numbers.h"
#if defined(__wasm__)
#include "wasm/Scientific.h"
#endif
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perpend::library {
namespace {

bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

perpend_string trim(perpend_string text) {
  while (text.sizeBytes && isSpace(text.data[0])) {
    ++text.data;
    --text.sizeBytes;
  }
  while (text.sizeBytes && isSpace(text.data[text.sizeBytes - 1]))
    --text.sizeBytes;
  return text;
}

bool isWord(perpend_string text, const char *lower) {
  if (static_cast<size_t>(text.sizeBytes) != strlen(lower))
    return false;
  for (int64_t i = 0; i < text.sizeBytes; ++i)
    if ((text.data[i] | 0x20) != lower[i])
      return false;
  return true;
}

// digits [. digits] [e [sign] digits], with at least one digit before the exponent.
bool isDecimal(perpend_string text) {
  int64_t i = 0, digits = 0;
  auto skipDigits = [&] {
    int64_t first = i;
    while (i < text.sizeBytes && isDigit(text.data[i]))
      ++i;
    return i - first;
  };
  digits = skipDigits();
  if (i < text.sizeBytes && text.data[i] == '.') {
    ++i;
    digits += skipDigits();
  }
  if (digits && i < text.sizeBytes && (text.data[i] | 0x20) == 'e') {
    ++i;
    if (i < text.sizeBytes && (text.data[i] == '+' || text.data[i] == '-'))
      ++i;
    digits = skipDigits();
  }
  return digits && i == text.sizeBytes;
}

perpend_string dropSign(perpend_string text, bool &isNegative) {
  text = trim(text);
  isNegative = text.sizeBytes && text.data[0] == '-';
  if (text.sizeBytes && (isNegative || text.data[0] == '+')) {
    ++text.data;
    --text.sizeBytes;
  }
  return text;
}

double convert(const char *text, locale_t locale, double) { return strtod_l(text, nullptr, locale); }
float convert(const char *text, locale_t locale, float) { return strtof_l(text, nullptr, locale); }

template <typename T> bool parse(perpend_string given, T &value) {
  bool isNegative;
  perpend_string text = dropSign(given, isNegative);
  if (isWord(text, "inf") || isWord(text, "infinity") || isWord(text, "nan")) {
    bool isNan = (text.data[0] | 0x20) == 'n';
    value = static_cast<T>(isNan ? __builtin_nan("") : isNegative ? -__builtin_inf() : __builtin_inf());
    return true;
  }
  char small[64];
  char *copy = text.sizeBytes < static_cast<int64_t>(sizeof small)
                   ? small
                   : static_cast<char *>(malloc(static_cast<size_t>(text.sizeBytes) + 1));
  if (!isDecimal(text) || !copy) {
    if (copy != small)
      free(copy);
    return false;
  }
  memcpy(copy, text.data, static_cast<size_t>(text.sizeBytes));
  copy[text.sizeBytes] = '\0';
  locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr); // the C library's own object, nothing to free
  value = convert(copy, locale, T());
  value = isNegative ? -value : value;
  if (copy != small)
    free(copy);
  return true;
}

// Rounds to this many significant bits, halves to even; below 2^leastExponent as subnormals.
double roundTo(double value, int bits, int leastExponent, double largest) {
  int exponent;
  if (value == 0 || !__builtin_isfinite(value))
    return value;
  (void)frexp(value, &exponent); // |value| in [2^(exponent - 1), 2^exponent)
  int last = (exponent - 1 > leastExponent ? exponent - 1 : leastExponent) - (bits - 1);
  double scaled = ldexp(value, -last);         // its unit is the last bit
  constexpr double shift = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to a whole number
  double rounded = ldexp((scaled + shift) - shift, last);
  return fabs(rounded) > largest ? __builtin_copysign(__builtin_inf(), rounded) : rounded;
}

bool survives(const char *text, double value, Precision precision) {
  perpend_string digits{text, static_cast<int64_t>(strlen(text))};
  float single = 0;
  double read = 0;
  if (precision == Precision::Single)
    return parseNumber(digits, single) && static_cast<double>(single) == value;
  if (!parseNumber(digits, read))
    return false;
  if (precision == Precision::Half)
    read = roundTo(read, 11, -14, 65504.0);
  if (precision == Precision::Brain)
    read = roundTo(read, 8, -126, 3.3895313892515355e38);
  return read == value;
}

// The significant digits of |value| and the exponent of the first one.
struct Digits {
  char text[20];
  int count = 0, exponent = 0;
};

Digits shortestDigits(double value, Precision precision) {
  Digits result;
  for (int places = 0; places <= 17; ++places) {
    char scientific[40];
#if defined(__wasm__)
    writeScientific(scientific, places, value);
#else
    snprintf(scientific, sizeof scientific, "%.*e", places, value);
#endif
    char *mark = strchr(scientific, 'e');
    result.count = 0;
    for (char *c = scientific; c < mark; ++c) // finds the locale's decimal point
      if (isDigit(*c))
        result.text[result.count++] = *c;
    result.exponent = atoi(mark + 1);
    char plain[40]; // the same, with this locale's point taken out
    snprintf(plain, sizeof plain, "%.*se%d", result.count, result.text, result.exponent - (result.count - 1));
    if (survives(plain, value, precision))
      break;
  }
  while (result.count > 1 && result.text[result.count - 1] == '0')
    --result.count;
  return result;
}

} // namespace

bool parseNumber(perpend_string text, double &value) { return parse(text, value); }
bool parseNumber(perpend_string text, float &value) { return parse(text, value); }

bool parseInteger(perpend_string given, bool &isNegative, uint64_t &magnitude) {
  perpend_string text = dropSign(given, isNegative);
  magnitude = 0;
  for (int64_t i = 0; i < text.sizeBytes; ++i)
    if (!isDigit(text.data[i]) || __builtin_mul_overflow(magnitude, uint64_t{10}, &magnitude) ||
        __builtin_add_overflow(magnitude, static_cast<uint64_t>(text.data[i] - '0'), &magnitude))
      return false;
  return text.sizeBytes > 0;
}

int64_t printNumber(double value, Precision precision, char *text) {
  char *out = text;
  if (value != value)
    return memcpy(text, "nan", 3), 3;
  if (__builtin_signbit(value))
    *out++ = '-';
  if (!__builtin_isfinite(value))
    return memcpy(out, "inf", 3), out + 3 - text;
  Digits digits = shortestDigits(fabs(value), precision);
  auto append = [&](const char *from, int count) {
    memcpy(out, from, static_cast<size_t>(count));
    out += count;
  };
  auto zeros = [&](int count) {
    for (; count > 0; --count)
      *out++ = '0';
  };
  bool isPlain = value == 0 || (digits.exponent >= -4 && digits.exponent < 16);
  if (!isPlain) { // d.ddde+16
    append(digits.text, 1);
    if (digits.count > 1)
      *out++ = '.';
    append(digits.text + 1, digits.count - 1);
    out += snprintf(out, 8, "e%+03d", digits.exponent);
  } else if (digits.exponent < 0) { // 0.00ddd
    append("0.", 2);
    zeros(-digits.exponent - 1);
    append(digits.text, digits.count);
  } else { // dd.dd, ddd00.0
    int whole = digits.count < digits.exponent + 1 ? digits.count : digits.exponent + 1;
    append(digits.text, whole);
    zeros(digits.exponent + 1 - whole);
    *out++ = '.';
    append(digits.text + whole, digits.count - whole);
    zeros(digits.count == whole);
  }
  return out - text;
}

int64_t printInteger(bool isNegative, uint64_t magnitude, char *text) {
  return snprintf(text, maxNumberBytes, "%s%llu", isNegative ? "-" : "", static_cast<unsigned long long>(magnitude));
}

} // namespace perpend::library
