// Locale-independent conversion between numbers and text.
#ifndef PERPEND_RUNTIME_LIBRARY_NUMBERS_H
#define PERPEND_RUNTIME_LIBRARY_NUMBERS_H
#include "include/perpend.h"

namespace perpend::library {

constexpr int64_t maxNumberBytes = 40;

// Decimal digits with an optional sign, point and exponent; or inf, infinity, nan in any case. The whole text must be
// the number, apart from surrounding white space. Correctly rounded.
bool parseNumber(perpend_string text, double &value);
bool parseNumber(perpend_string text, float &value);
// An integer of 64 bits, as sign and magnitude.
bool parseInteger(perpend_string text, bool &isNegative, uint64_t &magnitude);

// The precision to which numbers are rounded for printing.
enum class Precision { Double, Single, Half, Brain };

// The fewest digits that read back as the same number in that precision: "0.1", "1.0", "1e-05", "1e+16", "inf", "nan".
// Writes at most maxNumberBytes; returns their number.
int64_t printNumber(double value, Precision precision, char *text);
int64_t printInteger(bool isNegative, uint64_t magnitude, char *text);

} // namespace perpend::library
#endif
