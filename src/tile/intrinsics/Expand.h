//===- Expand.h - emits the code of intrinsics ------------------*- C++ -*-===//
//
// FlattenBlocks calls expandIntrinsic() for blocks that an intrinsic computes. It emits code through the intrinsic's
// emitter, or a call of its implementation. If the block may be smaller than the intrinsic, which does not take fewer
// elements, it also emits a branch with the original loops.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_EXPAND_H
#define PERPEND_TILE_INTRINSICS_EXPAND_H

#include "tile/intrinsics/Match.h"

namespace perpend::tile {

/// Elements of a buffer to prefetch, shared among `parts` calls, and the position where this call starts.
struct AskedAhead {
  mlir::Value position;
  int64_t parts = 1;
};

/// What the code needs from the kernel being lowered.
struct IntrinsicSite {
  mlir::Location loc;
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, const SymbolicInt &)> value;
  llvm::function_ref<mlir::Value(mlir::Value buffer)> memoryOf;
  /// Emits the block's own loops.
  llvm::function_ref<void(mlir::OpBuilder &)> emitNest;
  /// What to prefetch of a buffer, if anything.
  llvm::function_ref<std::optional<AskedAhead>(mlir::OpBuilder &, mlir::Value buffer)> ahead;
};

/// Emits the block as its annotation says. False if it has none, or no longer matches the intrinsic.
bool expandIntrinsic(mlir::OpBuilder &builder, BlockOp block, KernelIndices &indices, const IntrinsicSite &site);
/// The name of the intrinsic that computes the block's contents; empty if none.
llvm::StringRef intrinsicOf(BlockOp block);
} // namespace perpend::tile

#endif
