// The rules of SymbolicIntRules.def as parsed data, and the functions that propose values of their variables.
#include "support/SymbolicIntNodes.h"
#include "support/SymbolicIntRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

namespace perpend::support {

//===- Candidates ---------------------------------------------------------===//

namespace candidates {

using Operands = llvm::ArrayRef<SymbolicInt>;
using Proposals = llvm::SmallVectorImpl<SymbolicBindings>;

static void operands(Operands given, Proposals &proposals) { proposals.push_back({{'a', given[0]}, {'b', given[1]}}); }

static bool isNegativeLeading(const SymbolicInt &value) {
  return !value.terms().empty() && value.terms()[0].coefficient < 0;
}

static void negativeDividend(Operands given, Proposals &proposals) {
  if (isNegativeLeading(given[0]))
    operands(given, proposals);
}

static void negativeOperands(Operands given, Proposals &proposals) {
  if (isNegativeLeading(given[0]) && isNegativeLeading(given[1]))
    operands(given, proposals);
}

/// a = b*q + r. With a divisor of several terms, a quotient that merely rearranges terms is no progress, so one part
/// must be a number.
static void quotient(Operands given, Splitting splitting, Proposals &proposals) {
  std::optional<QuotientRemainder> parts = divide(given[0], given[1], splitting);
  if (!parts || parts->quotient == SymbolicInt(0))
    return;
  bool isProgress = given[1].terms().size() == 1 || parts->quotient.isConstant() || parts->remainder.isConstant();
  if (isProgress)
    proposals.push_back({{'b', given[1]}, {'q', parts->quotient}, {'r', parts->remainder}});
}

static void truncatedQuotient(Operands given, Proposals &proposals) { quotient(given, Splitting::Truncate, proposals); }

static void flooredQuotient(Operands given, Proposals &proposals) { quotient(given, Splitting::Floor, proposals); }

static void proposeFactor(Operands given, const SymbolicTerm &factor, Proposals &proposals) {
  SymbolicInt k = SymbolicIntBuilder::fromTerm(factor);
  if (k == SymbolicInt(1) || k == SymbolicInt(0))
    return;
  std::optional<QuotientRemainder> parts = divide(given[0], k, Splitting::Floor);
  std::optional<SymbolicInt> b = exactDiv(given[1], k);
  if (parts && b)
    proposals.push_back({{'k', k}, {'a', parts->quotient}, {'b', *b}, {'r', parts->remainder}});
}

/// The common factor of everything, of everything but the number, and of the leading term.
static void commonFactors(Operands given, Proposals &proposals) {
  proposeFactor(given, commonFactor(given[0], given[1]), proposals);
  llvm::ArrayRef<SymbolicTerm> terms = given[0].terms();
  if (terms.size() < 2)
    return;
  if (terms.back().factors.empty()) {
    SymbolicInt withoutNumber = SymbolicIntBuilder::polynomial(terms.drop_back().vec());
    proposeFactor(given, commonFactor(withoutNumber, given[1]), proposals);
  }
  SymbolicInt leading = SymbolicIntBuilder::fromTerm(terms.front());
  proposeFactor(given, commonFactor(leading, given[1]), proposals);
}

static SymbolicInt without(const SymbolicInt &value, const SymbolicTerm &term) {
  return SymbolicIntBuilder::sum(value, -SymbolicIntBuilder::fromTerm(term));
}

static void nestedQuotient(Operands given, Proposals &proposals) {
  for (const SymbolicTerm &term : given[0].terms()) {
    SymbolicInt value = SymbolicIntBuilder::fromTerm(term);
    const SymbolicAtom *inner = SymbolicIntBuilder::asAtom(value, SymbolicAtomKind::FloorDiv);
    SymbolicInt rest = without(given[0], term);
    if (inner && hasOnlySymbols(rest))
      proposals.push_back({{'a', inner->operands()[0]}, {'b', inner->operands()[1]}, {'r', rest}, {'c', given[1]}});
  }
}

/// The term divided by its atom of this kind, if it has one to the power 1.
static std::optional<std::pair<SymbolicAtom, SymbolicInt>> splitAtom(const SymbolicTerm &term, SymbolicAtomKind kind) {
  for (const SymbolicFactor &factor : term.factors) {
    if (factor.atom.kind() != kind || factor.power != 1)
      continue;
    SymbolicTerm rest = term;
    rest.factors.erase(rest.factors.begin() + (&factor - term.factors.begin()));
    return std::pair(factor.atom, SymbolicIntBuilder::fromTerm(rest));
  }
  return std::nullopt;
}

static void nestedRemainder(Operands given, Proposals &proposals) {
  for (const SymbolicTerm &term : given[0].terms()) {
    auto inner = splitAtom(term, SymbolicAtomKind::Mod);
    if (!inner)
      continue;
    if (std::optional<SymbolicInt> k = exactDiv(inner->first.operands()[1], given[1]))
      proposals.push_back({{'q', inner->second},
                           {'a', inner->first.operands()[0]},
                           {'k', *k},
                           {'b', given[1]},
                           {'r', without(given[0], term)}});
  }
}

/// Finds k*mod(a, b) and a matching floordiv(a + b*d, b) in another term of the sum.
static void quotientOfRemainder(const SymbolicInt &sum, const SymbolicAtom &remainder, const SymbolicInt &k,
                                Proposals &proposals) {
  const SymbolicInt &a = remainder.operands()[0], &b = remainder.operands()[1];
  for (const SymbolicTerm &term : sum.terms()) {
    auto split = splitAtom(term, SymbolicAtomKind::FloorDiv);
    if (!split || split->first.operands()[1] != b)
      continue;
    SymbolicInt difference = SymbolicIntBuilder::sum(split->first.operands()[0], -a);
    std::optional<SymbolicInt> d = exactDiv(difference, b);
    if (!d)
      continue;
    SymbolicInt floor = SymbolicIntBuilder::fromAtom(split->first);
    SymbolicInt used = SymbolicIntBuilder::sum(SymbolicIntBuilder::product(SymbolicIntBuilder::product(k, b), floor),
                                               SymbolicIntBuilder::product(k, SymbolicIntBuilder::fromAtom(remainder)));
    SymbolicInt rest = SymbolicIntBuilder::sum(sum, -used);
    // Progress only if every used term disappears.
    if (!rest.isPoison() && rest.terms().size() + used.terms().size() == sum.terms().size())
      proposals.push_back({{'k', k}, {'a', a}, {'b', b}, {'d', *d}, {'r', rest}});
  }
}

/// Only for sums of up to 32 terms, because all pairs are compared.
static void quotientAndRemainder(Operands given, Proposals &proposals) {
  if (given[0].terms().size() > 32)
    return;
  for (const SymbolicTerm &term : given[0].terms())
    if (auto remainder = splitAtom(term, SymbolicAtomKind::Mod))
      quotientOfRemainder(given[0], remainder->first, remainder->second, proposals);
}

/// Finds k*mod(floordiv(a, b), c) and a matching floordiv(a, b*c) in another term of the sum.
static void nestedQuotientAndRemainder(Operands given, Proposals &proposals) {
  if (given[0].terms().size() > 32)
    return;
  for (const SymbolicTerm &term : given[0].terms()) {
    auto remainder = splitAtom(term, SymbolicAtomKind::Mod);
    const SymbolicAtom *inner =
        remainder ? SymbolicIntBuilder::asAtom(remainder->first.operands()[0], SymbolicAtomKind::FloorDiv) : nullptr;
    if (!inner)
      continue;
    const SymbolicInt &a = inner->operands()[0], &b = inner->operands()[1], &c = remainder->first.operands()[1];
    SymbolicInt k = remainder->second, whole = SymbolicIntBuilder::product(b, c);
    SymbolicInt used = SymbolicIntBuilder::product(SymbolicIntBuilder::product(k, c),
                                                   SymbolicIntBuilder::binary(SymbolicAtomKind::FloorDiv, a, whole));
    SymbolicInt rest = SymbolicIntBuilder::sum(without(given[0], term), -used);
    if (!rest.isPoison() && rest.terms().size() + used.terms().size() + 1 == given[0].terms().size())
      proposals.push_back({{'k', k}, {'a', a}, {'b', b}, {'c', c}, {'r', rest}});
  }
}

static void commonAddend(Operands given, Proposals &proposals) {
  std::vector<SymbolicTerm> common;
  for (const SymbolicTerm &left : given[0].terms())
    for (const SymbolicTerm &right : given[1].terms())
      if (left.coefficient == right.coefficient && compareMonomials(left.factors, right.factors) == 0)
        common.push_back(left);
  if (common.empty())
    return;
  SymbolicInt c = SymbolicIntBuilder::polynomial(std::move(common));
  proposals.push_back(
      {{'a', SymbolicIntBuilder::sum(given[0], -c)}, {'b', SymbolicIntBuilder::sum(given[1], -c)}, {'c', c}});
}

/// One operand, and the other as an atom that has the former among its operands.
static void absorbed(Operands given, SymbolicAtomKind kind, Proposals &proposals) {
  const SymbolicAtom *atom = SymbolicIntBuilder::asAtom(given[1], kind);
  if (!atom)
    return;
  std::vector<SymbolicInt> others;
  for (const SymbolicInt &operand : atom->operands())
    if (operand != given[0])
      others.push_back(operand);
  if (others.size() != atom->operands().size())
    proposals.push_back({{'a', given[0]}, {'b', SymbolicIntBuilder::extremum(kind, others)}});
}

static void absorbedMin(Operands given, Proposals &proposals) { absorbed(given, SymbolicAtomKind::Min, proposals); }

static void absorbedMax(Operands given, Proposals &proposals) { absorbed(given, SymbolicAtomKind::Max, proposals); }

} // namespace candidates

//===- The table ----------------------------------------------------------===//

template <typename T> static T require(std::optional<T> parsed, const char *rule) {
  if (!parsed)
    llvm::report_fatal_error(llvm::Twine("perpend bug: symbolic rule ") + rule + " does not parse");
  return std::move(*parsed);
}

static std::vector<SymbolicRule> parseRules() {
  std::vector<SymbolicRule> rules;
#define SYMBOLIC_RULE(NAME, PATTERN, REPLACEMENT, CONDITIONS, CANDIDATES)                                              \
  rules.push_back({#NAME, require(parseSymbolicSyntax(PATTERN), #NAME),                                                \
                   require(parseSymbolicSyntax(REPLACEMENT), #NAME),                                                   \
                   require(parseSymbolicComparisons(CONDITIONS), #NAME), candidates::CANDIDATES});
#include "support/SymbolicIntRules.def"
  return rules;
}

llvm::ArrayRef<SymbolicRule> symbolicRules() {
  static const std::vector<SymbolicRule> rules = parseRules();
  return rules;
}

} // namespace perpend::support
