// Digits of numbers, which Text.cpp does not print.
#ifndef PERPEND_RUNTIME_WASM_SCIENTIFIC_H
#define PERPEND_RUNTIME_WASM_SCIENTIFIC_H

namespace perpend::library {
// "d.ddde-12" of a finite number, with its sign, as %.*e writes it: rounded from all its digits, halves to even.
// places: at most 17.
void writeScientific(char (&text)[40], int places, double value);
} // namespace perpend::library
#endif
