//===- Affine.h - indices over the digits of iterators ----------*- C++ -*-===//
//
// An iterator is a sum of digits: of 24 iterations, 8 * a + b with a below 3 and b below 8. In a box, each digit has a
// range. Division and remainder of an affine index are affine if the digits and the box are fine enough; otherwise a
// refinement says which digit to divide, or where to cut the box.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_ACCELERATOR_AFFINE_H
#define PERPEND_TARGET_ACCELERATOR_AFFINE_H

#include "support/SymbolicInt.h"

#include <map>
#include <variant>
#include <vector>

namespace perpend::accelerator {

struct Digit {
  unsigned iterator = 0;
  int64_t weight = 1, extent = 1;
};

/// [begin, end) of each digit.
struct Span {
  int64_t begin = 0, end = 0;
};
using Box = llvm::SmallVector<Span, 6>;

struct Affine {
  int64_t base = 0;
  std::map<unsigned, int64_t> terms; ///< digit -> coefficient, none of them 0

  bool operator==(const Affine &) const = default;
  static Affine ofDigit(unsigned digit) { return {0, {{digit, 1}}}; }
  Affine &add(const Affine &other, int64_t factor = 1);
  /// Least and greatest value in a box.
  std::pair<int64_t, int64_t> rangeIn(const Box &box) const;
};

/// Divides a digit: its lower part has `extent` values.
struct DigitCut {
  unsigned digit;
  int64_t extent;
};
/// Cuts the box: its first part ends at `at`.
struct BoxCut {
  unsigned digit;
  int64_t at;
};
using Refinement = std::variant<std::monostate, DigitCut, BoxCut>;

/// How a block looks at indices in one box.
class AffineView {
public:
  AffineView(const std::vector<Digit> &digits, const Box &box) : digits(digits), box(box) {}

  Affine iterator(unsigned number) const;
  /// nullopt: it is not affine; `refinement` may cure that. `valueOf`: of a symbol.
  std::optional<Affine> evaluate(const support::SymbolicInt &value,
                                 llvm::function_ref<std::optional<Affine>(llvm::StringRef)> valueOf);
  /// Whether it is below 0 everywhere, or nowhere. nullopt: neither; `refinement` may cure that.
  std::optional<bool> isNegative(const Affine &value);

  Refinement refinement;
  const std::vector<Digit> &digits;
  const Box &box;

private:
  std::optional<Affine> floorOf(const Affine &value, int64_t divisor);
  void refineCondition(const Affine &value);
  /// Makes the parts of an index that are no multiples of `divisor` smaller.
  void refine(const Affine &rest, int64_t divisor);
};

} // namespace perpend::accelerator

#endif
