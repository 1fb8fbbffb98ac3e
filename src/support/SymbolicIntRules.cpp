// Execution of SymbolicIntRules.def. A candidate function (SymbolicIntCandidates.cpp)
// proposes values of a rule's variables; matches() then decides from the text of the rule alone, so a
// wrong proposal can lose a simplification but never make a wrong one.
#include "support/SymbolicIntRules.h"
#include "support/SymbolicIntCache.h"
#include "support/SymbolicIntNodes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace perpend::support {

bool hasOnlySymbols(const SymbolicInt &value) {
  return llvm::all_of(value.terms(), [](const SymbolicTerm &term) {
    return llvm::all_of(term.factors,
                        [](const SymbolicFactor &factor) { return factor.atom.kind() == SymbolicAtomKind::Symbol; });
  });
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

/// Tracks the nesting of operations; the outermost one resets the number of rules that may be applied.
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

/// The symbols of a divisor that is a product of symbols; none of them is 0 where the quotient is defined.
static std::set<std::string> nonzeroSymbols(const SymbolicInt &divisor) {
  std::set<std::string> names;
  if (divisor.terms().size() == 1 && hasOnlySymbols(divisor))
    divisor.symbols(names);
  return names;
}

/// Like isProved, but with these symbols >= 1. Handles only polynomials over symbols, so that nothing is rewritten.
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

static bool hasAtom(const SymbolicInt &value, SymbolicAtomKind kind) {
  return llvm::any_of(value.terms(), [&](const SymbolicTerm &term) {
    return llvm::any_of(term.factors, [&](const SymbolicFactor &factor) { return factor.atom.kind() == kind; });
  });
}

/// The rules for sums combine a remainder with its quotient.
SymbolicInt SymbolicRewriter::simplifySum(const SymbolicInt &sum) {
  if (!usesRules || sum.terms().size() < 2 || !hasAtom(sum, SymbolicAtomKind::Mod) ||
      !hasAtom(sum, SymbolicAtomKind::FloorDiv))
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

/// Applies at most the rules that the enclosing operation has left; cached results are exempt.
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

/// Replaces two operands by one. With three or more operands the result must be one of the two, since anything else
/// would hide an operand from the others.
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
