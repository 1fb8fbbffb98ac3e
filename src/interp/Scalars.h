//===- Scalars.h - the meaning of arith and math on scalars -----*- C++ -*-===//
//
// One table from operation names to functions over blocks of registers. Where
// arith leaves the result undefined, it is defined here, without traps:
// division or remainder by zero gives 0; the most negative number divided by -1
// wraps (remainder 0); a shift by the width or more gives 0; NaN and floats
// outside int64_t give the lowest int64_t, or for integers of at most 32 bits
// those outside int32_t the lowest int32_t, of which narrower integers take the
// low bits. maximumf and minimumf propagate NaN and order
// -0 < +0. f16 and bf16 are computed in float and rounded after each operation;
// math functions of f32 are computed in double and rounded. Integers wrap.
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
  /// Of cmpi and cmpf.
  unsigned predicate = 0;
};
using ScalarFunction = void (*)(const ScalarArguments &);

/// A scalar operation, ready to be applied. `function` is null for an operation outside the table.
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
