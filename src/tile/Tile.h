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
#include <mutex>

namespace perpend::tile {
class InitOp;
class IntrinsicLibrary;

/// How the last dimensions of a packed operand lie: so many columns, of words of `group` elements.
struct Panel {
  int64_t columns, group;
};
} // namespace perpend::tile
#include "tile/TileDialect.h.inc"
#include "tile/TileEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "tile/TileOps.h.inc"

namespace perpend::tile {
/// Whether every number of another element type is one of this.
bool holdsAll(mlir::Type type, mlir::Type other);

/// The elements along one dimension of an input that `count` windows of `size` elements span.
graph::SymbolicInt lengthOfWindows(const graph::SymbolicInt &count, int64_t stride, const graph::SymbolicInt &size,
                                   int64_t dilation);
} // namespace perpend::tile

#endif
