//===- ShareMemory.cpp - which values share memory --------------------------===//
//
// Runs on a program whose values have memory of their own. Lifetimes are those
// that the verifier finds (LiveRanges.h), so a program cannot be planned with
// others than it is checked with.
//
//===----------------------------------------------------------------------===//

#include "host/ShareMemory.h"

#include "graph/ErrorKind.h"
#include "host/Arena.h"
#include "host/Strategy.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

LogicalResult perpend::host::chooseOffsets(EntryOp entry, const LiveRanges &ranges) {
  for (auto buffer : entry.getBody().getOps<BufferOp>())
    buffer.removeOffsetAttr();
  for (StringRef memory : arenaMemoriesOf(entry)) {
    std::optional<Arena> arena = planArena(entry, memory, ranges, constantSizeOf);
    if (!arena)
      continue;
    if (arena->bytes < 0)
      return entry.emitError("the intermediate values do not fit in memory")
             << graph::Hint("check the dimensions of the model's inputs");
    for (auto [buffer, offset] : llvm::zip_equal(arena->buffers, arena->offsets))
      BufferOp(buffer).setOffset(offset);
  }
  return success();
}

/// In order of first use, each room gets the first number that is free by then.
static void numberRooms(EntryOp entry, const llvm::MapVector<RoomOp, LiveRange> &ranges) {
  const bool mayShare = strategyOf(entry) != runtime::Strategy::Apart;
  std::vector<int64_t> lastUses; // of each number
  for (auto [room, range] : ranges) {
    auto free = llvm::find_if(lastUses, [&, first = range.first](int64_t last) { return mayShare && last < first; });
    RoomOp(room).setNumber(entry.outputCount() + (free - lastUses.begin()));
    if (free == lastUses.end())
      lastUses.push_back(range.last);
    else
      *free = range.last;
  }
}

LogicalResult perpend::host::shareMemory(EntryOp entry) {
  LiveRanges ranges = liveRangesOf(entry);
  for (auto &[buffer, range] : ranges.buffers)
    BufferOp(buffer).setLive(ArrayRef<int64_t>{range.first, range.last});
  numberRooms(entry, ranges.rooms);
  for (Operation &op : llvm::make_early_inc_range(entry.getBody().front()))
    if (isa<BufferOp, RoomOp>(op) && op.use_empty())
      op.erase();
  return chooseOffsets(entry, ranges);
}
