//===- Inequality.cpp - what must not be negative, as it is read ----------===//

#include "support/Inequality.h"
#include "support/SymbolicIntNodes.h"

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

Inequality::Inequality(const SymbolicInt &value, bool isEquality) : left(positivePart(value)) {
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
