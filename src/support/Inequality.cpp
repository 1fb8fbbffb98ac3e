//===- Inequality.cpp - inequalities as text ------------------------------===//

#include "support/Inequality.h"
#include "support/SymbolicIntNodes.h"

#include "llvm/ADT/StringMap.h"

#include <cstdlib>

namespace perpend::support {

static SymbolicInt positivePart(const SymbolicInt &value) {
  std::vector<SymbolicTerm> terms(value.terms());
  std::erase_if(terms, [](const SymbolicTerm &term) { return term.coefficient < 0; });
  return SymbolicIntBuilder::polynomial(terms);
}

static int64_t constantOf(const SymbolicInt &value) {
  for (const SymbolicTerm &term : value.terms())
    if (term.factors.empty())
      return term.coefficient;
  return 0;
}

/// "a >= 1 or b >= 2" if the larger of two must be nonnegative; "a other than b" if their difference must not be 0,
/// that is max(a - b, b - a) - 1.
static std::string alternatives(llvm::ArrayRef<SymbolicInt> operands, SymbolicInt &left) {
  if (operands.size() == 2 && operands[0] + operands[1] == SymbolicInt(-2)) {
    SymbolicInt difference = operands[0] + 1;
    left = positivePart(difference);
    SymbolicInt right = left - difference;
    if (left.isConstant())
      std::swap(left, right);
    return left.str() + " other than " + right.str();
  }
  std::string text;
  for (const SymbolicInt &operand : operands)
    text += (text.empty() ? "" : " or ") + Inequality(operand).text;
  left = Inequality(operands[0]).left; // for n <= 4 or n >= 7: n
  return text;
}

/// x if value >= 0 means that x is divisible by a number c, which is stored in `divisor`; otherwise poison. The forms
/// are k * -mod(x, c), k * (c*floordiv(x, c) - x) and k * (x - c*floordiv(x + c - 1, c)), each at most 0.
static SymbolicInt divisible(const SymbolicInt &value, int64_t &divisor) {
  for (const SymbolicTerm &term : value.terms()) {
    const bool isAtom = term.factors.size() == 1 && term.factors[0].power == 1;
    llvm::ArrayRef<SymbolicInt> operands = isAtom ? term.factors[0].atom.operands() : llvm::ArrayRef<SymbolicInt>();
    divisor = operands.size() == 2 ? operands[1].constant().value_or(0) : 0;
    if (divisor < 2)
      continue;
    const SymbolicAtomKind kind = term.factors[0].atom.kind();
    if (kind == SymbolicAtomKind::Mod && value.terms().size() == 1 && term.coefficient < 0)
      return operands[0];
    if (kind != SymbolicAtomKind::FloorDiv || term.coefficient % divisor != 0)
      continue;
    const bool isRoundedUp = term.coefficient < 0;
    SymbolicInt x = isRoundedUp ? operands[0] - (divisor - 1) : operands[0];
    if (value == SymbolicIntBuilder::fromTerm(term) - x * (term.coefficient / divisor))
      return x;
  }
  return SymbolicInt::poison();
}

namespace {
/// A value of the form factor * atom + constant.
struct ShiftedAtom {
  ShiftedAtom(const SymbolicInt &value, SymbolicAtomKind kind) {
    for (const SymbolicTerm &term : value.terms())
      if (term.factors.empty()) {
        constant = term.coefficient;
      } else if (factor || term.factors.size() != 1 || term.factors[0].power != 1 ||
                 term.factors[0].atom.kind() != kind) {
        operands = {};
        return;
      } else {
        operands = term.factors[0].atom.operands();
        factor = term.coefficient;
      }
  }
  /// The divisor of a quotient or remainder; 0 if it is not a number of at least 2, or out of bounds.
  int64_t divisor() const {
    constexpr int64_t limit = int64_t(1) << 30;
    const int64_t number = operands.size() == 2 ? operands[1].constant().value_or(0) : 0;
    return number >= 2 && number <= limit && std::abs(constant) <= limit ? number : 0;
  }

