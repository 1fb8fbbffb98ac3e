// Normal form and arithmetic of SymbolicInt. Rewriting is in SymbolicIntRules.cpp,
// bounds in SymbolicIntBounds.cpp, text in SymbolicIntSyntax.cpp.
#include "support/SymbolicInt.h"
#include "support/SymbolicIntCache.h"
#include "support/SymbolicIntNodes.h"
#include "support/SymbolicIntRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace perpend::support {

//===- Atoms --------------------------------------------------------------===//

SymbolicAtomKind SymbolicAtom::kind() const { return node->kind; }
llvm::StringRef SymbolicAtom::name() const { return node->name; }
llvm::ArrayRef<SymbolicInt> SymbolicAtom::operands() const { return node->operands; }
SymbolicBounds SymbolicAtom::bounds() const { return node->bounds; }

int SymbolicAtom::compare(const SymbolicAtom &other) const {
  if (node == other.node)
    return 0;
  if (node->kind != other.node->kind)
    return node->kind < other.node->kind ? -1 : 1;
  if (int order = name().compare(other.name()))
    return order;
  if (node->operands.size() != other.node->operands.size())
    return node->operands.size() < other.node->operands.size() ? -1 : 1;
  for (auto [mine, theirs] : llvm::zip(node->operands, other.node->operands))
    if (int order = mine.compareStructure(theirs))
      return order;
  return 0;
}

bool SymbolicAtom::operator==(const SymbolicAtom &other) const {
  return node == other.node || (node->hash == other.node->hash && compare(other) == 0);
}

//===- Order, equality, hash ----------------------------------------------===//

unsigned degreeOf(llvm::ArrayRef<SymbolicFactor> factors) {
  unsigned degree = 0;
  for (const SymbolicFactor &factor : factors)
    degree += factor.power;
  return degree;
}

int compareMonomials(llvm::ArrayRef<SymbolicFactor> a, llvm::ArrayRef<SymbolicFactor> b) {
  unsigned degreeA = degreeOf(a), degreeB = degreeOf(b);
  if (degreeA != degreeB)
    return degreeA > degreeB ? -1 : 1;
  for (auto [factorA, factorB] : llvm::zip(a, b)) {
    if (int order = factorA.atom.compare(factorB.atom))
      return order;
    if (factorA.power != factorB.power)
      return factorA.power > factorB.power ? -1 : 1;
  }
  return 0;
}

int SymbolicInt::compareStructure(const SymbolicInt &other) const {
  if (node == other.node)
    return 0;
  if (isPoison() != other.isPoison())
    return isPoison() ? 1 : -1;
  for (auto [mine, theirs] : llvm::zip(terms(), other.terms())) {
    if (int order = compareMonomials(mine.factors, theirs.factors))
      return order;
    if (mine.coefficient != theirs.coefficient)
      return mine.coefficient < theirs.coefficient ? -1 : 1;
  }
  if (terms().size() == other.terms().size())
    return 0;
  return terms().size() < other.terms().size() ? -1 : 1;
}

bool SymbolicInt::operator==(const SymbolicInt &other) const {
  return node == other.node || (node->hash == other.node->hash && compareStructure(other) == 0);
}

llvm::hash_code hash_value(const SymbolicInt &value) { return value.node->hash; }

//===- Construction of normal forms ---------------------------------------===//

SymbolicInt SymbolicInt::poison() { return SymbolicInt(std::make_shared<const Node>(Node{true, {}, 1, 0, 1})); }

SymbolicInt SymbolicInt::symbol(llvm::StringRef name) { return SymbolicIntBuilder::symbol(name); }

SymbolicInt SymbolicInt::of(const SymbolicAtom &atom) { return SymbolicIntBuilder::fromAtom(atom); }

std::shared_ptr<const SymbolicInt::Node> SymbolicIntBuilder::number(int64_t value) {
  SymbolicInt::Node result{false, {}, 1, 0, 0};
  if (value != 0) {
    result.terms.push_back({value, {}});
    result.hash = llvm::hash_combine(result.hash, value);
  }
  return std::make_shared<const SymbolicInt::Node>(std::move(result));
}

/// Small numbers, which are frequent, are shared.
SymbolicInt::SymbolicInt(int64_t value) {
  static constexpr int64_t least = -1, most = 64;
  static const auto frequent = [] {
    std::vector<std::shared_ptr<const Node>> nodes;
    for (int64_t number = least; number <= most; ++number)
      nodes.push_back(SymbolicIntBuilder::number(number));
    return nodes;
  }();
  node = value < least || value > most ? SymbolicIntBuilder::number(value) : frequent[value - least];
}

