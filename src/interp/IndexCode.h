//===- IndexCode.h - evaluates expressions over index values ----*- C++ -*-===//
//
// Expressions of the tile level's loops and blocks (tile/ir/IndexExpressions.h),
// compiled once: symbols of the kernel are replaced by their values, "%k" is the
// k-th index operand. Evaluation is term by term and does not rely on the ranges
// that passes assume. Internal to the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_INDEXCODE_H
#define PERPEND_INTERP_INDEXCODE_H

#include "interp/Environment.h"

#include <vector>

namespace perpend::interp {

class IndexCode {
public:
  /// Error (at op): a symbol without value.
  static mlir::FailureOr<IndexCode> compile(mlir::Operation *op, const graph::SymbolicInt &expression,
                                            const Environment &environment);
  /// nullopt: a divisor is 0, or an intermediate result leaves int64_t.
  std::optional<int64_t> evaluate(llvm::ArrayRef<int64_t> operands) const;

private:
  /// An atom: a constant, an operand of the operation, or a function of expressions.
  struct Factor {
    support::SymbolicAtomKind kind = support::SymbolicAtomKind::Symbol;
    unsigned power = 1;
    std::optional<unsigned> operand;
    int64_t value = 0;
    std::vector<IndexCode> arguments;
    std::optional<int64_t> evaluate(llvm::ArrayRef<int64_t> operands) const;
  };
  struct Term {
    int64_t coefficient = 1;
    std::vector<Factor> factors;
  };
  static mlir::FailureOr<Factor> compile(mlir::Operation *op, const support::SymbolicAtom &atom,
                                         const Environment &environment);

  std::vector<Term> terms;
};
} // namespace perpend::interp

#endif
