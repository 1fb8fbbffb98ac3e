//===- Arena.h - where the buffers of one memory lie ------------*- C++ -*-===//
//
// planArena() gives every buffer of one memory an offset. The compiler calls it where all sizes are numbers; the
// interpreter and the report of a model call it when symbols have values. In a run, binding plans offsets with the
// same function, planOffsets (runtime/Planner.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_HOST_ARENA_H
#define PERPEND_HOST_ARENA_H

#include "host/LiveRanges.h"

#include <optional>

namespace perpend::host {

/// The largest end of a buffer, as in runtime/Planner.h.
inline constexpr int64_t mostArenaBytes = int64_t{1} << 62;

struct Arena {
  llvm::SmallVector<BufferOp> buffers; ///< in the order of the program
  std::vector<int64_t> sizes, offsets; ///< of each
  int64_t bytes = 0;                   ///< a multiple of 64; -1: more than 62 bits
};

/// The size of a buffer, if it is known.
using SizeOf = llvm::function_ref<std::optional<int64_t>(BufferOp)>;
/// Parts of a buffer that are planned, of at most this many: the host's are multiplied when a run knows its threads; a
/// device has all at once.
int64_t partsOf(BufferOp buffer, int64_t most);
/// What the compiler knows, of all parts: nothing where one is no number, or that of the host's threads.
std::optional<int64_t> constantSizeOf(BufferOp buffer);

/// The buffers of a memory, at the offsets that the program gives to all of them; otherwise planned by the entry's
/// strategy. Nothing where a size is not known.
std::optional<Arena> planArena(EntryOp entry, llvm::StringRef memory, const LiveRanges &ranges, SizeOf sizeOf);

/// The memories in which an entry has buffers.
llvm::SmallVector<llvm::StringRef> arenaMemoriesOf(EntryOp entry);
} // namespace perpend::host

#endif
