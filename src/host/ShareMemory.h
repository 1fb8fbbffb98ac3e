//===- ShareMemory.h - which values share memory ----------------*- C++ -*-===//

#ifndef PERPEND_HOST_SHAREMEMORY_H
#define PERPEND_HOST_SHAREMEMORY_H

#include "host/Host.h"

#include "../runtime/Planner.h"

namespace perpend::host {
/// Gives the buffers of an entry their lifetimes and, if all sizes in their memory are numbers, offsets; otherwise
/// binding chooses these in the same way. Rooms with disjoint lifetimes become one. Errors: the sum of sizes has more
/// than 62 bits.
mlir::LogicalResult shareMemory(EntryOp entry, runtime::Strategy strategy);
} // namespace perpend::host

#endif
