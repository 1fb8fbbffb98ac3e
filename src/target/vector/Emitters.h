//===- Emitters.h - the code of intrinsics on vectors -----------*- C++ -*-===//
//
// Code and heuristics for processors with vector registers that execute out of order. Each emitter has its own file.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_VECTOR_EMITTERS_H
#define PERPEND_TARGET_VECTOR_EMITTERS_H

#include "tile/intrinsics/Emitters.h"

namespace perpend::target {

/// Register tiles (Registers.cpp).
extern const tile::Emitter registersEmitter;
/// Register tiles of steps on pairs of rows (Matrices.cpp).
extern const tile::Emitter matricesEmitter;
/// Register tiles of products with grouped numbers (Groups.cpp).
extern const tile::Emitter groupsEmitter;
/// The same for rows of bytes (ByteGroups.cpp).
extern const tile::Emitter bytesEmitter;
/// Blocks of sums in matrix registers (Tiles.cpp).
extern const tile::Emitter tilesEmitter;
/// Sums of groups in matrix registers, for rows of bytes (ByteTiles.cpp).
extern const tile::Emitter byteTilesEmitter;
/// The same for many rows and sums of 16 bits in vectors (BytePanels.cpp).
extern const tile::Emitter bytePanelsEmitter;

/// Emits a branch in which few rows of bytes are multiplied by bytesEmitter, four at a time and then one by one. The
/// call, of `count` rows, moves to the other branch (ByteGroups.cpp).
mlir::LogicalResult lowerFewRows(tile::CallIntrinsicOp call, mlir::Value count, const tile::Intrinsic &intrinsic,
                                 const Machine &target);
} // namespace perpend::target

#endif
