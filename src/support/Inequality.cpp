//===- Inequality.cpp - what must not be negative, as it is read ----------===//

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

/// "a >= 1 or b >= 2" where the larger of two must not be negative.
static std::string alternatives(llvm::ArrayRef<SymbolicInt> operands) {
  std::string text;
  for (const SymbolicInt &operand : operands)
    text += (text.empty() ? "" : " or ") + Inequality(operand).text;
  return text;
}

/// x where the value >= 0 says that x is divisible by a number c, written into `divisor`; else poison. That is
/// k * -mod(x, c), k * (c*floordiv(x, c) - x) and k * (x - c*floordiv(x + c - 1, c)), each at most 0.
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

/// For value = sign * r + constant, where r = x + mod(-x, c) is x rounded up to a multiple of c: a condition of x alone
/// that says the same; else poison. (What is rounded down is -r for -x.)
static SymbolicInt withoutRounding(const SymbolicInt &value) {
  for (const SymbolicTerm &term : value.terms()) {
    const int64_t sign = term.coefficient;
    if (term.factors.size() != 1 || term.factors[0].power != 1 || std::abs(sign) != 1 ||
        term.factors[0].atom.kind() != SymbolicAtomKind::Mod)
      continue;
    llvm::ArrayRef<SymbolicInt> operands = term.factors[0].atom.operands();
    const int64_t c = operands[1].constant().value_or(0);
    SymbolicInt rest = value - SymbolicIntBuilder::fromTerm(term);
    int64_t constant = 0;
    for (const SymbolicTerm &part : rest.terms())
      if (part.factors.empty())
        constant = part.coefficient;
    SymbolicInt x = (rest - constant) * sign;
    constexpr int64_t limit = int64_t(1) << 40;
    if (c < 2 || c > limit || std::abs(constant) > limit || mod(operands[0] + x, c) != SymbolicInt(0))
      continue;
    auto downTo = [c](int64_t number) { return number - (number % c + c) % c; };
    return sign < 0 ? downTo(constant) - x : x - (downTo(c - 1 - constant) - c + 1);
  }
  return SymbolicInt::poison();
}

/// For value = sign * (s - 1) * (s - other) with a symbol s: s, and `other`; else poison.
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
  SymbolicInt other;
  if (SymbolicInt plain = withoutRounding(value); !isEquality && !plain.isPoison()) {
    *this = Inequality(plain);
    return;
  }
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
  if (const SymbolicAtom *largest = SymbolicIntBuilder::asAtom(value, SymbolicAtomKind::Max); largest && !isEquality) {
    text = alternatives(largest->operands());
    left = Inequality(largest->operands()[0]).left; // of n <= 4 or n >= 6, n
    return;
  }
  SymbolicInt right = SymbolicIntBuilder::sum(left, SymbolicIntBuilder::product(value, -1));
  bool isAtMost = left.isConstant();
  if (isAtMost)
    std::swap(left, right);
  text = left.str() + (isEquality ? " = " : isAtMost ? " <= " : " >= ") + right.str();
}
} // namespace perpend::support
