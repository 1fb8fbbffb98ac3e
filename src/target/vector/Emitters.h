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
} // namespace perpend::target

#endif
