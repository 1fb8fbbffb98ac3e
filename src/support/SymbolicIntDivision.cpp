// Division of numbers and of polynomials, and common factors.
#include "support/SymbolicIntNodes.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <numeric>

namespace perpend::support {

std::optional<int64_t> floorDivide(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return std::nullopt;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::optional<int64_t> floorModulo(int64_t a, int64_t b) {
  if (b == 0)
    return std::nullopt;
  if (b == -1)
    return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// The quotient of coefficients, or 0 if nothing should be split off.
static std::optional<int64_t> divideCoefficient(int64_t a, int64_t b, bool useFloor) {
  if (std::optional<int64_t> floor = floorDivide(a, b))
    return useFloor ? *floor : a / b;
  return std::nullopt;
}

static std::optional<llvm::SmallVector<SymbolicFactor, 2>> divideMonomial(llvm::ArrayRef<SymbolicFactor> a,
                                                                          llvm::ArrayRef<SymbolicFactor> b) {
  llvm::SmallVector<SymbolicFactor, 2> result;
  for (const SymbolicFactor &factor : a) {
    if (b.empty() || factor.atom != b.front().atom) {
      result.push_back(factor);
      continue;
    }
    if (factor.power < b.front().power)
      return std::nullopt;
    if (factor.power > b.front().power)
      result.push_back({factor.atom, factor.power - b.front().power});
    b = b.drop_front();
  }
  if (!b.empty())
    return std::nullopt;
  return result;
}

/// The part of the term that is a multiple of the divisor's leading term.
static std::optional<SymbolicTerm> divideTerm(const SymbolicTerm &term, const SymbolicTerm &lead, Splitting splitting) {
  auto factors = divideMonomial(term.factors, lead.factors);
  if (!factors)
    return std::nullopt;
  bool isNumber = term.factors.empty() && lead.factors.empty();
  bool useFloor = lead.factors.empty() && (isNumber || splitting == Splitting::Floor);
  std::optional<int64_t> coefficient = divideCoefficient(term.coefficient, lead.coefficient, useFloor);
  if (!coefficient || *coefficient == 0)
    return std::nullopt;
  return SymbolicTerm{*coefficient, std::move(*factors)};
}

std::optional<QuotientRemainder> divide(const SymbolicInt &a, const SymbolicInt &b, Splitting splitting) {
  if (a.isPoison() || b.isPoison() || b.terms().empty())
    return std::nullopt;
  SymbolicInt rest = a;
  std::vector<SymbolicTerm> quotient, remainder;
  for (unsigned step = 0; !rest.terms().empty(); ++step) {
    if (rest.isPoison() || step > 2 * maximalTerms)
      return std::nullopt;
    SymbolicTerm lead = rest.terms().front();
    SymbolicInt subtracted = SymbolicIntBuilder::fromTerm(lead);
    if (auto part = divideTerm(lead, b.terms().front(), splitting)) {
      quotient.push_back(*part);
      subtracted = SymbolicIntBuilder::product(b, SymbolicIntBuilder::fromTerm(*part));
      SymbolicInt next = SymbolicIntBuilder::sum(rest, -subtracted);
      // The remainder of a floored number must not be split again.
      if (!next.terms().empty() && compareMonomials(next.terms()[0].factors, lead.factors) == 0) {
        remainder.push_back(next.terms()[0]);
        next = SymbolicIntBuilder::sum(next, -SymbolicIntBuilder::fromTerm(next.terms()[0]));
      }
      rest = next;
      if (rest.isPoison())
        return std::nullopt;
      continue;
    }
    remainder.push_back(lead);
    rest = SymbolicIntBuilder::sum(rest, -subtracted);
    if (rest.isPoison())
      return std::nullopt;
  }
  QuotientRemainder result{SymbolicIntBuilder::polynomial(std::move(quotient)),
                           SymbolicIntBuilder::polynomial(std::move(remainder))};
  if (result.quotient.isPoison() || result.remainder.isPoison())
    return std::nullopt;
  return result;
}

std::optional<SymbolicInt> exactDiv(const SymbolicInt &a, const SymbolicInt &b) {
  std::optional<QuotientRemainder> result = divide(a, b, Splitting::Truncate);
  if (!result || result->remainder != SymbolicInt(0))
    return std::nullopt;
  return result->quotient;
}

/// Reduces `factor` to what also divides `term`; a coefficient of 0 is neutral.
static void narrowFactor(SymbolicTerm &factor, const SymbolicTerm &term) {
  if (factor.coefficient == 0) {
    factor = term;
  } else {
    llvm::SmallVector<SymbolicFactor, 2> common;
    for (const SymbolicFactor &candidate : factor.factors)
      for (const SymbolicFactor &other : term.factors)
        if (candidate.atom == other.atom)
          common.push_back({candidate.atom, std::min(candidate.power, other.power)});
    factor.factors = std::move(common);
  }
  constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
  bool isLowest = factor.coefficient == lowest || term.coefficient == lowest;
  factor.coefficient = isLowest ? 1 : std::gcd(factor.coefficient, term.coefficient);
}

SymbolicTerm commonFactor(const SymbolicInt &a, const SymbolicInt &b) {
  SymbolicTerm factor{0, {}};
  for (const SymbolicTerm &term : llvm::concat<const SymbolicTerm>(a.terms(), b.terms()))
    narrowFactor(factor, term);
  return factor;
}

} // namespace perpend::support
