//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//

#ifndef PERPEND_TILE_IR_TILE_H
#define PERPEND_TILE_IR_TILE_H

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

/// The innermost dimensions of a packed operand: `columns` columns of words with `group` elements each.
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
/// Whether `type` represents every value of `other` exactly.
bool holdsAll(mlir::Type type, mlir::Type other);

/// The number of elements along one dimension that `count` windows of `size` elements cover.
graph::SymbolicInt lengthOfWindows(const graph::SymbolicInt &count, int64_t stride, const graph::SymbolicInt &size,
                                   int64_t dilation);
} // namespace perpend::tile

#endif
