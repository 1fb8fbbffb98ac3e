//===- Arena.cpp - where the buffers of one memory lie ----------------------===//

#include "host/Arena.h"

#include "host/Strategy.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace perpend::host {

std::optional<int64_t> constantSizeOf(BufferOp buffer) {
  if (buffer.getParts().values()[0] != SymbolicInt(1))
    return std::nullopt;
  return buffer.getBytes().values()[0].constant();
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
    LiveRange range = ranges.buffers.lookup(buffer); // of what nothing touches [0, 0]
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
    if (arena.bytes >= 0)
      arena.bytes = std::max<int64_t>(arena.bytes, llvm::alignTo(offset + size, PERPEND_ALIGNMENT));
  return arena;
}
} // namespace perpend::host
