//===- Scalars.h - arith and math on scalars --------------------*- C++ -*-===//
//
// A table maps operation names to functions that compute a block of elements. It defines the results that arith leaves
// undefined, and never traps: division or remainder by zero gives 0; INT_MIN / -1 wraps (remainder 0); a shift by the
// bit width or more gives 0.
//
// fptosi to more than 32 bits gives INT64_MIN for NaN and values out of range; to at most 32 bits it converts to
// int32_t first (INT32_MIN if out of range) and truncates. fptoui converts values in [2^63, 2^64) exactly and all
// others as fptosi to 64 bits does, then truncates.
//
// maximumf and minimumf propagate NaN and order -0 < +0. Integers wrap. Arithmetic of f16 and bf16 is computed in
// float and rounded after each operation; elementary functions, and fma of 16-bit floats, are computed in double and
// rounded.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_SCALARS_H
#define PERPEND_INTERP_SCALARS_H

#include "interp/ElementFormat.h"

#include <array>

namespace mlir {
class Operation;
} // namespace mlir

namespace perpend::interp {

/// One scalar operation, applied to `count` elements. Registers do not overlap.
struct ScalarArguments {
  void *result = nullptr;
  std::array<const void *, 3> operands = {};
  int64_t count = 0;
  /// Formats of the result and of the last operand.
  ElementFormat format, operandFormat;
  /// The predicate of cmpi and cmpf.
  unsigned predicate = 0;
};
using ScalarFunction = void (*)(const ScalarArguments &);

/// A scalar operation to apply. `function` is null for an operation that is not in the table.
struct ScalarOperation {
  ScalarFunction function = nullptr;
  ElementFormat format, operandFormat;
  unsigned predicate = 0;

  void apply(void *result, const std::array<const void *, 3> &operands, int64_t count) const;
};

/// Looks up an arith or math operation on scalars or vectors with one result and one to three operands.
ScalarOperation findScalarOperation(mlir::Operation *op);

/// Float to integer of `width` bits as defined above.
int64_t truncateToInteger(double value, unsigned width = 64);
} // namespace perpend::interp

#endif
