//===- Cost.cpp - how long a section takes --------------------------------===//
//
// The sequencer puts an instruction into its unit's queue as soon as there is a place. Units start as early as rooms
// let them: a reader behind the writer of its slot, a writer behind those who read the slot's last contents. So what a
// unit does one after the other delays others, as flags will have it. A load and a store share DDR while both move.
// Loops run until iterations repeat, or a few times; each further iteration takes as long as the last ones did.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Cost.h"
#include "target/quoin/Access.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>

namespace perpend::quoin {
namespace {

/// What a transfer needs DDR for.
struct FarMove {
  uint64_t cycles = 0; ///< if nothing else moves
  double rate = 0;     ///< bytes in one of them
};

/// Moments that a section has come to.
struct Moments {
  struct Slot {
    uint64_t written = 0, read = 0; ///< when that has ended
    Unit writer = Unit::SEQ, reader = Unit::SEQ;
  };
  struct Span {
    uint64_t begin = 0, end = 0;
    double rate = 0;
  };
  static constexpr size_t remembered = 16;

  uint64_t sequencer = 0;
  std::array<uint64_t, numUnits> free = {};
  std::vector<uint64_t> starts; ///< of each unit's last instructions, as many as its queue holds
  std::array<uint64_t, numUnits> nextStart = {};
  std::vector<Slot> slots;                                    ///< of all rooms
  std::array<std::array<Span, remembered>, 2> transfers = {}; ///< the last ones of DDR, of loads and of stores
  std::array<size_t, 2> nextTransfer = {};
};

class Rehearsal {
public:
  Rehearsal(const Section &section, const Config &config, unsigned sharers);
  uint64_t run();

private:
  void runItems(size_t begin, size_t end);
  size_t runLoop(size_t begin);
  void repeat(const Moments &before, uint64_t cycles, uint64_t times);
  void compute(size_t at);
  uint64_t move(bool isStore, uint64_t begin, const FarMove &far);
  void delay(Unit unit, uint64_t from, uint64_t cycles);
  uint64_t &startOf(Unit unit, uint64_t number) {
    return now.starts[unsigned(unit) * queueDepth + number % queueDepth];
  }