static bool isBefore(const SymbolicTerm &a, const SymbolicTerm &b) {
  return compareMonomials(a.factors, b.factors) < 0;
}

/// Sorts and merges terms; false on overflow.
static bool combineTerms(std::vector<SymbolicTerm> &terms) {
  auto isOutOfOrder = [](const SymbolicTerm &a, const SymbolicTerm &b) { return !isBefore(a, b); };
  if (std::adjacent_find(terms.begin(), terms.end(), isOutOfOrder) == terms.end() &&
      llvm::none_of(terms, [](const SymbolicTerm &term) { return term.coefficient == 0; }))
    return true;
  if (!llvm::is_sorted(terms, isBefore))
    llvm::sort(terms, isBefore);
  size_t kept = 0;
  for (size_t index = 0; index < terms.size();) {
    SymbolicTerm merged = std::move(terms[index++]);
    for (; index < terms.size() && compareMonomials(merged.factors, terms[index].factors) == 0; ++index)
      if (__builtin_add_overflow(merged.coefficient, terms[index].coefficient, &merged.coefficient))
        return false;
    if (merged.coefficient != 0)
      terms[kept++] = std::move(merged);
  }
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(kept), terms.end());
  return true;
}

SymbolicInt SymbolicIntBuilder::polynomial(std::vector<SymbolicTerm> terms) {
  if (!combineTerms(terms) || terms.size() > maximalTerms)
    return SymbolicInt::poison();
  SymbolicInt::Node result{false, std::move(terms), 1, 0, 0};
  for (const SymbolicTerm &term : result.terms) {
    if (degreeOf(term.factors) > maximalDegree)
      return SymbolicInt::poison();
    result.hash = llvm::hash_combine(result.hash, term.coefficient);
    ++result.size;
    for (const SymbolicFactor &factor : term.factors) {
      const SymbolicAtom::Node &atom = *factor.atom.node;
      result.hash = llvm::hash_combine(result.hash, atom.hash, factor.power);
      result.size += atom.size;
      result.nesting = std::max(result.nesting, atom.nesting);
    }
    if (result.size > maximalSize)
      return SymbolicInt::poison();
  }
  return SymbolicInt(std::make_shared<const SymbolicInt::Node>(std::move(result)));
}

SymbolicInt SymbolicIntBuilder::fromTerm(const SymbolicTerm &term) { return polynomial({term}); }

SymbolicInt SymbolicIntBuilder::fromAtom(const SymbolicAtom &atom) {
  return polynomial({{1, {SymbolicFactor{atom, 1}}}});
}

SymbolicInt SymbolicIntBuilder::atom(SymbolicAtomKind kind, std::string name, std::vector<SymbolicInt> operands) {
  SymbolicAtom::Node result{kind, std::move(name), std::move(operands), {}, 1, 0, 0};
  result.hash = llvm::hash_combine(static_cast<unsigned>(kind), llvm::StringRef(result.name));
  for (const SymbolicInt &operand : result.operands) {
    if (operand.isPoison())
      return operand;
    result.size += operand.node->size;
    result.nesting = std::max(result.nesting, operand.node->nesting + 1);
    result.hash = llvm::hash_combine(result.hash, operand.node->hash);
  }
  if (result.size > maximalSize || result.nesting > maximalNesting)
    return SymbolicInt::poison();
  result.bounds = computeAtomBounds(kind, result.operands);
  return fromAtom(SymbolicAtom(std::make_shared<const SymbolicAtom::Node>(std::move(result))));
}

SymbolicInt SymbolicIntBuilder::symbol(llvm::StringRef name) { return atom(SymbolicAtomKind::Symbol, name.str(), {}); }

SymbolicInt SymbolicIntBuilder::binary(SymbolicAtomKind kind, const SymbolicInt &a, const SymbolicInt &b) {
  return OperationCache::exactOfThread().find(kind, {a, b}, [&] { return atom(kind, "", {a, b}); });
}

