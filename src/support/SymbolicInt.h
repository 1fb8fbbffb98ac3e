// Exact integer expressions over named symbols, used as tensor dimensions.
//
// A SymbolicInt is an immutable value in normal form: a polynomial with integer
// coefficients whose variables are atoms (a symbol, floordiv, mod, min or max).
// Equality is structural. Every symbol is an integer >= 0; all simplification
// and all bounds rely on it.
//
// floordiv(a, b) rounds towards minus infinity; mod(a, b) = a - b*floordiv(a, b)
// has the sign of the divisor; both are undefined where b = 0, and an expression
// may be simplified to one that is defined at more points.
// ceildiv(a, b) is stored as floordiv(a + b - 1, b), or as -floordiv(-a, b) when
// b may be negative.
//
// An operation whose coefficients leave int64_t, which divides by the constant 0
// or which exceeds a size limit (256 terms, degree 64, nesting 64, 16 operands of
// min or max, 2048 nodes) yields *poison*. Poison absorbs everything, has no
// bounds, no constant and no value, and equals only itself.
#ifndef PERPEND_SUPPORT_SYMBOLICINT_H
#define PERPEND_SUPPORT_SYMBOLICINT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace perpend::support {

class SymbolicInt;
struct SymbolicTerm;

/// A closed interval; a missing end is infinite.
struct SymbolicBounds {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

enum class SymbolicAtomKind : uint8_t { Symbol, FloorDiv, Mod, Min, Max };

/// The variable of a polynomial. FloorDiv and Mod have the operands (dividend, divisor); Min and Max have two or more,
/// sorted; a Symbol has only a name.
class SymbolicAtom {
public:
  SymbolicAtomKind kind() const;
  llvm::StringRef name() const;
  llvm::ArrayRef<SymbolicInt> operands() const;
  /// Valid wherever the atom is defined and every symbol is >= 0.
  SymbolicBounds bounds() const;
  /// A total order that does not depend on addresses or hashes.
  int compare(const SymbolicAtom &other) const;
  bool operator==(const SymbolicAtom &other) const;
  bool operator!=(const SymbolicAtom &other) const { return !(*this == other); }

private:
  friend struct SymbolicIntBuilder;
  struct Node;
  explicit SymbolicAtom(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
};

/// atom ** power, power >= 1.
struct SymbolicFactor {
  SymbolicAtom atom;
  unsigned power;
};

/// coefficient * product of factors; factors are sorted, and empty for a number.
struct SymbolicTerm {
  int64_t coefficient;
  llvm::SmallVector<SymbolicFactor, 2> factors;
};

class SymbolicInt {
public:
  SymbolicInt(int64_t value = 0);
  static SymbolicInt symbol(llvm::StringRef name);
  static SymbolicInt of(const SymbolicAtom &atom);
  static SymbolicInt poison();

  /// Parses the output of str(), and spellings of Python and sympy: // % ** , ceildiv, FloorDiv, CeilDiv, Mod,
  /// PythonMod, Min, Max. Names that are not identifiers are in double quotes. Nesting and size are bounded. Errors:
  /// nullopt, and a message with the offset in *error.
  static std::optional<SymbolicInt> parse(llvm::StringRef text, std::string *error = nullptr);
  std::string str() const;

  bool isPoison() const;
  std::optional<int64_t> constant() const;
  bool isConstant() const { return constant().has_value(); }

  /// The terms in canonical order (by degree, then by atoms; the number last).
  /// The sum of their products is the value. Empty for 0 and for poison.
  llvm::ArrayRef<SymbolicTerm> terms() const;

  /// Whether a symbol occurs for whose name `holds` is true.
  bool anySymbol(llvm::function_ref<bool(llvm::StringRef name)> holds) const;
  bool uses(llvm::StringRef symbol) const;
  /// Adds the names of all symbols that occur.
  void symbols(std::set<std::string> &names) const;
  /// Replaces symbols; the replacements must be >= 0 where they are used.
  SymbolicInt substitute(const llvm::StringMap<SymbolicInt> &replacements) const;
  /// nullopt: a symbol is missing or < 0, a divisor is 0, or an intermediate
  /// result leaves int64_t.
  std::optional<int64_t> evaluate(const llvm::StringMap<int64_t> &values) const;

  /// Bounds over all symbols >= 0; sound, not always tight.
  std::optional<int64_t> lowerBound() const;
  std::optional<int64_t> upperBound() const;
  /// Like lowerBound, but may stop early at a bound that is >= enough.
  std::optional<int64_t> lowerBound(int64_t enough) const;
  bool knownPositive() const { return knownAtLeast(1); }
  bool knownNonNegative() const { return knownAtLeast(0); }
  bool knownAtLeast(int64_t value) const;

  /// A total order of the normal forms (not of the values).
  int compareStructure(const SymbolicInt &other) const;
  bool operator==(const SymbolicInt &other) const;
  bool operator!=(const SymbolicInt &other) const { return !(*this == other); }
  friend llvm::hash_code hash_value(const SymbolicInt &value);

  SymbolicInt operator-() const;
  friend SymbolicInt operator+(const SymbolicInt &a, const SymbolicInt &b);
  friend SymbolicInt operator-(const SymbolicInt &a, const SymbolicInt &b);
  friend SymbolicInt operator*(const SymbolicInt &a, const SymbolicInt &b);
  SymbolicInt &operator+=(const SymbolicInt &other) { return *this = *this + other; }
  SymbolicInt &operator-=(const SymbolicInt &other) { return *this = *this - other; }
  SymbolicInt &operator*=(const SymbolicInt &other) { return *this = *this * other; }

private:
  friend struct SymbolicIntBuilder;
  friend class SymbolicAtom;
  struct Node;
  explicit SymbolicInt(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
};

SymbolicInt floorDiv(const SymbolicInt &a, const SymbolicInt &b);
SymbolicInt ceilDiv(const SymbolicInt &a, const SymbolicInt &b);
SymbolicInt mod(const SymbolicInt &a, const SymbolicInt &b);
SymbolicInt min(const SymbolicInt &a, const SymbolicInt &b);
SymbolicInt max(const SymbolicInt &a, const SymbolicInt &b);

/// q with q * b == a as polynomials, if it exists and b is not 0.
std::optional<SymbolicInt> exactDiv(const SymbolicInt &a, const SymbolicInt &b);

/// Whether a < b for all symbols >= 0: true, false (a >= b always) or unknown.
std::optional<bool> compareLess(const SymbolicInt &a, const SymbolicInt &b);

llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, const SymbolicInt &value);

} // namespace perpend::support

#endif // PERPEND_SUPPORT_SYMBOLICINT_H
