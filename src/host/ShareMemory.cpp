//===- ShareMemory.cpp - which values share memory --------------------------===//
//
// Runs on a program whose values have memory of their own. Lifetimes are those
// that the verifier finds (LiveRanges.h), so a program cannot be planned with
// others than it is checked with.
//
//===----------------------------------------------------------------------===//

#include "host/ShareMemory.h"

#include "graph/ErrorKind.h"
#include "host/LiveRanges.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

/// Buffers of one memory. Left to binding where a size depends on symbols or threads.
static LogicalResult chooseOffsets(EntryOp entry, ArrayRef<BufferOp> buffers, runtime::Strategy strategy) {
  std::vector<int64_t> sizes, offsets(buffers.size());
  std::vector<perpend_buffer_lifetime> lifetimes;
  for (BufferOp buffer : buffers) {
    std::optional<int64_t> bytes = buffer.getBytes().values()[0].constant();
    if (!bytes || buffer.getParts().values()[0] != SymbolicInt(1))
      return success();
    sizes.push_back(*bytes);
    lifetimes.push_back({static_cast<int32_t>(buffer.getLive()[0]), static_cast<int32_t>(buffer.getLive()[1])});
  }
  auto count = static_cast<int32_t>(sizes.size());
  if (runtime::planOffsets(sizes.data(), lifetimes.data(), count, offsets.data(), strategy) < 0)
    return entry.emitError("the intermediate values do not fit in memory")
           << graph::Hint("check the dimensions of the model's inputs");
  for (auto [buffer, offset] : llvm::zip_equal(buffers, offsets))
    BufferOp(buffer).setOffset(offset);
  return success();
}

/// In order of first use, each takes the first room that is free by then.
static void shareRooms(EntryOp entry, const llvm::MapVector<RoomOp, LiveRange> &ranges) {
  std::vector<std::pair<RoomOp, int64_t>> shared; // with the last use of each
  for (auto [room, range] : ranges) {
    auto free = llvm::find_if(shared, [&, first = range.first](const auto &known) { return known.second < first; });
    if (free == shared.end()) {
      shared.emplace_back(room, range.last);
      continue;
    }
    free->second = range.last;
    RoomOp(room).getRoom().replaceAllUsesWith(free->first.getRoom());
  }
  for (size_t i = 0; i < shared.size(); ++i) {
    shared[i].first.setNumber(entry.outputCount() + i);
    if (i > 0) // the program declares them in order
      shared[i].first->moveAfter(shared[i - 1].first);
  }
}

LogicalResult perpend::host::shareMemory(EntryOp entry, runtime::Strategy strategy) {
  LiveRanges ranges = liveRangesOf(entry);
  llvm::MapVector<Type, SmallVector<BufferOp>> arenas;
  for (auto &[buffer, range] : ranges.buffers)
    BufferOp(buffer).setLive({range.first, range.last});
  shareRooms(entry, ranges.rooms);
  for (Operation &op : llvm::make_early_inc_range(entry.getBody().front()))
    if (isa<BufferOp, RoomOp>(op) && op.use_empty())
      op.erase();
    else if (auto buffer = dyn_cast<BufferOp>(op))
      arenas[buffer.getMemory().getType()].push_back(buffer);
  return success(
      llvm::all_of(arenas, [&](auto &arena) { return succeeded(chooseOffsets(entry, arena.second, strategy)); }));
}
