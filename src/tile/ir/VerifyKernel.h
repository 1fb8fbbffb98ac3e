//===- VerifyKernel.h - checks kernels --------------------------*- C++ -*-===//

#ifndef PERPEND_TILE_IR_VERIFYKERNEL_H
#define PERPEND_TILE_IR_VERIFYKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {
/// Whether a function with the attribute tile.kernel is what the passes behind fusion work on: operators on tensors
/// with one result, loops around blocks, or loops on buffers. Errors: a diagnostic, with advice.
mlir::LogicalResult verifyKernel(mlir::func::FuncOp kernel);

/// Whether the kernel consists of loops around blocks.
bool isOnBlocks(mlir::func::FuncOp kernel);

/// Whether the kernel takes memory instead of tensors.
bool isOnBuffers(mlir::func::FuncOp kernel);

/// Checks that the values of a call (operands, then results) match the buffers of a kernel that takes buffers.
mlir::LogicalResult verifyBuffers(mlir::Operation *call, mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
