//===- Evaluate.h - constant folding ----------------------------*- C++ -*-===//

#ifndef PERPEND_INTERP_EVALUATE_H
#define PERPEND_INTERP_EVALUATE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>

namespace mlir {
class Attribute;
class Operation;
} // namespace mlir

namespace perpend::interp {

/// Computes the results of one graph operator with static shapes on these ElementsAttr operands. Results are splats,
/// DenseElementsAttr up to 1 KiB, else DenseResourceElementsAttr with a heap blob (a reshape shares its input's).
/// Errors (diagnostics at op): an operand that is null or not a dense constant, a dynamic shape, the memory limit, and
/// those of interpret().
llvm::LogicalResult evaluate(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> constantOperands,
                             llvm::SmallVectorImpl<mlir::Attribute> &results,
                             uint64_t memoryLimitBytes = uint64_t{16} << 30);
} // namespace perpend::interp

#endif
