//===- Inequality.h - inequalities as text ----------------------*- C++ -*-===//

#ifndef PERPEND_SUPPORT_INEQUALITY_H
#define PERPEND_SUPPORT_INEQUALITY_H

#include "support/SymbolicInt.h"

namespace perpend::support {

/// Prints `n - m - 4 >= 0` as "n >= m + 4": subtracted terms move to the right.
struct Inequality {
  /// isEquality: the value must be 0, not just at least 0.
  explicit Inequality(const SymbolicInt &value, bool isEquality = false);

  std::string text;
  /// The left-hand side, n in the example; "got" reports its value.
  SymbolicInt left;
};

/// An expression that is nonnegative exactly if the value is, with fewer quotients and remainders: n - 6 for
/// floordiv(n, 2) - 3, and 8 - n for 8 - n - mod(-n, 8), which is 8 minus n rounded up.
SymbolicInt withoutRounding(const SymbolicInt &value);
} // namespace perpend::support

#endif
