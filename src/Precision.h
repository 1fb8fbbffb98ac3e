//===- Precision.h - what --precision asks for, and what came of it -*- C++ -*-===//

#ifndef PERPEND_PRECISION_H
#define PERPEND_PRECISION_H

#include "target/TargetInfo.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend {

struct PrecisionFacts {
  std::string type; ///< empty: none was asked for
  /// Products and convolutions of floats that have it; and what the others are, with how many.
  uint64_t products = 0;
  std::vector<std::pair<std::string, uint64_t>> kept;

  /// Lines for people: how many, and of the others what they are.
  std::string text() const;
};

/// What the pass tile-lower-precision left in the module.
PrecisionFacts precisionFactsOf(mlir::ModuleOp module);

/// A precision other than f32 is a type whose products an intrinsic of the machine sums in f32, of operands of the type
/// or widened; or int8, whose sums are integers. Else an error that names what there is.
mlir::LogicalResult checkPrecision(mlir::ModuleOp module, llvm::StringRef precision, const target::TargetInfo &target);
} // namespace perpend

#endif
