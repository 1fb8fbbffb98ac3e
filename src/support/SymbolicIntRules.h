// The rewriting rules (SymbolicIntRules.def) as data, and their execution.
#ifndef PERPEND_SUPPORT_SYMBOLICINTRULES_H
#define PERPEND_SUPPORT_SYMBOLICINTRULES_H

#include "support/SymbolicInt.h"
#include "support/SymbolicIntSyntax.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace perpend::support {

/// The values of a rule's variables.
using SymbolicBindings = llvm::SmallVector<std::pair<char, SymbolicInt>, 5>;
using SymbolicLookup = llvm::function_ref<SymbolicInt(llvm::StringRef)>;

struct SymbolicRule {
  llvm::StringRef name;
  SymbolicSyntax pattern;
  SymbolicSyntax replacement;
  std::vector<SymbolicComparison> conditions;
  /// Proposes values of the variables, given the operands of the pattern's operation (for a sum: the sum itself).
  void (*candidates)(llvm::ArrayRef<SymbolicInt> operands, llvm::SmallVectorImpl<SymbolicBindings> &proposals);
};

/// All rules, parsed once; thread-safe.
llvm::ArrayRef<SymbolicRule> symbolicRules();

/// Builds normal forms by the rules. One operation applies at most 64 rules and then leaves the rest, so that its time
/// is bounded.
class SymbolicRewriter {
public:
  SymbolicInt add(const SymbolicInt &a, const SymbolicInt &b);
  SymbolicInt multiply(const SymbolicInt &a, const SymbolicInt &b);
  SymbolicInt floorDiv(const SymbolicInt &a, const SymbolicInt &b);
  SymbolicInt ceilDiv(const SymbolicInt &a, const SymbolicInt &b);
  SymbolicInt mod(const SymbolicInt &a, const SymbolicInt &b);
  /// Min or Max of one or more operands.
  SymbolicInt extremum(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands);
  /// FloorDiv, Mod, Min or Max.
  SymbolicInt apply(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands);
  /// The normal form of a tree.
  SymbolicInt build(const SymbolicSyntax &syntax, SymbolicLookup lookup);

private:
  class Operation;
  std::optional<SymbolicInt> applyRules(SymbolicSyntaxKind kind, llvm::ArrayRef<SymbolicInt> operands);
  std::optional<SymbolicInt> applyRule(const SymbolicRule &rule, llvm::ArrayRef<SymbolicInt> operands);
  SymbolicInt simplifySum(const SymbolicInt &sum);
  SymbolicInt remember(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands,
                       llvm::function_ref<SymbolicInt()> compute);
  bool replaceOnePair(SymbolicAtomKind kind, std::vector<SymbolicInt> &operands);

  /// False while a pattern is compared with an expression.
  bool usesRules = true;
  unsigned nesting = 0;
  unsigned applicationsLeft = 0;
};

} // namespace perpend::support

#endif // PERPEND_SUPPORT_SYMBOLICINTRULES_H
