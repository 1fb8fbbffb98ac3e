//===- Lanes.h - which loops can be vectorised ------------------*- C++ -*-===//

#ifndef PERPEND_TILE_FLATTEN_LANES_H
#define PERPEND_TILE_FLATTEN_LANES_H

#include "tile/ir/KernelIndices.h"

namespace perpend::tile {

/// Whether everything that varies between iterations of a loop can be held in vectors.
bool fitsLanes(ForOp loop, KernelIndices &indices);

/// The same for a loop of the last summed dimension, whose lanes keep sums of their own in the place of the element
/// that `store` writes. All accesses have one stride along the loop.
bool fitsSumLanes(ForOp loop, StoreOp store, KernelIndices &indices);
} // namespace perpend::tile

#endif
