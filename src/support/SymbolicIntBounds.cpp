// Interval analysis with every symbol in [0, inf).
//
// The lower bound of a polynomial is the best of
//   plain:   the sum of the intervals of its terms;
//   shifted: the same after writing each atom as its bound plus a y >= 0, which
//            proves, for example, x*y - x >= 0 where y >= 1;
//   relaxed: one min, max, floordiv or mod replaced by a bound in terms of its
//            operands (c*floordiv(a, c) <= a, max(a, b) >= a ...), a few times.
// The upper bound is the negated lower bound of the negated polynomial.
#include "support/SymbolicIntNodes.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

namespace perpend::support {
namespace {

using Wide = __int128;
constexpr Wide infinity = static_cast<Wide>(1) << 100;
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();

/// An interval whose ends are within int64_t, or infinite.
struct Interval {
  Wide low = -infinity;
  Wide high = infinity;
};

/// Replaces ends that do not fit int64_t by infinity.
Interval clamp(Interval value) {
  Interval result;
  result.low = value.low < lowest ? -infinity : std::min<Wide>(value.low, highest);
  result.high = value.high > highest ? infinity : std::max<Wide>(value.high, lowest);
  return result;
}

Wide multiplyEnds(Wide a, Wide b) {
  if (a == 0 || b == 0)
    return 0;
  bool isInfinite = a == infinity || a == -infinity || b == infinity || b == -infinity;
  if (isInfinite)
    return (a < 0) == (b < 0) ? infinity : -infinity;
  return a * b;
}

Interval multiply(Interval a, Interval b) {
  Wide products[] = {multiplyEnds(a.low, b.low), multiplyEnds(a.low, b.high), multiplyEnds(a.high, b.low),
                     multiplyEnds(a.high, b.high)};
  return clamp({*llvm::min_element(products), *llvm::max_element(products)});
}

Interval add(Interval a, Interval b) {
  Interval result;
  result.low = a.low == -infinity || b.low == -infinity ? -infinity : a.low + b.low;
  result.high = a.high == infinity || b.high == infinity ? infinity : a.high + b.high;
  return clamp(result);
}

Interval toInterval(SymbolicBounds bounds) {
  Interval result;
  if (bounds.low)
    result.low = *bounds.low;
  if (bounds.high)
    result.high = *bounds.high;
  return result;
}

SymbolicBounds toBounds(Interval value) {
  SymbolicBounds result;
  if (value.low != -infinity)
    result.low = static_cast<int64_t>(value.low);
  if (value.high != infinity)
    result.high = static_cast<int64_t>(value.high);
  return result;
}

using AtomInterval = llvm::function_ref<Interval(const SymbolicAtom &)>;

Interval intervalOf(const SymbolicInt &value, AtomInterval atomInterval) {
  Interval sum{0, 0};
  for (const SymbolicTerm &term : value.terms()) {
    Interval product{term.coefficient, term.coefficient};
    for (const SymbolicFactor &factor : term.factors)
      for (unsigned power = 0; power < factor.power; ++power)
        product = multiply(product, atomInterval(factor.atom));
    sum = add(sum, product);
  }
  return sum;
}

Interval plainInterval(const SymbolicInt &value) {
  return intervalOf(value, [](const SymbolicAtom &atom) { return toInterval(atom.bounds()); });
}

/// An atom as a finite bound plus or minus y >= 0, y being spelt as the atom.
SymbolicInt shiftedAtom(const SymbolicAtom &atom) {
  SymbolicInt spelt = SymbolicIntBuilder::fromAtom(atom);
  if (atom.bounds().low)
    return SymbolicIntBuilder::sum(spelt, *atom.bounds().low);
  if (atom.bounds().high)
    return SymbolicIntBuilder::sum(*atom.bounds().high, -spelt);
  return spelt;
}

Interval shiftedAtomInterval(const SymbolicAtom &atom) {
  Interval bounds = toInterval(atom.bounds());
  if (bounds.low == -infinity && bounds.high == infinity)
    return bounds;
  bool isFinite = bounds.low != -infinity && bounds.high != infinity;
  return clamp({0, isFinite ? bounds.high - bounds.low : infinity});
}

Interval shiftedInterval(const SymbolicInt &value) {
  SymbolicInt expanded = 0;
  for (const SymbolicTerm &term : value.terms()) {
    SymbolicInt product = term.coefficient;
    if (degreeOf(term.factors) > 8)
      return {};
    for (const SymbolicFactor &factor : term.factors) {
      SymbolicInt base = shiftedAtom(factor.atom);
      for (unsigned power = 0; power < factor.power; ++power)
        product = SymbolicIntBuilder::product(product, base);
    }
    expanded = SymbolicIntBuilder::sum(expanded, product);
  }
  return expanded.isPoison() ? Interval{} : intervalOf(expanded, shiftedAtomInterval);
}

/// rest + multiplier * atom, where the multiplier is >= 0 or <= 0 always.
struct Occurrence {
  SymbolicAtom atom;
  SymbolicInt multiplier;
  SymbolicInt rest;
  bool isPositive;
};

std::optional<Occurrence> occurrenceOf(const SymbolicInt &value, const SymbolicTerm &term,
                                       const SymbolicFactor &factor) {
  if (factor.atom.kind() == SymbolicAtomKind::Symbol || factor.power != 1)
    return std::nullopt;
  SymbolicTerm multiplier{term.coefficient, {}};
  for (const SymbolicFactor &other : term.factors) {
    if (other.atom == factor.atom)
      continue;
    if (other.power % 2 == 1 && toInterval(other.atom.bounds()).low < 0)
      return std::nullopt;
    multiplier.factors.push_back(other);
  }
  SymbolicInt rest = SymbolicIntBuilder::sum(value, -SymbolicIntBuilder::fromTerm(term));
  return Occurrence{factor.atom, SymbolicIntBuilder::fromTerm(multiplier), rest, term.coefficient > 0};
}

/// Searches for the best lower bound with a bounded number of relaxations.
class LowerBoundSearch {
public:
  explicit LowerBoundSearch(Wide enough) : enough(enough) {}
  Wide search(const SymbolicInt &value, unsigned depth);

private:
  Wide relax(const Occurrence &occurrence, unsigned depth);
  Wide relaxQuotient(const Occurrence &occurrence, unsigned depth);
  Wide relaxRemainder(const Occurrence &occurrence, unsigned depth);
  Wide relaxExtremum(const Occurrence &occurrence, unsigned depth);
  /// The bound after replacing the atom.
  Wide replace(const Occurrence &occurrence, const SymbolicInt &replacement, unsigned depth) {
    SymbolicInt product = SymbolicIntBuilder::product(occurrence.multiplier, replacement);
    return search(SymbolicIntBuilder::sum(occurrence.rest, product), depth);
  }

