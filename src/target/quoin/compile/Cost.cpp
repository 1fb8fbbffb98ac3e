//===- Cost.cpp - how long a section takes --------------------------------===//
//
// Units start as early as rooms let them: a reader behind the writer of its slot, a writer behind those who read the
// slot's last contents. So what a unit does one after the other delays others, as flags will have it. Loops run a few
// times; each further iteration takes as long as the last ones did.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Cost.h"
#include "target/quoin/Access.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {
namespace {

class Rehearsal {
public:
  Rehearsal(const Section &section, const Config &config, unsigned sharers);
  uint64_t run();

private:
  struct Slot {
    uint64_t written = 0, read = 0; ///< when that has ended
  };
  void runItems(size_t begin, size_t end);
  size_t runLoop(size_t begin);
  void compute(size_t at);
  uint64_t shared(bool isStore, uint64_t begin, uint64_t end);
  uint64_t end() const { return *llvm::max_element(free); }

  const Section &section;
  std::vector<uint64_t> cyclesOf, ddrOf; ///< of items, and of those of DDR in them
  std::vector<size_t> endOf;             ///< of loops
  std::array<uint64_t, numUnits> free = {};
  std::vector<llvm::SmallVector<Slot, 2>> slots; ///< of rooms
  std::vector<uint64_t> turns;                   ///< that have ended
  struct Span {
    uint64_t begin = 0, end = 0;
  };
  static constexpr size_t remembered = 4;
  std::array<std::array<Span, remembered>, 2> transfers = {}; ///< the last ones of DDR, of loads and of stores
  std::array<size_t, 2> nextTransfer = {};
};

Rehearsal::Rehearsal(const Section &section, const Config &config, unsigned sharers)
    : section(section), cyclesOf(section.items.size()), ddrOf(section.items.size()), endOf(section.items.size()),
      turns(section.turns, 0) {
  for (const Room &room : section.rooms)
    slots.emplace_back(room.slots);
  llvm::SmallVector<size_t, 8> open;
  for (auto [at, item] : llvm::enumerate(section.items)) {
    if (item.kind == Item::OpenLoop)
      open.push_back(at);
    if (item.kind == Item::CloseLoop)
      endOf[open.pop_back_val()] = at;
    if (item.kind != Item::Compute)
      continue;
    uint64_t bytes = 0;
    for (const Access &access : accessesOf(item.instruction))
      if (access.space == Space::DDR)
        bytes += access.movedBytes();
    // The others move as much at the same time.
    ddrOf[at] = bytes * sharers / config.ddrBytesPerCycle;
    cyclesOf[at] = cycles(item.instruction, config) + bytes * (sharers - 1) / config.ddrBytesPerCycle;
  }
}

/// What a transfer of DDR takes longer because of those of the other direction at the same time.
uint64_t Rehearsal::shared(bool isStore, uint64_t begin, uint64_t end) {
  uint64_t more = 0;
  for (const Span &other : transfers[!isStore])
    if (const uint64_t first = std::max(begin, other.begin), last = std::min(end, other.end); first < last)
      more += last - first;
  transfers[isStore][nextTransfer[isStore]++ % remembered] = {begin, end + more};
  return more;
}

void Rehearsal::compute(size_t at) {
  const Item &item = section.items[at];
  uint64_t &unit = free[unsigned(item.instruction.unit())];
  auto slotOf = [&](const Touch &touch) -> Slot & {
    const Room &room = section.rooms[touch.room];
    return slots[touch.room][turns[room.turnOf(touch.isWritten)] % room.slots];
  };
  uint64_t start = unit;
  for (const Touch &touch : item.touches) {
    if (section.rooms[touch.room].isFar())
      continue;
    const Slot &slot = slotOf(touch);
    start = std::max({start, slot.written, touch.isWritten ? slot.read : 0});
  }
  unit = start + cyclesOf[at];
  if (ddrOf[at])
    unit += shared(item.instruction.unit() == Unit::ST, start, start + ddrOf[at]);
  for (const Touch &touch : item.touches)
    (touch.isWritten ? slotOf(touch).written : slotOf(touch).read) = unit;
}

void Rehearsal::runItems(size_t begin, size_t end) {
  for (size_t at = begin; at < end; ++at) {
    const Item &item = section.items[at];
    if (item.kind == Item::Compute)
      compute(at);
    else if (item.kind == Item::EndTurn)
      ++turns[item.turn];
    else if (item.kind == Item::OpenLoop)
      at = runLoop(at);
  }
}

/// Returns where it ends.
size_t Rehearsal::runLoop(size_t begin) {
  constexpr uint64_t most = 4, measured = 2;
  const uint64_t count = section.items[begin].instruction.src(0).byte;
  uint64_t before = 0;
  for (uint64_t iteration = 0; iteration < std::min(count, most); ++iteration) {
    if (iteration == most - measured)
      before = end();
    runItems(begin + 1, endOf[begin]);
  }
  if (count <= most)
    return endOf[begin];
  const uint64_t more = (count - most) * (end() - before) / measured;
  for (uint64_t &unit : free)
    unit += more;
  for (auto &spans : transfers)
    for (Span &span : spans)
      span = {span.begin + more, span.end + more};
  for (auto &room : slots)
    for (Slot &slot : room) {
      slot.written += more;
      slot.read += more;
    }
  return endOf[begin];
}

uint64_t Rehearsal::run() {
  runItems(0, section.items.size());
  return end();
}

} // namespace

uint64_t estimatedCycles(const Section &section, const Config &config, unsigned sharers) {
  return Rehearsal(section, config, sharers).run();
}

} // namespace perpend::quoin
