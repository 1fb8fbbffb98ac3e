//===- VerifyKernel.h - checks kernels -----------------------------*- C++ -* ---===//

#ifndef PERPEND_TILE_VERIFYKERNEL_H
#define PERPEND_TILE_VERIFYKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace perpend::tile {
/// Most elements of one stack allocation in a kernel.
inline constexpr int64_t mostStackElements = 1 << 16;

/// Checks that a function with the attribute tile.kernel is what the passes after fusion accept: operators on tensors,
/// loops around blocks, or loops on memory. Errors: a diagnostic with a hint.
mlir::LogicalResult verifyKernel(mlir::func::FuncOp kernel);

/// Whether the kernel consists of loops around blocks.
bool isOnBlocks(mlir::func::FuncOp kernel);

/// Whether the kernel takes memory instead of tensors.
bool isOnBuffers(mlir::func::FuncOp kernel);

/// Checks that the values of a call (operands, then results) match the buffers of a kernel that takes buffers.
mlir::LogicalResult verifyBuffers(mlir::Operation *call, mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
