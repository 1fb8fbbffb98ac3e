//===- IndexCode.cpp - evaluates expressions over index values ------------===//

#include "interp/IndexCode.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using perpend::support::SymbolicAtomKind;

namespace perpend::interp {

FailureOr<IndexCode::Factor> IndexCode::compile(Operation *op, const support::SymbolicAtom &atom,
                                                const Environment &environment) {
  Factor factor;
  factor.kind = atom.kind();
  if (atom.kind() != SymbolicAtomKind::Symbol) {
    for (const graph::SymbolicInt &argument : atom.operands()) {
      FailureOr<IndexCode> code = compile(op, argument, environment);
      if (failed(code))
        return failure();
      factor.arguments.push_back(std::move(*code));
    }
    return factor;
  }
  StringRef name = atom.name();
  if (unsigned number = 0; name.consume_front("%") && !name.getAsInteger(10, number)) {
    factor.operand = number;
    return factor;
  }
  FailureOr<int64_t> value = environment.evaluate(op, graph::SymbolicInt::symbol(atom.name()));
  if (failed(value))
    return failure();
  factor.value = *value;
  return factor;
}

FailureOr<IndexCode> IndexCode::compile(Operation *op, const graph::SymbolicInt &expression,
                                        const Environment &environment) {
  if (expression.isPoison())
    return op->emitError("expected an expression that has a value, got one that is too long");
  IndexCode code;
  for (const support::SymbolicTerm &term : expression.terms()) {
    Term &product = code.terms.emplace_back();
    product.coefficient = term.coefficient;
    for (const support::SymbolicFactor &factor : term.factors) {
      FailureOr<Factor> compiled = compile(op, factor.atom, environment);
      if (failed(compiled))
        return failure();
      compiled->power = factor.power;
      product.factors.push_back(std::move(*compiled));
    }
  }
  return code;
}

static std::optional<int64_t> combine(SymbolicAtomKind kind, int64_t a, int64_t b) {
  if (kind == SymbolicAtomKind::Min || kind == SymbolicAtomKind::Max)
    return kind == SymbolicAtomKind::Min ? std::min(a, b) : std::max(a, b);
  if (b == 0)
    return std::nullopt;
  if (b == -1) // the only divisor for which the quotient may overflow
    return kind == SymbolicAtomKind::Mod ? std::optional<int64_t>(0) : llvm::checkedSub<int64_t>(0, a);
  int64_t quotient = a / b, rest = a % b;
  bool isBelow = rest != 0 && (rest < 0) != (b < 0); // rounds towards minus infinity
  return kind == SymbolicAtomKind::Mod ? rest + (isBelow ? b : 0) : quotient - isBelow;
}

std::optional<int64_t> IndexCode::Factor::evaluate(ArrayRef<int64_t> operands) const {
  if (kind == SymbolicAtomKind::Symbol)
    return operand ? operands[*operand] : value;
  std::optional<int64_t> result = arguments.front().evaluate(operands);
  for (const IndexCode &argument : ArrayRef(arguments).drop_front()) {
    std::optional<int64_t> next = argument.evaluate(operands);
    result = result && next ? combine(kind, *result, *next) : std::nullopt;
  }
  return result;
}

std::optional<int64_t> IndexCode::evaluate(ArrayRef<int64_t> operands) const {
  std::optional<int64_t> sum = 0;
  for (const Term &term : terms) {
    std::optional<int64_t> product = term.coefficient;
    for (const Factor &factor : term.factors) {
      std::optional<int64_t> value = factor.evaluate(operands);
      for (unsigned i = 0; i < factor.power; ++i)
        product = product && value ? llvm::checkedMul(*product, *value) : std::nullopt;
    }
    sum = sum && product ? llvm::checkedAdd(*sum, *product) : std::nullopt;
  }
  return sum;
}
} // namespace perpend::interp
