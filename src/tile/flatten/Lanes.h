//===- Lanes.h - which loops can be lanes of vectors ------------*- C++ -*-===//

#ifndef PERPEND_TILE_FLATTEN_LANES_H
#define PERPEND_TILE_FLATTEN_LANES_H

#include "tile/KernelIndices.h"

namespace perpend::tile {

/// Whether vectors can hold what differs from iteration to iteration of a loop, or of a part of it.
bool fitsLanes(ForOp loop, KernelIndices &indices);
} // namespace perpend::tile

#endif
