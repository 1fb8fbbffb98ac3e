//===- Compare.h - are two arrays the same? ----------------------*- C++ -*-===//

#ifndef PERPEND_ARRAYS_COMPARE_H
#define PERPEND_ARRAYS_COMPARE_H

#include "arrays/Array.h"

#include <optional>

namespace perpend::arrays {

struct Comparison {
  bool isGood = true;
  double maxAbsolute = 0, maxRelative = 0, tolerance = 0;
  /// Of the first element beyond the tolerance; -1: none, or the shapes differ.
  int64_t firstBad = -1;
  std::string problem; ///< when types or shapes differ
  /// Root mean squares, of the differences and of the reference: what a precision costs, all in all.
  std::optional<std::pair<double, double>> means = std::nullopt;
};

/// Integers must be equal. Floats may differ by a part of the reference's largest absolute value plus one of that or of
/// 1, whichever is less; both by type, or by that of the precision in which they were computed. NaN equals NaN, and
/// infinities must be equal.
Comparison compare(const Array &array, const Array &reference, llvm::StringRef precision = "f32");

/// "ok" or "DIFFERS" with the numbers, in one line.
std::string describe(llvm::StringRef name, const Comparison &comparison, const Array &array, const Array &reference);
} // namespace perpend::arrays

#endif