  llvm::ArrayRef<SymbolicInt> operands; ///< empty: another form
  int64_t factor = 0, constant = 0;
};
} // namespace

/// For value = sign * floordiv(x, c) + constant: an equivalent condition on x; otherwise poison.
static SymbolicInt withoutQuotient(const SymbolicInt &value) {
  const ShiftedAtom quotient(value, SymbolicAtomKind::FloorDiv);
  const int64_t c = quotient.divisor();
  if (c == 0 || std::abs(quotient.factor) != 1)
    return SymbolicInt::poison();
  return quotient.operands[0] * quotient.factor + quotient.constant * c + (quotient.factor < 0 ? c - 1 : 0);
}

/// For value = sign * r + constant, where r = x + mod(-x, c) is x rounded up to a multiple of c: an equivalent
/// condition on x alone; otherwise poison. (Rounding down is -r for -x.)
static SymbolicInt withoutMultiple(const SymbolicInt &value) {
  for (const SymbolicTerm &term : value.terms()) {
    const int64_t sign = term.coefficient;
    if (term.factors.size() != 1 || term.factors[0].power != 1 || std::abs(sign) != 1 ||
        term.factors[0].atom.kind() != SymbolicAtomKind::Mod)
      continue;
    llvm::ArrayRef<SymbolicInt> operands = term.factors[0].atom.operands();
    const int64_t c = operands[1].constant().value_or(0);
    SymbolicInt rest = value - SymbolicIntBuilder::fromTerm(term);
    const int64_t constant = constantOf(rest);
    SymbolicInt x = (rest - constant) * sign;
    constexpr int64_t limit = int64_t(1) << 40;
    if (c < 2 || c > limit || std::abs(constant) > limit || mod(operands[0] + x, c) != SymbolicInt(0))
      continue;
    auto downTo = [c](int64_t number) { return number - (number % c + c) % c; };
    return sign < 0 ? downTo(constant) - x : x - (downTo(c - 1 - constant) - c + 1);
  }
  return SymbolicInt::poison();
}

SymbolicInt withoutRounding(const SymbolicInt &value) {
  for (const SymbolicInt &plain : {withoutQuotient(value), withoutMultiple(value)})
    if (!plain.isPoison())
      return withoutRounding(plain);
  return value;
}

/// "n from 6 to 8" for floordiv(n, 3) = 2; empty if rounding gives no range.
static std::string fromTo(const SymbolicInt &value, SymbolicInt &x) {
  SymbolicInt atLeast = withoutRounding(value), atMost = withoutRounding(-value), both = atLeast + atMost;
  if (atLeast == value || atMost == -value || both.constant().value_or(-1) < 0)
    return "";
  if (atLeast.terms().front().coefficient < 0)
    std::swap(atLeast, atMost);
  const int64_t low = -constantOf(atLeast), high = constantOf(atMost);
  x = atLeast + low;
  return x.str() + " from " + std::to_string(low) + " to " + std::to_string(high);
}

/// x if value >= 0 means that x is not divisible by a number: mod(x, c) - 1; otherwise poison.
static SymbolicInt indivisible(const SymbolicInt &value, int64_t &divisor) {
  const ShiftedAtom remainder(value, SymbolicAtomKind::Mod);
  divisor = remainder.divisor();
  return divisor && remainder.factor == 1 && remainder.constant == -1 ? remainder.operands[0] : SymbolicInt::poison();
}

/// For value = sign * (s - 1) * (s - other) with a symbol s: returns s and stores `other`; otherwise poison.
static SymbolicInt betweenOne(const SymbolicInt &value, int64_t &sign, SymbolicInt &other) {
  for (const SymbolicTerm &term : value.terms()) {
    sign = term.coefficient;
    if (term.factors.size() != 1 || term.factors[0].power != 2 || std::abs(sign) != 1 ||
        term.factors[0].atom.kind() != SymbolicAtomKind::Symbol)
      continue;
    SymbolicInt s = SymbolicIntBuilder::fromAtom(term.factors[0].atom);
    llvm::StringMap<SymbolicInt> zero = {{s.str(), SymbolicInt(0)}};
    other = value.substitute(zero) * sign;
    if (value == (s - 1) * (s - other) * sign)
      return s;
  }
  return SymbolicInt::poison();
}

Inequality::Inequality(const SymbolicInt &value, bool isEquality) : left(positivePart(value)) {
  int64_t number = 0;
  if (SymbolicInt x = divisible(value, number); !x.isPoison()) {
    left = x;
    text = x.str() + " divisible by " + std::to_string(number);
    return;
  }
  if (isEquality && !(text = fromTo(value, left)).empty())
    return;
  if (SymbolicInt x = indivisible(value, number); !isEquality && !x.isPoison()) {
    left = x;
    text = x.str() + " not divisible by " + std::to_string(number);
    return;
  }
  if (SymbolicInt plain = withoutRounding(value); !isEquality && plain != value) {
    *this = Inequality(plain);
    return;
  }
  SymbolicInt other;
  if (SymbolicInt s = betweenOne(value, number, other); !s.isPoison()) {
    left = s;
    std::string low = "1", high = other.str();
    if ((SymbolicInt(0) - other).knownNonNegative())
      std::swap(low, high);
    text = s.str() + (isEquality   ? " = " + low + " or " + s.str() + " = " + high
                      : number < 0 ? " from " + low + " to " + high
                                   : " <= " + low + " or " + s.str() + " >= " + high);
    return;
  }
  const ShiftedAtom largest(value, SymbolicAtomKind::Max);
  if (!isEquality && largest.factor == 1 && !largest.operands.empty()) {
    std::vector<SymbolicInt> shifted;
    for (const SymbolicInt &operand : largest.operands)
      shifted.push_back(operand + largest.constant);
    text = alternatives(shifted, left);
    return;
  }
  SymbolicInt right = SymbolicIntBuilder::sum(left, SymbolicIntBuilder::product(value, -1));
  bool isAtMost = left.isConstant();
  if (isAtMost)
    std::swap(left, right);
  text = left.str() + (isEquality ? " = " : isAtMost ? " <= " : " >= ") + right.str();
}
} // namespace perpend::support
