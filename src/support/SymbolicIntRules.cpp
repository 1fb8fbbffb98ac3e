// Execution of SymbolicIntRules.def. A candidate function proposes values of a
// rule's variables; matches() then decides from the text of the rule alone, so a
// wrong proposal can lose a simplification but never make a wrong one.
#include "support/SymbolicIntRules.h"
#include "support/SymbolicIntCache.h"
#include "support/SymbolicIntNodes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

namespace perpend::support {

//===- Candidates ---------------------------------------------------------===//

static bool hasOnlySymbols(const SymbolicInt &value) {
  return llvm::all_of(value.terms(), [](const SymbolicTerm &term) {
    return llvm::all_of(term.factors,
                        [](const SymbolicFactor &factor) { return factor.atom.kind() == SymbolicAtomKind::Symbol; });
  });
}

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

/// a = b*q + r. With a divisor of several terms a quotient that merely shuffles
/// terms is no progress, so one part must be a number.
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

/// The factor of everything, of all but the number, and of the leading term.
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

/// The term without its factor of the kind, if it has one to the power 1.
static std::optional<std::pair<SymbolicAtom, SymbolicInt>> splitAtom(const SymbolicTerm &term, SymbolicAtomKind kind) {
  for (const SymbolicFactor &factor : term.factors) {
    if (factor.atom.kind() != kind || factor.power != 1)
      continue;
    std::optional<SymbolicInt> rest =
        exactDiv(SymbolicIntBuilder::fromTerm(term), SymbolicIntBuilder::fromAtom(factor.atom));
    if (rest)
      return std::pair(factor.atom, *rest);
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

/// k*mod(a, b) and the floordiv(a + b*d, b) of some other term of the sum.
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

/// Looks at sums of up to 32 terms only, since it compares all pairs of them.
static void quotientAndRemainder(Operands given, Proposals &proposals) {
  if (given[0].terms().size() > 32)
    return;
  for (const SymbolicTerm &term : given[0].terms())
    if (auto remainder = splitAtom(term, SymbolicAtomKind::Mod))
      quotientOfRemainder(given[0], remainder->first, remainder->second, proposals);
}

/// k*mod(floordiv(a, b), c) and the floordiv(a, b*c) of some other term of the sum.
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

/// One operand, and the other as an atom that has it among its own operands.
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

//===- Execution ----------------------------------------------------------===//

static bool isProved(SymbolicRelation relation, const SymbolicInt &left, const SymbolicInt &right) {
  auto isAtLeast = [](const SymbolicInt &a, const SymbolicInt &b, int64_t margin) {
    return SymbolicIntBuilder::sum(a, -b).knownAtLeast(margin);
  };
  switch (relation) {
  case SymbolicRelation::Equal:
    return left == right && !left.isPoison();
  case SymbolicRelation::NotEqual:
    return isAtLeast(left, right, 1) || isAtLeast(right, left, 1);
  case SymbolicRelation::Less:
    return isAtLeast(right, left, 1);
  case SymbolicRelation::LessOrEqual:
    return isAtLeast(right, left, 0);
  case SymbolicRelation::Greater:
    return isAtLeast(left, right, 1);
  case SymbolicRelation::GreaterOrEqual:
    return isAtLeast(left, right, 0);
  }
  llvm_unreachable("every relation is handled");
}

/// Counts how deep operations are within each other; the outermost one refills
/// the number of rules that may be applied.
class SymbolicRewriter::Operation {
public:
  explicit Operation(SymbolicRewriter &rewriter) : rewriter(rewriter) {
    if (rewriter.nesting++ == 0)
      rewriter.applicationsLeft = 64;
  }
  ~Operation() { --rewriter.nesting; }

private:
  SymbolicRewriter &rewriter;
};

static SymbolicInt lookUp(const SymbolicBindings &bindings, llvm::StringRef name) {
  for (const auto &[variable, value] : bindings)
    if (name.size() == 1 && name.front() == variable)
      return value;
  return SymbolicInt::poison();
}

/// The symbols of a divisor that is a product of symbols: none of them is 0 where the quotient is defined.
static std::set<std::string> nonzeroSymbols(const SymbolicInt &divisor) {
  std::set<std::string> names;
  if (divisor.terms().size() == 1 && hasOnlySymbols(divisor))
    divisor.symbols(names);
  return names;
}

/// As isProved, with these symbols >= 1. Looks at polynomials over symbols only, so that nothing is rewritten.
static bool isProvedWithout0(const std::set<std::string> &symbols, SymbolicRelation relation, const SymbolicInt &left,
                             const SymbolicInt &right) {
  if (symbols.empty() || !hasOnlySymbols(left) || !hasOnlySymbols(right))
    return false;
  llvm::StringMap<SymbolicInt> shifted;
  for (const std::string &name : symbols)
    shifted[name] = SymbolicIntBuilder::sum(SymbolicIntBuilder::symbol(name), 1);
  return isProved(relation, left.substitute(shifted), right.substitute(shifted));
}

/// Whether the pattern, built with the proposed values, is the expression at
/// hand, and each condition is proved wherever the pattern is defined.
static bool isInstance(const SymbolicRule &rule, llvm::ArrayRef<SymbolicInt> operands,
                       llvm::function_ref<SymbolicInt(const SymbolicSyntax &)> build) {
  if (operands.size() == 1) {
    if (build(rule.pattern) != operands[0])
      return false;
  } else {
    for (const auto &[pattern, operand] : llvm::zip(rule.pattern.operands, operands))
      if (build(pattern) != operand)
        return false;
  }
  bool divides = rule.pattern.kind == SymbolicSyntaxKind::FloorDiv || rule.pattern.kind == SymbolicSyntaxKind::Mod;
  return llvm::all_of(rule.conditions, [&](const SymbolicComparison &condition) {
    SymbolicInt left = build(condition.left), right = build(condition.right);
    return isProved(condition.relation, left, right) ||
           (divides && isProvedWithout0(nonzeroSymbols(operands[1]), condition.relation, left, right));
  });
}

std::optional<SymbolicInt> SymbolicRewriter::applyRule(const SymbolicRule &rule, llvm::ArrayRef<SymbolicInt> operands) {
  llvm::SmallVector<SymbolicBindings, 2> proposals;
  rule.candidates(operands, proposals);
  for (const SymbolicBindings &bindings : proposals) {
    auto lookup = [&](llvm::StringRef name) { return lookUp(bindings, name); };
    SymbolicRewriter exact;
    exact.usesRules = false;
    auto buildExactly = [&](const SymbolicSyntax &text) { return exact.build(text, lookup); };
    if (!isInstance(rule, operands, buildExactly))
      continue;
    --applicationsLeft;
    SymbolicInt result = build(rule.replacement, lookup);
    if (!result.isPoison())
      return result;
    if (applicationsLeft == 0)
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<SymbolicInt> SymbolicRewriter::applyRules(SymbolicSyntaxKind kind, llvm::ArrayRef<SymbolicInt> operands) {
  for (const SymbolicRule &rule : symbolicRules()) {
    if (applicationsLeft == 0)
      return std::nullopt;
    if (rule.pattern.kind != kind)
      continue;
    if (std::optional<SymbolicInt> result = applyRule(rule, operands))
      return result;
    bool isCommutative = kind == SymbolicSyntaxKind::Min || kind == SymbolicSyntaxKind::Max;
    if (isCommutative && applicationsLeft != 0)
      if (std::optional<SymbolicInt> result = applyRule(rule, {operands[1], operands[0]}))
        return result;
  }
  return std::nullopt;
}

static bool hasRemainder(const SymbolicInt &value) {
  return llvm::any_of(value.terms(), [](const SymbolicTerm &term) {
    return llvm::any_of(term.factors,
                        [](const SymbolicFactor &factor) { return factor.atom.kind() == SymbolicAtomKind::Mod; });
  });
}

SymbolicInt SymbolicRewriter::simplifySum(const SymbolicInt &sum) {
  if (!usesRules || sum.terms().size() < 2 || !hasRemainder(sum))
    return sum;
  Operation operation(*this);
  return applyRules(SymbolicSyntaxKind::Add, sum).value_or(sum);
}

SymbolicInt SymbolicRewriter::add(const SymbolicInt &a, const SymbolicInt &b) {
  return simplifySum(SymbolicIntBuilder::sum(a, b));
}

SymbolicInt SymbolicRewriter::multiply(const SymbolicInt &a, const SymbolicInt &b) {
  return simplifySum(SymbolicIntBuilder::product(a, b));
}

/// Applies no more rules than are left of the operation around it, which the result of another need not keep to.
SymbolicInt SymbolicRewriter::remember(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands,
                                       llvm::function_ref<SymbolicInt()> compute) {
  return nesting == 0 ? OperationCache::ofThread().find(kind, operands, compute) : compute();
}

SymbolicInt SymbolicRewriter::floorDiv(const SymbolicInt &a, const SymbolicInt &b) {
  if (!usesRules)
    return SymbolicIntBuilder::binary(SymbolicAtomKind::FloorDiv, a, b);
  if (a.isPoison() || b.isPoison() || b.constant() == 0)
    return SymbolicInt::poison();
  if (a.isConstant() && b.isConstant()) {
    std::optional<int64_t> quotient = floorDivide(*a.constant(), *b.constant());
    return quotient ? SymbolicInt(*quotient) : SymbolicInt::poison();
  }
  return remember(SymbolicAtomKind::FloorDiv, {a, b}, [&] {
    Operation operation(*this);
    std::optional<SymbolicInt> result = applyRules(SymbolicSyntaxKind::FloorDiv, {a, b});
    return result ? *result : SymbolicIntBuilder::binary(SymbolicAtomKind::FloorDiv, a, b);
  });
}

SymbolicInt SymbolicRewriter::ceilDiv(const SymbolicInt &a, const SymbolicInt &b) {
  if (b.knownNonNegative())
    return floorDiv(add(a, SymbolicIntBuilder::sum(b, -1)), b);
  return -floorDiv(-a, b);
}

SymbolicInt SymbolicRewriter::mod(const SymbolicInt &a, const SymbolicInt &b) {
  if (!usesRules)
    return SymbolicIntBuilder::binary(SymbolicAtomKind::Mod, a, b);
  if (a.isPoison() || b.isPoison() || b.constant() == 0)
    return SymbolicInt::poison();
  if (a.isConstant() && b.isConstant())
    return *floorModulo(*a.constant(), *b.constant());
  return remember(SymbolicAtomKind::Mod, {a, b}, [&] {
    Operation operation(*this);
    std::optional<SymbolicInt> result = applyRules(SymbolicSyntaxKind::Mod, {a, b});
    return result ? *result : SymbolicIntBuilder::binary(SymbolicAtomKind::Mod, a, b);
  });
}

static SymbolicSyntaxKind syntaxKindOf(SymbolicAtomKind kind) {
  return kind == SymbolicAtomKind::Min ? SymbolicSyntaxKind::Min : SymbolicSyntaxKind::Max;
}

/// Replaces two operands by one. Of three or more, only by one of the two, since
/// anything else would hide an operand from the others.
bool SymbolicRewriter::replaceOnePair(SymbolicAtomKind kind, std::vector<SymbolicInt> &operands) {
  for (size_t left = 0; left < operands.size(); ++left)
    for (size_t right = left + 1; right < operands.size(); ++right) {
      auto result = applyRules(syntaxKindOf(kind), {operands[left], operands[right]});
      bool isOneOfThem = result && (*result == operands[left] || *result == operands[right]);
      if (!result || (operands.size() > 2 && !isOneOfThem))
        continue;
      operands[left] = *result;
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(right));
      return true;
    }
  return false;
}

SymbolicInt SymbolicRewriter::extremum(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands) {
  SymbolicInt exact = SymbolicIntBuilder::extremum(kind, operands);
  const SymbolicAtom *atom = SymbolicIntBuilder::asAtom(exact, kind);
  if (!usesRules || !atom)
    return exact;
  return remember(kind, atom->operands(), [&] {
    Operation operation(*this);
    std::vector<SymbolicInt> rest = atom->operands().vec();
    while (rest.size() > 1 && replaceOnePair(kind, rest)) {
    }
    return SymbolicIntBuilder::extremum(kind, rest);
  });
}

SymbolicInt SymbolicRewriter::apply(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands) {
  switch (kind) {
  case SymbolicAtomKind::FloorDiv:
    return floorDiv(operands[0], operands[1]);
  case SymbolicAtomKind::Mod:
    return mod(operands[0], operands[1]);
  case SymbolicAtomKind::Min:
  case SymbolicAtomKind::Max:
    return extremum(kind, operands);
  case SymbolicAtomKind::Symbol:
    break;
  }
  llvm_unreachable("a symbol has no operands");
}

SymbolicInt SymbolicRewriter::build(const SymbolicSyntax &syntax, SymbolicLookup lookup) {
  if (syntax.kind == SymbolicSyntaxKind::Number)
    return syntax.number;
  if (syntax.kind == SymbolicSyntaxKind::Name)
    return lookup(syntax.name);
  llvm::SmallVector<SymbolicInt, 2> operands;
  for (const SymbolicSyntax &operand : syntax.operands)
    operands.push_back(build(operand, lookup));
  SymbolicInt result = syntax.kind == SymbolicSyntaxKind::Power ? SymbolicInt(1) : operands[0];
  switch (syntax.kind) {
  case SymbolicSyntaxKind::Number:
  case SymbolicSyntaxKind::Name:
    break;
  case SymbolicSyntaxKind::Add:
    for (const SymbolicInt &operand : llvm::drop_begin(operands))
      result = add(result, operand);
    return result;
  case SymbolicSyntaxKind::Negate:
    return -result;
  case SymbolicSyntaxKind::Multiply:
    for (const SymbolicInt &operand : llvm::drop_begin(operands))
      result = multiply(result, operand);
    return result;
  case SymbolicSyntaxKind::Power:
    for (int64_t power = 0; power < syntax.number; ++power)
      result = multiply(result, operands[0]);
    return result;
  case SymbolicSyntaxKind::FloorDiv:
    return floorDiv(operands[0], operands[1]);
  case SymbolicSyntaxKind::CeilDiv:
    return ceilDiv(operands[0], operands[1]);
  case SymbolicSyntaxKind::Mod:
    return mod(operands[0], operands[1]);
  case SymbolicSyntaxKind::Min:
    return extremum(SymbolicAtomKind::Min, operands);
  case SymbolicSyntaxKind::Max:
    return extremum(SymbolicAtomKind::Max, operands);
  }
  llvm_unreachable("every kind is handled");
}

} // namespace perpend::support
