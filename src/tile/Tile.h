//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//

#ifndef PERPEND_TILE_TILE_H
#define PERPEND_TILE_TILE_H

#include "graph/Graph.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <memory>

namespace perpend::tile {
class InitOp;
class IntrinsicLibrary;
} // namespace perpend::tile
#include "tile/TileDialect.h.inc"
#include "tile/TileEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "tile/TileOps.h.inc"

namespace perpend::tile {
/// How many elements one multiply-add of a lane takes: as many as 32 bits hold.
inline int64_t elementsPerWord(mlir::Type packedElement) { return 32 / packedElement.getIntOrFloatBitWidth(); }

/// The elements along one dimension of an input that `count` windows of `size` elements span.
graph::SymbolicInt lengthOfWindows(const graph::SymbolicInt &count, int64_t stride, const graph::SymbolicInt &size,
                                   int64_t dilation);
} // namespace perpend::tile

#endif