SymbolicInt SymbolicIntBuilder::extremum(SymbolicAtomKind kind, llvm::ArrayRef<SymbolicInt> operands) {
  std::vector<SymbolicInt> flat;
  for (const SymbolicInt &operand : operands) {
    if (operand.isPoison())
      return operand;
    if (const SymbolicAtom *inner = asAtom(operand, kind))
      llvm::append_range(flat, inner->operands());
    else
      flat.push_back(operand);
  }
  llvm::sort(flat, [](const SymbolicInt &a, const SymbolicInt &b) { return a.compareStructure(b) < 0; });
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.size() == 1)
    return flat.front();
  if (flat.size() > maximalOperands)
    return SymbolicInt::poison();
  return OperationCache::exactOfThread().find(kind, flat, [&] { return atom(kind, "", flat); });
}

const SymbolicAtom *SymbolicIntBuilder::asAtom(const SymbolicInt &value, SymbolicAtomKind kind) {
  llvm::ArrayRef<SymbolicTerm> terms = value.terms();
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1)
    return nullptr;
  const SymbolicFactor &factor = terms[0].factors[0];
  return factor.power == 1 && factor.atom.kind() == kind ? &factor.atom : nullptr;
}

SymbolicInt SymbolicIntBuilder::sum(const SymbolicInt &a, const SymbolicInt &b) {
  if (a.isPoison() || b.isPoison())
    return SymbolicInt::poison();
  if (a.terms().empty() || b.terms().empty())
    return a.terms().empty() ? b : a;
  std::vector<SymbolicTerm> terms;
  terms.reserve(a.terms().size() + b.terms().size());
  llvm::ArrayRef<SymbolicTerm> left = a.terms(), right = b.terms();
  std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(terms), isBefore);
  return polynomial(std::move(terms));
}

static llvm::SmallVector<SymbolicFactor, 2> multiplyMonomials(llvm::ArrayRef<SymbolicFactor> a,
                                                              llvm::ArrayRef<SymbolicFactor> b) {
  llvm::SmallVector<SymbolicFactor, 2> result;
  while (!a.empty() && !b.empty()) {
    int order = a.front().atom.compare(b.front().atom);
    llvm::ArrayRef<SymbolicFactor> &source = order <= 0 ? a : b;
    result.push_back(source.front());
    if (order == 0) {
      result.back().power += b.front().power;
      b = b.drop_front();
    }
    source = source.drop_front();
  }
  result.append(a.begin(), a.end());
  result.append(b.begin(), b.end());
  return result;
}

SymbolicInt SymbolicIntBuilder::product(const SymbolicInt &a, const SymbolicInt &b) {
  if (a.isPoison() || b.isPoison())
    return SymbolicInt::poison();
  if (a.constant() == 1 || b.constant() == 1)
    return a.constant() == 1 ? b : a;
  std::vector<SymbolicTerm> terms;
  terms.reserve(a.terms().size() * b.terms().size());
  for (const SymbolicTerm &left : a.terms())
    for (const SymbolicTerm &right : b.terms()) {
      int64_t coefficient;
      if (__builtin_mul_overflow(left.coefficient, right.coefficient, &coefficient))
        return SymbolicInt::poison();
      terms.push_back({coefficient, multiplyMonomials(left.factors, right.factors)});
    }
  return polynomial(std::move(terms));
}

//===- Public operations --------------------------------------------------===//

bool SymbolicInt::isPoison() const { return node->isPoison; }
llvm::ArrayRef<SymbolicTerm> SymbolicInt::terms() const { return node->terms; }

std::optional<int64_t> SymbolicInt::constant() const {
  if (isPoison() || terms().size() > 1)
    return std::nullopt;
  if (terms().empty())
    return 0;
  if (!terms()[0].factors.empty())
    return std::nullopt;
  return terms()[0].coefficient;
}

SymbolicInt SymbolicInt::operator-() const { return SymbolicIntBuilder::product(*this, -1); }
SymbolicInt operator+(const SymbolicInt &a, const SymbolicInt &b) { return SymbolicRewriter().add(a, b); }
SymbolicInt operator-(const SymbolicInt &a, const SymbolicInt &b) { return a + -b; }
SymbolicInt operator*(const SymbolicInt &a, const SymbolicInt &b) { return SymbolicRewriter().multiply(a, b); }
SymbolicInt floorDiv(const SymbolicInt &a, const SymbolicInt &b) { return SymbolicRewriter().floorDiv(a, b); }
SymbolicInt ceilDiv(const SymbolicInt &a, const SymbolicInt &b) { return SymbolicRewriter().ceilDiv(a, b); }
SymbolicInt mod(const SymbolicInt &a, const SymbolicInt &b) { return SymbolicRewriter().mod(a, b); }
SymbolicInt min(const SymbolicInt &a, const SymbolicInt &b) {
  return SymbolicRewriter().extremum(SymbolicAtomKind::Min, {a, b});
}
SymbolicInt max(const SymbolicInt &a, const SymbolicInt &b) {
  return SymbolicRewriter().extremum(SymbolicAtomKind::Max, {a, b});
}

