//===- Lanes.h - which loops can be vectorised ------------------*- C++ -*-===//

#ifndef PERPEND_TILE_FLATTEN_LANES_H
#define PERPEND_TILE_FLATTEN_LANES_H

#include "tile/ir/KernelIndices.h"

namespace perpend::tile {

/// Whether everything that varies between iterations of a loop can be held in vectors.
bool fitsLanes(ForOp loop, KernelIndices &indices);
} // namespace perpend::tile

#endif
