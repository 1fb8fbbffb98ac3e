// The representation of SymbolicInt, for the files that implement it: nodes,
// limits, and construction without any rewriting rule.
#ifndef PERPEND_SUPPORT_SYMBOLICINTNODES_H
#define PERPEND_SUPPORT_SYMBOLICINTNODES_H

#include "support/SymbolicInt.h"
#include <vector>

namespace perpend::support {

inline constexpr unsigned maximalTerms = 256;
inline constexpr unsigned maximalDegree = 64;
inline constexpr unsigned maximalNesting = 64;
inline constexpr unsigned maximalOperands = 16;
inline constexpr unsigned maximalSize = 2048;

struct SymbolicAtom::Node {
  SymbolicAtomKind kind;
  std::string name;
  std::vector<SymbolicInt> operands;
  SymbolicBounds bounds;
  unsigned size;
  unsigned nesting;
  size_t hash;
};

struct SymbolicInt::Node {
  bool isPoison;
  std::vector<SymbolicTerm> terms;
  unsigned size;
  unsigned nesting;
  size_t hash;
};

/// Builds normal forms without applying rules, so results have exactly the requested form.
struct SymbolicIntBuilder {
  /// Sorts the terms, adds equal monomials, drops zeros, checks the limits.
  static SymbolicInt polynomial(std::vector<SymbolicTerm> terms);
  static std::shared_ptr<const SymbolicInt::Node> number(int64_t value);
  static SymbolicInt symbol(llvm::StringRef name);
  static SymbolicInt binary(SymbolicAtomKind kind, const SymbolicInt &a, const SymbolicInt &b);
  /// Min or Max: flattens, sorts, removes duplicates.
  static SymbolicInt extremum(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands);
  static SymbolicInt fromAtom(const SymbolicAtom &atom);
  static SymbolicInt fromTerm(const SymbolicTerm &term);
  static SymbolicInt sum(const SymbolicInt &a, const SymbolicInt &b);
  static SymbolicInt product(const SymbolicInt &a, const SymbolicInt &b);
  /// The atom if the value is one atom and nothing else.
  static const SymbolicAtom *asAtom(const SymbolicInt &value, SymbolicAtomKind kind);
  static size_t hash(const SymbolicAtom &atom) { return atom.node->hash; }
  static size_t hash(const SymbolicInt &value) { return value.node->hash; }

private:
  static SymbolicInt atom(SymbolicAtomKind kind, std::string name, std::vector<SymbolicInt> operands);
};

/// The order of monomials: degree first, then lexicographic (compatible with
/// multiplication). Negative: a is printed before b.
int compareMonomials(llvm::ArrayRef<SymbolicFactor> a, llvm::ArrayRef<SymbolicFactor> b);
unsigned degreeOf(llvm::ArrayRef<SymbolicFactor> factors);

/// Contains neither quotients, remainders, minima nor maxima.
bool hasOnlySymbols(const SymbolicInt &value);

/// The bounds of an atom from the bounds of its operands.
SymbolicBounds computeAtomBounds(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands);

/// Integer division and remainder as defined for expressions; nullopt if b is 0
/// or the quotient overflows.
std::optional<int64_t> floorDivide(int64_t a, int64_t b);
std::optional<int64_t> floorModulo(int64_t a, int64_t b);

/// How coefficients are split that are not a multiple of the divisor's.
enum class Splitting { Truncate, Floor };

/// a == quotient * b + remainder.
struct QuotientRemainder {
  SymbolicInt quotient;
  SymbolicInt remainder;
};
/// Polynomial division by the leading term of b. For a number b, the number in a
/// is always split by Floor. nullopt: b is 0 or a limit was reached.
std::optional<QuotientRemainder> divide(const SymbolicInt &a, const SymbolicInt &b, Splitting splitting);

/// The greatest term that divides every term of both; 0 if both are 0.
SymbolicTerm commonFactor(const SymbolicInt &a, const SymbolicInt &b);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_SYMBOLICINTNODES_H
