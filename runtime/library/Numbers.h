// Numbers as text, in no locale.
#ifndef PERPEND_RUNTIME_LIBRARY_NUMBERS_H
#define PERPEND_RUNTIME_LIBRARY_NUMBERS_H
#include "include/perpend.h"

namespace perpend::library {

constexpr int64_t maxNumberBytes = 40;

// Decimal digits with an optional sign, point and exponent; or inf, infinity, nan in upper or lower case. The whole
// text must be the number, apart from white space around it. Correctly rounded.
bool parseNumber(perpend_string text, double &value);
bool parseNumber(perpend_string text, float &value);
// A whole number of 64 bits: the sign, and the magnitude.
bool parseInteger(perpend_string text, bool &isNegative, uint64_t &magnitude);

// How numbers of a type are rounded to their precision, for printing.
enum class Precision { Double, Single, Half, Brain };

// The fewest digits that are read back as the same number of that precision: "0.1", "1.0", "1e-05", "1e+16", "inf",
// "nan". Writes at most maxNumberBytes; returns how many.
int64_t printNumber(double value, Precision precision, char *text);
int64_t printInteger(bool isNegative, uint64_t magnitude, char *text);

} // namespace perpend::library
#endif
