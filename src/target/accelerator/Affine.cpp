//===- Affine.cpp - indices over the digits of iterators ------------------===//
#include "target/accelerator/Affine.h"

#include "llvm/Support/MathExtras.h"

#include <cstdlib>

namespace perpend::accelerator {

using support::SymbolicAtom;
using support::SymbolicAtomKind;
using support::SymbolicInt;

static int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Affine &Affine::add(const Affine &other, int64_t factor) {
  base += other.base * factor;
  for (auto [digit, coefficient] : other.terms)
    if ((terms[digit] += coefficient * factor) == 0)
      terms.erase(digit);
  return *this;
}

std::pair<int64_t, int64_t> Affine::rangeIn(const Box &box) const {
  int64_t least = base, most = base;
  for (auto [digit, coefficient] : terms) {
    const int64_t first = box[digit].begin * coefficient, last = (box[digit].end - 1) * coefficient;
    least += std::min(first, last);
    most += std::max(first, last);
  }
  return {least, most};
}

Affine AffineView::iterator(unsigned number) const {
  Affine value;
  for (unsigned digit = 0; digit < digits.size(); ++digit)
    if (digits[digit].iterator == number)
      value.add(Affine::ofDigit(digit), digits[digit].weight);
  return value;
}

/// The first digit whose parts of the divisor do not fit into its extent is divided there; where that cannot be, the
/// box is cut at the first multiple.
void AffineView::refine(const Affine &rest, int64_t divisor) {
  if (!std::holds_alternative<std::monostate>(refinement))
    return;
  for (auto [digit, coefficient] : rest.terms) {
    const int64_t lower = divisor / std::abs(coefficient), extent = digits[digit].extent;
    const bool isWhole = box[digit].begin == 0 && box[digit].end == extent;
    if (divisor % std::abs(coefficient) == 0 && lower > 1 && lower < extent && extent % lower == 0 && isWhole) {
      refinement = DigitCut{digit, lower};
      return;
    }
  }
  if (rest.terms.size() != 1)
    return;
  auto [digit, coefficient] = *rest.terms.begin();
  auto quotientAt = [&](int64_t at) { return floorDivide(rest.base + coefficient * at, divisor); };
  for (int64_t at = box[digit].begin + 1; at < box[digit].end; ++at)
    if (quotientAt(at) != quotientAt(box[digit].begin)) {
      refinement = BoxCut{digit, at};
      return;
    }
}

std::optional<Affine> AffineView::floorOf(const Affine &value, int64_t divisor) {
  if (divisor <= 0)
    return std::nullopt;
  Affine quotient, rest;
  quotient.base = floorDivide(value.base, divisor);
  rest.base = value.base - quotient.base * divisor;
  for (auto [digit, coefficient] : value.terms)
    if (coefficient % divisor == 0)
      quotient.terms[digit] = coefficient / divisor;
    else
      rest.terms[digit] = coefficient;
  auto [least, most] = rest.rangeIn(box);
  if (floorDivide(least, divisor) != floorDivide(most, divisor))
    return refine(rest, divisor), std::nullopt;
  quotient.base += floorDivide(least, divisor);
  return quotient;
}

/// Cuts the longest digit where it begins or ceases to decide for all values of the others: the interior of an image
/// stays whole. Where it decides nowhere, the shortest digit gets a box for its first value.
void AffineView::refineCondition(const Affine &value) {
  auto lengthOf = [&](unsigned digit) { return box[digit].end - box[digit].begin; };
  unsigned longest = value.terms.begin()->first, shortest = longest;
  for (auto [digit, coefficient] : value.terms) {
    if (lengthOf(digit) > lengthOf(longest))
      longest = digit;
    if (lengthOf(digit) > 1 && (lengthOf(shortest) == 1 || lengthOf(digit) < lengthOf(shortest)))
      shortest = digit;
  }
  Affine rest = value;
  const int64_t step = value.terms.at(longest);
  rest.terms.erase(longest);
  auto [least, most] = rest.rangeIn(box);
  auto stateAt = [&, least = least, most = most](int64_t at) {
    return most + step * at < 0 ? -1 : least + step * at >= 0 ? 1 : 0;
  };
  for (int64_t at = box[longest].begin + 1; at < box[longest].end; ++at)
    if (stateAt(at) != stateAt(box[longest].begin)) {
      refinement = BoxCut{longest, at};
      return;
    }
  if (lengthOf(shortest) > 1)
    refinement = BoxCut{shortest, box[shortest].begin + 1};
}

std::optional<bool> AffineView::isNegative(const Affine &value) {
  auto [least, most] = value.rangeIn(box);
  if (most < 0)
    return true;
  if (least >= 0)
    return false;
  if (!std::holds_alternative<std::monostate>(refinement))
    return std::nullopt;
  if (value.terms.size() != 1)
    return refineCondition(value), std::nullopt;
  auto [digit, coefficient] = *value.terms.begin();
  const bool first = value.base + coefficient * box[digit].begin < 0;
  for (int64_t at = box[digit].begin + 1; at < box[digit].end; ++at)
    if ((value.base + coefficient * at < 0) != first) {
      refinement = BoxCut{digit, at};
      break;
    }
  return std::nullopt;
}

std::optional<Affine> AffineView::evaluate(const SymbolicInt &value,
                                           llvm::function_ref<std::optional<Affine>(llvm::StringRef)> valueOf) {
  if (value.isPoison())
    return std::nullopt;
  auto evaluateAtom = [&](const SymbolicAtom &atom) -> std::optional<Affine> {
    if (atom.kind() == SymbolicAtomKind::Symbol)
      return valueOf(atom.name());
    llvm::SmallVector<Affine, 2> operands;
    for (const SymbolicInt &operand : atom.operands()) {
      std::optional<Affine> known = evaluate(operand, valueOf);
      if (!known)
        return std::nullopt;
      operands.push_back(std::move(*known));
    }
    if (atom.kind() == SymbolicAtomKind::Min || atom.kind() == SymbolicAtomKind::Max) {
      Affine best = operands[0];
      for (const Affine &other : llvm::ArrayRef(operands).drop_front()) {
        std::optional<bool> isLess = isNegative(Affine(best).add(other, -1));
        if (!isLess)
          return std::nullopt;
        if (*isLess != (atom.kind() == SymbolicAtomKind::Min))
          best = other;
      }
      return best;
    }
    if (!operands[1].terms.empty())
      return std::nullopt;
    std::optional<Affine> quotient = floorOf(operands[0], operands[1].base);
    if (quotient && atom.kind() == SymbolicAtomKind::Mod)
      return Affine(operands[0]).add(*quotient, -operands[1].base);
    return quotient;
  };
  Affine sum;
  for (const support::SymbolicTerm &term : value.terms()) {
    Affine product{term.coefficient, {}};
    for (const support::SymbolicFactor &factor : term.factors)
      for (unsigned power = 0; power < factor.power; ++power) {
        std::optional<Affine> atom = evaluateAtom(factor.atom);
        if (!atom || (!atom->terms.empty() && !product.terms.empty()))
          return std::nullopt;
        Affine next;
        next.add(product.terms.empty() ? *atom : product, product.terms.empty() ? product.base : atom->base);
        product = std::move(next);
      }
    sum.add(product);
  }
  return sum;
}

} // namespace perpend::accelerator
