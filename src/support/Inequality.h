//===- Inequality.h - what must not be negative, as it is read --*- C++ -*-===//

#ifndef PERPEND_SUPPORT_INEQUALITY_H
#define PERPEND_SUPPORT_INEQUALITY_H

#include "support/SymbolicInt.h"

namespace perpend::support {

/// `n - m - 4 >= 0` as "n >= m + 4": what is subtracted stands on the right.
struct Inequality {
  /// isEquality: the value is 0, not only at least 0.
  explicit Inequality(const SymbolicInt &value, bool isEquality = false);

  std::string text;
  /// What the text begins with, n in the example: "got" is its value.
  SymbolicInt left;
};

/// What is at least 0 just where the value is, with fewer quotients and remainders: n - 6 for floordiv(n, 2) - 3, 8 - n
/// for 8 - n - mod(-n, 8), which is 8 less n rounded up.
SymbolicInt withoutRounding(const SymbolicInt &value);
} // namespace perpend::support

#endif
