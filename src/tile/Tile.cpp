//===- Tile.cpp - the tile dialect ------------------------------------------===//

#include "tile/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace perpend::tile;

#include "tile/TileDialect.cpp.inc"
#define GET_OP_CLASSES
#include "tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tile/TileOps.cpp.inc"
      >();
}

LogicalResult MicroKernelOp::verify() {
  if (getCounts().size() != 2 || getASteps().size() != 2 || getBSteps().size() != 2)
    return emitOpError("C1: expected two counts and two steps for a and b");
  if (getRows() < 1 || getCols() < 1)
    return emitOpError("C2: expected a block of at least 1 x 1, got ") << getRows() << " x " << getCols();
  return success();
}
