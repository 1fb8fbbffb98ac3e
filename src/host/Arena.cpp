//===- Arena.cpp - where the buffers of one memory lie ----------------------===//

#include "host/Arena.h"

#include "host/Strategy.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace perpend::host {

int64_t partsOf(BufferOp buffer, int64_t most) {
  return buffer.getMemory().getType().getMemory() == hostMemory ? 1 : most;
}

std::optional<int64_t> constantSizeOf(BufferOp buffer) {
  std::optional<int64_t> bytes = buffer.getBytes().values()[0].constant(),
                         parts = buffer.getParts().values()[0].constant();
  if (!bytes || !parts || (*parts != 1 && partsOf(buffer, *parts) != *parts))
    return std::nullopt;
  return llvm::checkedMul(*bytes, *parts);
}

/// The lifetime that the program states, which may be longer than needed: binding goes by it, and so do waits.
static LiveRange lifetimeOf(BufferOp buffer, const LiveRanges &ranges) {
  if (std::optional<ArrayRef<int64_t>> live = buffer.getLive(); live && live->size() == 2)
    return {(*live)[0], (*live)[1]};
  return ranges.buffers.lookup(buffer); // of what nothing touches [0, 0]
}

SmallVector<StringRef> arenaMemoriesOf(EntryOp entry) {
  llvm::SetVector<StringRef, SmallVector<StringRef>> names;
  for (auto buffer : entry.getBody().getOps<BufferOp>())
    names.insert(buffer.getMemory().getType().getMemory().getValue());
  return names.takeVector();
}

std::optional<Arena> planArena(EntryOp entry, StringRef memory, const LiveRanges &ranges, SizeOf sizeOf) {
  Arena arena;
  std::vector<perpend_buffer_lifetime> lifetimes;
  bool isPlanned = true;
  for (auto buffer : entry.getBody().getOps<BufferOp>()) {
    if (buffer.getMemory().getType().getMemory() != memory)
      continue;
    std::optional<int64_t> size = sizeOf(buffer);
    if (!size)
      return std::nullopt;
    LiveRange range = lifetimeOf(buffer, ranges);
    arena.buffers.push_back(buffer);
    arena.sizes.push_back(*size);
    arena.offsets.push_back(buffer.getOffset().value_or(0));
    lifetimes.push_back({static_cast<int32_t>(range.first), static_cast<int32_t>(range.last)});
    isPlanned &= buffer.getOffset().has_value();
  }
  if (!isPlanned)
    arena.bytes = runtime::planOffsets(arena.sizes.data(), lifetimes.data(), static_cast<int32_t>(arena.sizes.size()),
                                       arena.offsets.data(), strategyOf(entry));
  for (auto [size, offset] : llvm::zip_equal(arena.sizes, arena.offsets))
    if (arena.bytes >= 0) {
      bool isTooLarge = size > mostArenaBytes || offset > mostArenaBytes - size;
      arena.bytes = isTooLarge ? -1 : std::max<int64_t>(arena.bytes, llvm::alignTo(offset + size, PERPEND_ALIGNMENT));
    }
  return arena;
}
} // namespace perpend::host
