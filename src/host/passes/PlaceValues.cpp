//===- PlaceValues.cpp - in which memory a value lies -----------------------===//
//
// Decides in which memory each buffer of a host program lies, where several are
// possible, and writes that down as the type of the buffer and of its places,
// which everything behind goes by. Until here a value lies in the farthest memory
// that those who touch it reach. Those that live for the fewest steps, its writer's
// among them, for each time that all of it is read or written, come first, which
// need memory for the shortest time, then in the order of the program. Each goes to the nearest one,
// in the order of the machine's memories,
//
// - that every launch which touches it can read or write,
// - from and to which there are links for every copy that touches it, and
// - in which it fits beside constants and the values that came before, planned by
//   the entry's strategy. Without a size that is a number it fits only where there
//   is no end.
//
// A buffer with host.pinned, and one that the host itself touches, stays, and so
// do all if the machine leaves this decision out.
//
//===----------------------------------------------------------------------===//

#include "host/Arena.h"
#include "host/Devices.h"
#include "host/ShareMemory.h"
#include "host/passes/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

namespace perpend::host {
#define GEN_PASS_DEF_HOSTPLACEVALUES
#include "host/HostPasses.h.inc"
} // namespace perpend::host

using namespace mlir;
using namespace perpend;
using namespace perpend::host;

namespace {
struct PlaceValues : perpend::host::impl::HostPlaceValuesBase<PlaceValues> {
  using HostPlaceValuesBase::HostPlaceValuesBase;

  void runOnOperation() override {
    if (target.mainMemories.empty() || !target.takes(target::residencyDecision))
      return;
    for (auto entry : getOperation().getOps<EntryOp>()) {
      for (auto buffer : entry.getBody().getOps<BufferOp>())
        buffer.removeOffsetAttr();
      LiveRanges ranges = liveRangesOf(entry);
      std::multimap<double, BufferOp> order; // by how many steps they live for each access
      for (auto &[buffer, range] : ranges.buffers)
        order.emplace(double(range.last - range.first + 1) / accessesOf(buffer), buffer);
      for (auto [steps, buffer] : order)
        if (!BufferOp(buffer)->hasAttr(pinnedAttribute))
          bringNear(buffer, ranges);
      if (failed(chooseOffsets(entry, ranges)))
        return signalPassFailure();
    }
  }

private:
  /// How often all of a buffer is read or written; 1 if sizes are no numbers.
  static double accessesOf(BufferOp buffer) {
    const std::optional<int64_t> size = constantSizeOf(buffer);
    double bytes = 0;
    auto visit = [&](auto &self, Value value) -> void {
      for (Operation *user : value.getUsers()) {
        if (auto place = dyn_cast<PlaceOp>(user))
          self(self, place.getPlace());
        else if (auto type = dyn_cast<PlaceType>(value.getType()))
          bytes += double(type.bytes().constant().value_or(0));
      }
    };
    visit(visit, buffer.getMemory());
    return size && *size > 0 && bytes > 0 ? bytes / double(*size) : 1;
  }

  void bringNear(BufferOp buffer, const LiveRanges &ranges) {
    std::string before = buffer.getMemory().getType().getMemory().str();
    for (const target::Memory &memory : target.mainMemories) {
      if (memory.name == before)
        return;
      if (!mayLieIn(buffer.getMemory(), memory.name))
        continue;
      setMemory(buffer.getMemory(), memory.name);
      if (holds(memory, buffer->getParentOfType<EntryOp>(), ranges))
        return;
      setMemory(buffer.getMemory(), before);
    }
  }

  bool holds(const target::Memory &memory, EntryOp entry, const LiveRanges &ranges) {
    if (!memory.bytes)
      return true;
    std::optional<Arena> arena = planArena(entry, memory.name, ranges, constantSizeOf);
    return arena && arena->bytes >= 0 &&
           static_cast<uint64_t>(arena->bytes + constantBytesIn(memory.name, getOperation())) <= memory.bytes;
  }

  /// Whether all that touches a buffer, or a place in it, could do so there.
  bool mayLieIn(Value value, StringRef memory) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return llvm::TypeSwitch<Operation *, bool>(user)
          .Case([&](PlaceOp place) { return mayLieIn(place.getPlace(), memory); })
          .Case([&](LaunchOp launch) {
            const target::Machine *runner = runnerOf(launch, target);
            bool isScratch = launch.getScratch() == value;
            bool isRead = isScratch || llvm::is_contained(launch.getInputs(), value),
                 isWritten = isScratch || llvm::is_contained(launch.getOutputs(), value);
            return runner && (!isRead || llvm::is_contained(runner->reads, memory)) &&
                   (!isWritten || llvm::is_contained(runner->writes, memory));
          })
          .Case([&](CopyOp copy) {
            StringRef from = copy.getSource().getType().getMemory().getValue(),
                      to = copy.getTarget().getType().getMemory().getValue();
            return copy.getSource() == value ? target.link(memory, to) : target.link(from, memory);
          })
          .Default(false);
    });
  }
};
} // namespace