  Wide enough;
  /// Counts searches; a long polynomial counts as several.
  unsigned budget = 24;
};

/// Whether shiftedAtom changes some atom; one with the lower bound 0 is its own y.
bool isMovedByShift(const SymbolicInt &value) {
  return llvm::any_of(value.terms(), [](const SymbolicTerm &term) {
    return llvm::any_of(term.factors, [](const SymbolicFactor &factor) { return factor.atom.bounds().low != 0; });
  });
}

Wide LowerBoundSearch::search(const SymbolicInt &value, unsigned depth) {
  if (value.isPoison() || budget == 0)
    return -infinity;
  unsigned cost = 1 + static_cast<unsigned>(value.terms().size()) / 8;
  budget -= std::min(budget, cost);
  Wide best = plainInterval(value).low;
  if (best >= enough)
    return best;
  if (value.terms().size() > 1 && value.terms().size() <= 32 && isMovedByShift(value))
    best = std::max(best, shiftedInterval(value).low);
  if (depth == 0)
    return best;
  for (const SymbolicTerm &term : value.terms())
    for (const SymbolicFactor &factor : term.factors) {
      if (best >= enough || budget == 0)
        return best;
      if (std::optional<Occurrence> occurrence = occurrenceOf(value, term, factor))
        best = std::max(best, relax(*occurrence, depth - 1));
    }
  return best;
}

Wide LowerBoundSearch::relax(const Occurrence &occurrence, unsigned depth) {
  switch (occurrence.atom.kind()) {
  case SymbolicAtomKind::FloorDiv:
    return relaxQuotient(occurrence, depth);
  case SymbolicAtomKind::Mod:
    return relaxRemainder(occurrence, depth);
  case SymbolicAtomKind::Min:
  case SymbolicAtomKind::Max:
    return relaxExtremum(occurrence, depth);
  case SymbolicAtomKind::Symbol:
    break;
  }
  llvm_unreachable("a symbol has nothing to relax");
}

/// a - c + 1 <= c*floordiv(a, c) <= a for numbers c > 0;
/// floordiv(a, b) <= a for a >= 0, b >= 0 (b is not 0 where the quotient is defined).
Wide LowerBoundSearch::relaxQuotient(const Occurrence &occurrence, unsigned depth) {
  const SymbolicInt &dividend = occurrence.atom.operands()[0];
  const SymbolicInt &divisor = occurrence.atom.operands()[1];
  std::optional<int64_t> number = divisor.constant();
  if (!number) {
    bool isBounded = !occurrence.isPositive && plainInterval(dividend).low >= 0 && plainInterval(divisor).low >= 0;
    return isBounded ? replace(occurrence, dividend, depth) : -infinity;
  }
  if (*number <= 0)
    return -infinity;
  // This bounds number * value, so `enough` must be scaled.
  Wide savedEnough = enough;
  enough = infinity;
  Occurrence scaled = occurrence;
  scaled.rest = SymbolicIntBuilder::product(occurrence.rest, *number);
  Wide result =
      replace(scaled, occurrence.isPositive ? SymbolicIntBuilder::sum(dividend, 1 - *number) : dividend, depth);
  enough = savedEnough;
  if (result == -infinity)
    return result;
  Wide quotient = result / *number;
  return quotient + (result > 0 && result % *number != 0 ? 1 : 0);
}

/// mod(a, b) <= b - 1 for b >= 0, and mod(a, b) <= a for a >= 0, b >= 0; b is not 0 where the remainder is defined.
Wide LowerBoundSearch::relaxRemainder(const Occurrence &occurrence, unsigned depth) {
  const SymbolicInt &dividend = occurrence.atom.operands()[0];
  const SymbolicInt &divisor = occurrence.atom.operands()[1];
  if (occurrence.isPositive || plainInterval(divisor).low < 0)
    return -infinity;
  Wide best = replace(occurrence, SymbolicIntBuilder::sum(divisor, -1), depth);
  if (best < enough && plainInterval(dividend).low >= 0)
    best = std::max(best, replace(occurrence, dividend, depth));
  return best;
}

/// One operand bounds max from below and min from above; for the other side all operands must be tried.
Wide LowerBoundSearch::relaxExtremum(const Occurrence &occurrence, unsigned depth) {
  bool oneSuffices = (occurrence.atom.kind() == SymbolicAtomKind::Max) == occurrence.isPositive;
  Wide best = oneSuffices ? -infinity : infinity;
  for (const SymbolicInt &operand : occurrence.atom.operands()) {
    Wide bound = replace(occurrence, operand, depth);
    best = oneSuffices ? std::max(best, bound) : std::min(best, bound);
    if (oneSuffices ? best >= enough : best == -infinity)
      break;
  }
  return best;
}

Wide lowerEnd(const SymbolicInt &value, Wide enough) { return LowerBoundSearch(enough).search(value, /*depth=*/3); }

Interval bothEnds(const SymbolicInt &value) {
  Wide low = lowerEnd(value, infinity);
  Wide negatedHigh = lowerEnd(-value, infinity);
  return clamp({low, -negatedHigh});
}

Wide floorQuotient(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

/// A divisor is not 0 where the quotient is defined.
Interval withoutZero(Interval divisor) {
  if (divisor.low == 0)
    divisor.low = 1;
  if (divisor.high == 0)
    divisor.high = -1;
  return divisor;
}

Interval floorDivInterval(Interval a, Interval b) {
  Interval result;
  b = withoutZero(b);
  if (b.low >= 1) {
    Wide lowDivisor = a.low >= 0 ? b.high : b.low;
    Wide highDivisor = a.high >= 0 ? b.low : b.high;
    if (a.low != -infinity)
      result.low = floorQuotient(a.low, lowDivisor);
    if (a.high != infinity)
      result.high = floorQuotient(a.high, highDivisor);
  } else if (a.low != -infinity && a.high != infinity) {
    result.high = std::max(a.low < 0 ? -a.low : a.low, a.high < 0 ? -a.high : a.high);
    result.low = -result.high;
  }
  return clamp(result);
}

Interval modInterval(Interval a, Interval b) {
  Interval result;
  b = withoutZero(b);
  if (b.low != -infinity)
    result.low = std::min<Wide>(b.low + 1, 0);
  if (b.high != infinity)
    result.high = std::max<Wide>(b.high - 1, 0);
  if (b.low >= 1 && a.low >= 0)
    result.high = std::min(result.high, a.high);
  return clamp(result);
}

} // namespace

SymbolicBounds computeAtomBounds(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands) {
  if (kind == SymbolicAtomKind::Symbol)
    return {0, std::nullopt};
  auto ends = llvm::to_vector<4>(llvm::map_range(operands, bothEnds));
  if (kind == SymbolicAtomKind::FloorDiv)
    return toBounds(floorDivInterval(ends[0], ends[1]));
  if (kind == SymbolicAtomKind::Mod)
    return toBounds(modInterval(ends[0], ends[1]));
  Interval result = ends[0];
  for (Interval other : llvm::drop_begin(ends)) {
    bool isMin = kind == SymbolicAtomKind::Min;
    result.low = isMin ? std::min(result.low, other.low) : std::max(result.low, other.low);
    result.high = isMin ? std::min(result.high, other.high) : std::max(result.high, other.high);
  }
  return toBounds(result);
}

std::optional<int64_t> SymbolicInt::lowerBound(int64_t enough) const {
  return toBounds(clamp({lowerEnd(*this, enough), infinity})).low;
}

std::optional<int64_t> SymbolicInt::lowerBound() const {
  return toBounds(clamp({lowerEnd(*this, infinity), infinity})).low;
}

std::optional<int64_t> SymbolicInt::upperBound() const {
  return toBounds(clamp({-infinity, -lowerEnd(-*this, infinity)})).high;
}

bool SymbolicInt::knownAtLeast(int64_t value) const {
  std::optional<int64_t> bound = lowerBound(value);
  return bound && *bound >= value;
}

std::optional<bool> compareLess(const SymbolicInt &a, const SymbolicInt &b) {
  if ((b - a).knownPositive())
    return true;
  if ((a - b).knownNonNegative())
    return false;
  return std::nullopt;
}

} // namespace perpend::support
