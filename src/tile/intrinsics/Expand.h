//===- Expand.h - intrinsics as code --------------------------*- C++ -*-===//
//
// What FlattenBlocks makes of a block that an intrinsic computes: code of the
// intrinsic's emitter, or a call of its implementation. Where the block may have
// less to do than the intrinsic does, there is a second way for that.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_EXPAND_H
#define PERPEND_TILE_INTRINSICS_EXPAND_H

#include "tile/intrinsics/Match.h"

namespace perpend::tile {

/// Elements of a buffer that a number of calls are to ask for, and where this one begins.
struct AskedAhead {
  mlir::Value position;
  int64_t parts = 1;
};

/// What the code needs of the kernel that is being lowered.
struct IntrinsicSite {
  mlir::Location loc;
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, const SymbolicInt &)> value;
  llvm::function_ref<mlir::Value(mlir::Value buffer)> memoryOf;
  /// The block's own loops.
  llvm::function_ref<void(mlir::OpBuilder &)> emitNest;
  /// Of a buffer, if any.
  llvm::function_ref<std::optional<AskedAhead>(mlir::OpBuilder &, mlir::Value buffer)> ahead;
};

/// Emits the block as its annotation says; false: it has none, or is not (any more) what the intrinsic computes.
bool expandIntrinsic(mlir::OpBuilder &builder, BlockOp block, KernelIndices &indices, const IntrinsicSite &site);
/// The intrinsic that computes the block's inside; empty without.
llvm::StringRef intrinsicOf(BlockOp block);
} // namespace perpend::tile

#endif