  const Section &section;
  const double ddrRate; ///< of this core
  const uint64_t queueDepth;
  std::vector<uint64_t> cyclesOf; ///< of items, but not what they move of DDR
  std::vector<FarMove> farOf;
  std::vector<size_t> endOf;       ///< of loops
  std::vector<size_t> firstSlotOf; ///< of rooms
  std::vector<uint64_t> turns;     ///< that have ended
  Moments now;
};

/// Of the addresses to which loops bring an instruction, only some are aligned.
uint64_t meanCycles(const Item &item, const Config &config) {
  const uint64_t first = cycles(item.instruction, config), step = std::gcd(item.step, vectorAlignment);
  if (item.instruction.unit() != Unit::VX || step == vectorAlignment)
    return first;
  Instruction moved = item.instruction;
  moved.dst().byte += step;
  const auto [aligned, other] = std::minmax({first, cycles(moved, config)});
  return other - (other - aligned) * step / vectorAlignment;
}

Rehearsal::Rehearsal(const Section &section, const Config &config, unsigned sharers)
    : section(section), ddrRate(double(config.ddrBytesPerCycle) / sharers), queueDepth(config.queueDepth),
      cyclesOf(section.items.size()), farOf(section.items.size()), endOf(section.items.size()),
      turns(section.turns, 0) {
  for (const Room &room : section.rooms) {
    firstSlotOf.push_back(now.slots.size());
    now.slots.resize(now.slots.size() + room.slots);
  }
  now.starts.assign(numUnits * queueDepth, 0);
  llvm::SmallVector<size_t, 8> open;
  for (auto [at, item] : llvm::enumerate(section.items)) {
    if (item.kind == Item::OpenLoop)
      open.push_back(at);
    if (item.kind == Item::CloseLoop)
      endOf[open.pop_back_val()] = at;
    if (item.kind != Item::Compute)
      continue;
    cyclesOf[at] = meanCycles(item, config);
    uint64_t bytes = 0;
    bool isNear = false;
    for (const Access &access : accessesOf(item.instruction)) {
      isNear |= access.space == Space::LLB;
      if (access.space == Space::DDR)
        bytes += access.movedBytes() * (1 + (access.isRead && access.isWritten));
    }
    // No other core copies to LLB at the same time.
    if (bytes == 0 || isNear || item.instruction.info().cycleKind != CycleKind::Transfer)
      continue;
    // The other cores move as much at the same time.
    const uint64_t fixed = transferStart + config.ddrLatency, moving = cyclesOf[at] - std::min(cyclesOf[at], fixed);
    const auto least = static_cast<uint64_t>(double(bytes) / ddrRate);
    farOf[at].cycles = std::max({moving, least, uint64_t{1}});
    farOf[at].rate = double(bytes) / double(farOf[at].cycles);
    cyclesOf[at] = fixed;
  }
}

/// What a unit does from a moment on ends so much later.
void Rehearsal::delay(Unit unit, uint64_t from, uint64_t cycles) {
  auto move = [&](uint64_t &moment) { moment += moment > from ? cycles : 0; };
  move(now.free[unsigned(unit)]);
  for (Moments::Slot &slot : now.slots) {
    if (slot.writer == unit)
      move(slot.written);
    if (slot.reader == unit)
      move(slot.read);
  }
}

/// Returns when a transfer ends. Those of the other direction that move meanwhile, and this one, each get half of DDR
/// if they want more; what they move later delays what comes behind them.
uint64_t Rehearsal::move(bool isStore, uint64_t begin, const FarMove &far) {
  uint64_t end = begin + far.cycles;
  uint64_t late = 0; // of the other direction
  for (size_t index = 0; index < Moments::remembered; ++index) {
    Moments::Span &other = now.transfers[!isStore][(now.nextTransfer[!isStore] + index) % Moments::remembered];
    other.begin += late;
    other.end += late;
    const uint64_t first = std::max(begin, other.begin), last = std::min(end, other.end);
    const double excess = far.rate + other.rate - ddrRate;
    if (first >= last || excess <= 0)
      continue;
    const auto more = static_cast<uint64_t>(double(last - first) * excess / ddrRate);
    if (other.rate > ddrRate / 2) {
      delay(isStore ? Unit::LD : Unit::ST, first, more);
      other.end += more;
      late += more;
    }
    if (far.rate > ddrRate / 2)
      end += more;
  }
  now.transfers[isStore][now.nextTransfer[isStore]++ % Moments::remembered] = {begin, end, far.rate};
  return end;
}

void Rehearsal::compute(size_t at) {
  const Item &item = section.items[at];
  const Unit unit = item.instruction.unit();
  uint64_t &free = now.free[unsigned(unit)];
  auto slotOf = [&](const Touch &touch) -> Moments::Slot & {
    const Room &room = section.rooms[touch.room];
    return now.slots[firstSlotOf[touch.room] + turns[room.turnOf(touch.isWritten)] % room.slots];
  };
  uint64_t &earlier = startOf(unit, now.nextStart[unsigned(unit)]++);
  const uint64_t issued = std::max(now.sequencer, earlier);
  now.sequencer = issued + 1;
  uint64_t start = std::max(free, issued);
  for (const Touch &touch : item.touches) {
    if (section.rooms[touch.room].isFar())
      continue;
    const Moments::Slot &slot = slotOf(touch);
    start = std::max({start, slot.written, touch.isWritten ? slot.read : 0});
  }
  earlier = start;
  free = start + cyclesOf[at];
  if (farOf[at].cycles)
    free = move(unit == Unit::ST, free, farOf[at]);
  for (const Touch &touch : item.touches) {
    Moments::Slot &slot = slotOf(touch);
    (touch.isWritten ? slot.written : slot.read) = free;
    (touch.isWritten ? slot.writer : slot.reader) = unit;
  }
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

/// What has been done since `before` is done `times` more, each in so many cycles: what it has changed is so much
/// later. A unit that works on something else meanwhile goes on. The sequencer is ahead by no more than a queue holds.
void Rehearsal::repeat(const Moments &before, uint64_t cycles, uint64_t times) {
  const uint64_t cyclesOfOne = cycles;
  cycles *= times;
  auto move = [&](uint64_t from, uint64_t &moment) { moment += from == moment ? 0 : cycles; };
  auto works = [&](Unit unit) { return before.nextStart[unsigned(unit)] != now.nextStart[unsigned(unit)]; };
  move(before.sequencer, now.sequencer);
  for (unsigned unit = 0; unit < numUnits; ++unit) {
    if (!works(Unit(unit)))
      continue;
    now.free[unit] += cycles;
    for (uint64_t number = 0; number < queueDepth; ++number)
      startOf(Unit(unit), number) += cycles;
    const uint64_t ofOne = now.nextStart[unit] - before.nextStart[unit], ahead = queueDepth * cyclesOfOne / ofOne;
    const uint64_t last = startOf(Unit(unit), now.nextStart[unit] - 1);
    if (times * ofOne >= queueDepth && last > ahead)
      now.sequencer = std::max(now.sequencer, last - ahead);
  }
  for (auto [from, slot] : llvm::zip_equal(before.slots, now.slots)) {
    if (works(slot.writer))
      move(from.written, slot.written);
    if (works(slot.reader))
      move(from.read, slot.read);
  }
  for (bool isStore : {false, true})
    if (before.nextTransfer[isStore] != now.nextTransfer[isStore])
      for (Moments::Span &span : now.transfers[isStore])
        span = {span.begin + cycles, span.end + cycles, span.rate};
}

/// Returns where it ends.
size_t Rehearsal::runLoop(size_t begin) {
  constexpr uint64_t least = 4, most = 16, measured = 2;
  const uint64_t count = section.items[begin].instruction.src(0).byte;
  auto run = [&] {
    runItems(begin + 1, endOf[begin]);
    ++now.sequencer; // the end of the loop
  };
  uint64_t done = 0;
  while (done < count) {
    if (count - done <= measured || done < least - measured) {
      run();
      ++done;
      continue;
    }
    const Moments before = now;
    for (uint64_t iteration = 0; iteration < measured; ++iteration, ++done)
      run();
    uint64_t fastest = std::numeric_limits<uint64_t>::max(), slowest = 0;
    for (auto [from, to] : llvm::zip_equal(before.free, now.free))
      if (from != to) {
        fastest = std::min(fastest, to - from);
        slowest = std::max(slowest, to - from);
      }
    if (fastest < slowest && done < most)
      continue;
    const uint64_t times = (count - done) / measured;
    repeat(before, slowest, times);
    done += times * measured;
  }
  return endOf[begin];
}

uint64_t Rehearsal::run() {
  runItems(0, section.items.size());
  return *llvm::max_element(now.free);
}

} // namespace

uint64_t estimatedCycles(const Section &section, const Config &config, unsigned sharers) {
  return Rehearsal(section, config, sharers).run();
}

uint64_t busyCycles(const Section &section, Unit unit, const Config &config) {
  uint64_t total = 0, times = 1;
  llvm::SmallVector<uint64_t, 8> counts;
  for (const Item &item : section.items) {
    if (item.kind == Item::OpenLoop)
      times *= counts.emplace_back(item.instruction.src(0).byte);
    if (item.kind == Item::CloseLoop)
      times /= counts.pop_back_val();
    if (item.kind == Item::Compute && item.instruction.unit() == unit)
      total += times * cycles(item.instruction, config);
  }
  return total;
}

} // namespace perpend::quoin
