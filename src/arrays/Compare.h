//===- Compare.h - compares arrays ------------------------------*- C++ -*-===//

#ifndef PERPEND_ARRAYS_COMPARE_H
#define PERPEND_ARRAYS_COMPARE_H

#include "arrays/Array.h"

#include <optional>

namespace perpend::arrays {

struct Comparison {
  bool isGood = true;
  double maxAbsolute = 0, maxRelative = 0, tolerance = 0;
  /// Index of the first element beyond the tolerance; -1: none, or the shapes differ.
  int64_t firstBad = -1;
  std::string problem; ///< set if types or shapes differ
  /// Root mean square of the differences and of the reference, as the overall cost of a precision.
  std::optional<std::pair<double, double>> means = std::nullopt;
};

/// Integers must be equal. Floats may differ by a fraction of the reference's largest absolute value, plus a fraction
/// of that or of 1, whichever is less; the fractions depend on the type, or on the precision in which values were
/// computed. NaN equals NaN; infinities must be equal.
Comparison compare(const Array &array, const Array &reference, llvm::StringRef precision = "f32");

/// One line: "ok" or "DIFFERS", with the numbers.
std::string describe(llvm::StringRef name, const Comparison &comparison, const Array &array, const Array &reference);
} // namespace perpend::arrays

#endif