bool SymbolicInt::anySymbol(llvm::function_ref<bool(llvm::StringRef name)> holds) const {
  return llvm::any_of(terms(), [&](const SymbolicTerm &term) {
    return llvm::any_of(term.factors, [&](const SymbolicFactor &factor) {
      return (factor.atom.kind() == SymbolicAtomKind::Symbol && holds(factor.atom.name())) ||
             llvm::any_of(factor.atom.operands(), [&](const SymbolicInt &operand) { return operand.anySymbol(holds); });
    });
  });
}

bool SymbolicInt::uses(llvm::StringRef symbol) const {
  return anySymbol([&](llvm::StringRef name) { return name == symbol; });
}

void SymbolicInt::symbols(std::set<std::string> &names) const {
  anySymbol([&](llvm::StringRef name) { return names.insert(name.str()), false; });
}

static SymbolicInt substituteAtom(const SymbolicAtom &atom, const llvm::StringMap<SymbolicInt> &replacements) {
  if (atom.kind() == SymbolicAtomKind::Symbol) {
    auto found = replacements.find(atom.name());
    return found == replacements.end() ? SymbolicIntBuilder::fromAtom(atom) : found->second;
  }
  llvm::SmallVector<SymbolicInt, 4> operands;
  for (const SymbolicInt &operand : atom.operands())
    operands.push_back(operand.substitute(replacements));
  return SymbolicRewriter().apply(atom.kind(), operands);
}

SymbolicInt SymbolicInt::substitute(const llvm::StringMap<SymbolicInt> &replacements) const {
  if (isPoison() || !anySymbol([&](llvm::StringRef name) { return replacements.contains(name); }))
    return *this;
  SymbolicInt result = 0;
  for (const SymbolicTerm &term : terms()) {
    SymbolicInt product = term.coefficient;
    for (const SymbolicFactor &factor : term.factors) {
      SymbolicInt base = substituteAtom(factor.atom, replacements);
      for (unsigned power = 0; power < factor.power; ++power)
        product *= base;
    }
    result += product;
  }
  return result;
}

static std::optional<int64_t> evaluateAtom(const SymbolicAtom &atom, const llvm::StringMap<int64_t> &values) {
  if (atom.kind() == SymbolicAtomKind::Symbol) {
    auto found = values.find(atom.name());
    if (found == values.end() || found->second < 0)
      return std::nullopt;
    return found->second;
  }
  llvm::SmallVector<int64_t, 4> operands;
  for (const SymbolicInt &operand : atom.operands()) {
    std::optional<int64_t> value = operand.evaluate(values);
    if (!value)
      return std::nullopt;
    operands.push_back(*value);
  }
  switch (atom.kind()) {
  case SymbolicAtomKind::FloorDiv:
    return floorDivide(operands[0], operands[1]);
  case SymbolicAtomKind::Mod:
    return floorModulo(operands[0], operands[1]);
  case SymbolicAtomKind::Min:
    return *llvm::min_element(operands);
  case SymbolicAtomKind::Max:
    return *llvm::max_element(operands);
  case SymbolicAtomKind::Symbol:
    break;
  }
  llvm_unreachable("symbols are handled above");
}

static std::optional<int64_t> evaluateTerm(const SymbolicTerm &term, const llvm::StringMap<int64_t> &values) {
  int64_t product = term.coefficient;
  for (const SymbolicFactor &factor : term.factors) {
    std::optional<int64_t> value = evaluateAtom(factor.atom, values);
    if (!value)
      return std::nullopt;
    for (unsigned power = 0; power < factor.power; ++power)
      if (__builtin_mul_overflow(product, *value, &product))
        return std::nullopt;
  }
  return product;
}

std::optional<int64_t> SymbolicInt::evaluate(const llvm::StringMap<int64_t> &values) const {
  if (isPoison())
    return std::nullopt;
  int64_t sum = 0;
  for (const SymbolicTerm &term : terms()) {
    std::optional<int64_t> value = evaluateTerm(term, values);
    if (!value || __builtin_add_overflow(sum, *value, &sum))
      return std::nullopt;
  }
  return sum;
}

llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, const SymbolicInt &value) { return stream << value.str(); }

} // namespace perpend::support
