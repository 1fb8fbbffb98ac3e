//===- Cost.cpp - how long a section takes --------------------------------===//
#include "target/quoin/compile/Cost.h"
#include "target/quoin/Access.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace perpend::quoin {

uint64_t estimatedCycles(const Section &section, const Config &config, unsigned sharers) {
  std::array<uint64_t, numUnits> busy = {};
  std::vector<std::array<uint64_t, numUnits>> busyOf(section.rooms.size());
  uint64_t far = 0, once = 0, times = 1;
  llvm::SmallVector<uint64_t, 8> loops;
  for (const Item &item : section.items) {
    if (item.kind == Item::OpenLoop) {
      loops.push_back(item.instruction.src(0).byte);
      times *= loops.back();
    }
    if (item.kind == Item::CloseLoop)
      times /= loops.pop_back_val();
    if (item.kind != Item::Compute)
      continue;
    uint64_t each = cycles(item.instruction, config), bytes = 0;
    for (const Access &access : accessesOf(item.instruction))
      if (access.space == Space::DDR)
        bytes += access.movedBytes();
    each += bytes * (sharers - 1) / config.ddrBytesPerCycle; // the others move as much at the same time
    const auto unit = unsigned(item.instruction.unit());
    far += bytes * times;
    busy[unit] += each * times;
    once += each;
    for (const Touch &touch : item.touches)
      busyOf[touch.room][unit] += each * times;
  }
  uint64_t most = std::max(*llvm::max_element(busy), far * sharers / config.ddrBytesPerCycle);
  for (auto [room, units] : llvm::zip_equal(section.rooms, busyOf))
    if (room.slots == 1 && room.turn != 0)
      most = std::max(most, std::accumulate(units.begin(), units.end(), uint64_t{0}));
  return most + once;
}

} // namespace perpend::quoin
