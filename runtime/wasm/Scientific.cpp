// A number is n * 2^e = n * 5^-e * 10^e: all its digits are those of an integer of at most 767 digits.
#include "Scientific.h"
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace perpend::library {
namespace {

class Integer {
public:
  explicit Integer(uint64_t number) {
    for (; number; number /= base)
      parts[count++] = static_cast<uint32_t>(number % base);
  }
  void multiply(uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < count; ++i) {
      carry += uint64_t{parts[i]} * factor;
      parts[i] = static_cast<uint32_t>(carry % base);
      carry /= base;
    }
    if (carry)
      parts[count++] = static_cast<uint32_t>(carry);
  }
  // Writes the digits, of which it returns the number.
  int write(char *digits) const {
    int all = 0;
    for (int i = count - 1; i >= 0; --i) {
      char part[9];
      for (uint32_t rest = parts[i], place = 9; place-- > 0; rest /= 10)
        part[place] = static_cast<char>('0' + rest % 10);
      for (char digit : part)
        if (all || digit != '0')
          digits[all++] = digit;
    }
    return all;
  }

private:
  static constexpr uint32_t base = 1000000000;
  uint32_t parts[90] = {};
  int count = 0;
};

// Rounds to `kept` digits; returns whether a further one came in front.
bool roundDigits(char *digits, int all, int kept) {
  if (all <= kept)
    return false;
  bool isMore = digits[kept] > '5' || (digits[kept] == '5' && (digits[kept - 1] - '0') % 2);
  for (int i = kept + 1; digits[kept] == '5' && i < all; ++i)
    isMore |= digits[i] != '0';
  int at = kept - 1;
  for (; isMore && at >= 0 && digits[at] == '9'; --at)
    digits[at] = '0';
  if (isMore && at >= 0)
    ++digits[at];
  if (isMore && at < 0)
    digits[0] = '1';
  return isMore && at < 0;
}

} // namespace

void writeScientific(char (&text)[40], int places, double value) {
  int exponent = 0, tens = 0;
  const auto number = static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(value), &exponent), 53));
  exponent -= 53;
  Integer integer(number);
  for (; exponent > 0; --exponent)
    integer.multiply(2);
  for (; number && exponent < 0; ++exponent, --tens)
    integer.multiply(5);
  char digits[820];
  const int all = integer.write(digits);
  tens += roundDigits(digits, all, places + 1) ? all : all ? all - 1 : 0;
  int used = 0;
  if (std::signbit(value))
    text[used++] = '-';
  for (int i = 0; i <= places; ++i) {
    text[used++] = i < all ? digits[i] : '0';
    if (i == 0 && places)
      text[used++] = '.';
  }
  snprintf(text + used, sizeof text - static_cast<unsigned>(used), "e%+03d", tens);
}

} // namespace perpend::library

// There is one locale; the C library's own function looks for files and variables of the environment.
extern "C" locale_t newlocale(int, const char *, locale_t) { return nullptr; }
