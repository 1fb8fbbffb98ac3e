// Upper and lower case of single characters.
#ifndef PERPEND_RUNTIME_LIBRARY_CASE_H
#define PERPEND_RUNTIME_LIBRARY_CASE_H
#include <cstdint>

namespace perpend::library {

// Unicode's simple case mapping: one character becomes one, in every locale. Source: UnicodeData.txt.
uint32_t toUpper(uint32_t code);
uint32_t toLower(uint32_t code);

} // namespace perpend::library
#endif
