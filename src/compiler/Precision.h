//===- Precision.h - --precision: the request and its result ----*- C++ -*-===//

#ifndef PERPEND_COMPILER_PRECISION_H
#define PERPEND_COMPILER_PRECISION_H

#include "target/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend {

struct PrecisionFacts {
  std::string type; ///< the requested type; empty: none
  /// Number of floating-point products and convolutions in this precision; and the kinds of the others, with their
  /// numbers.
  uint64_t products = 0;
  std::vector<std::pair<std::string, uint64_t>> kept;

  /// The facts as lines for the user.
  std::string text() const;
};

/// Reads what the pass tile-lower-precision noted on the module.
PrecisionFacts precisionFactsOf(mlir::ModuleOp module);

/// Whether a machine has the precision (below).
bool hasPrecision(mlir::MLIRContext *context, llvm::StringRef precision, const target::Machine &target);

/// Precisions other than f32: a type for which the machine has an intrinsic that sums products in f32 (of operands of
/// this type, or widened), or int8, whose sums are integers. Otherwise emits an error that lists the possible ones.
mlir::LogicalResult checkPrecision(mlir::ModuleOp module, llvm::StringRef precision, const target::Machine &target);
} // namespace perpend

#endif
