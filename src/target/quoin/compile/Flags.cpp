//===- Flags.cpp - the flags that a section needs -------------------------===//
//
// Within a turn, the users of a room are groups: a unit that writes it, then those that read it, and so on. Units of a
// group wait for those of the group before; the first group waits for the last one of the turn that used the slot
// before, for which the flag has as many tokens of credit as there are slots. So units run ahead of one another by the
// number of slots. Where rooms overlap those of earlier sections, a flag orders the first access. Then each flag is
// left out if the section needs it not: a rehearsal in program order, with a few iterations of each loop, shows whether
// any two accesses are then unordered. It also shows that the section cannot stop: in program order, each token is
// there when a unit takes it. Sections take flags in turn: a unit may be several short sections ahead, and a flag holds
// only so many tokens.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Flags.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <map>
#include <set>

namespace perpend::quoin {
namespace {

/// Enough for two slots to be used again.
constexpr uint64_t mostTrips = 3;

struct Failure {
  size_t item = 0;
  Unit unit = Unit::SEQ;
  std::optional<Unit> other; ///< whose earlier access `unit` does not know of; nullopt: a token is missing
  bool isPast = false;       ///< the earlier access is one of an earlier section
};

class Rehearsal {
public:
  Rehearsal(const Section &section, const FlagPlan &plan, const Order &order);
  /// nullopt: all accesses are ordered.
  std::optional<Failure> run();

  Order order;

private:
  bool take(unsigned flag);
  void give(unsigned flag, unsigned tokens = 1) {
    held[flag].insert(held[flag].end(), tokens, order.known[unsigned(plan.flags[flag].source)]);
  }
  std::optional<Failure> compute(size_t at);
  std::optional<Failure> touch(size_t at, Unit unit, const Touch &touch);
  void remember();

  struct Slot {
    Cell cell;
    llvm::SmallVector<unsigned, 4> past; ///< cells of earlier sections that it overlaps
    bool isUsed = false, beginsWithWrite = false;
  };
  const Section &section;
  const FlagPlan &plan;
  std::vector<std::deque<Knowledge>> held;
  std::vector<bool> isTaken;       ///< of flags that are taken once
  std::vector<unsigned> firstSlot; ///< of each room
  std::vector<Slot> slots;
  std::vector<uint64_t> turns; ///< that have ended
};

Rehearsal::Rehearsal(const Section &section, const FlagPlan &plan, const Order &order)
    : order(order), section(section), plan(plan), held(plan.flags.size()), isTaken(plan.flags.size()),
      turns(section.turns, 0) {
  for (const Room &room : section.rooms) {
    firstSlot.push_back(static_cast<unsigned>(slots.size()));
    for (unsigned slot = 0; slot < room.slots; ++slot) {
      Slot &each = slots.emplace_back();
      each.cell = {room.space, room.byte + slot * room.bytes, room.byte + (slot + 1) * room.bytes, {}, {}};
      for (auto [number, cell] : llvm::enumerate(order.past))
        if (cell.overlaps(each.cell))
          each.past.push_back(static_cast<unsigned>(number));
    }
  }
}

bool Rehearsal::take(unsigned flag) {
  if (held[flag].empty())
    return false;
  join(order.known[unsigned(plan.flags[flag].destination)], held[flag].front());
  held[flag].pop_front();
  return true;
}

std::optional<Failure> Rehearsal::touch(size_t at, Unit unit, const Touch &touch) {
  const Room &room = section.rooms[touch.room];
  Slot &slot = slots[firstSlot[touch.room] + turns[room.turnOf(touch.isWritten)] % room.slots];
  if (std::optional<Unit> other = order.unknown(unit, slot.cell, touch.isWritten))
    return Failure{at, unit, other, false};
  for (unsigned number : slot.past)
    if (std::optional<Unit> other = order.unknown(unit, order.past[number], touch.isWritten))
      return Failure{at, unit, other, true};
  if (!slot.isUsed)
    slot.beginsWithWrite = touch.isWritten && !touch.isRead;
  slot.isUsed = true;
  Knowledge &clock = touch.isWritten ? slot.cell.written : slot.cell.read;
  clock[unsigned(unit)] = order.known[unsigned(unit)][unsigned(unit)];
  return std::nullopt;
}

std::optional<Failure> Rehearsal::compute(size_t at) {
  const Item &item = section.items[at];
  const Unit unit = item.instruction.unit();
  ++order.known[unsigned(unit)][unsigned(unit)];
  for (const Touch &each : item.touches)
    if (std::optional<Failure> failure = touch(at, unit, each))
      return failure;
  return std::nullopt;
}

/// Cells that this section has written, first of all, stand for those of earlier sections that they cover.
void Rehearsal::remember() {
  for (const Slot &slot : slots)
    if (slot.isUsed && slot.beginsWithWrite)
      llvm::erase_if(order.past, [&](const Cell &cell) {
        return cell.space == slot.cell.space && slot.cell.begin <= cell.begin && cell.end <= slot.cell.end;
      });
  for (const Slot &slot : slots)
    if (slot.isUsed)
      order.past.push_back(slot.cell);
  order.forgetKnown();
}

std::optional<Failure> Rehearsal::run() {
  for (auto [number, flag] : llvm::enumerate(plan.flags))
    give(static_cast<unsigned>(number), flag.isOnce ? 1 : flag.credit);
  std::vector<std::pair<size_t, uint64_t>> loops; // where each begins, and the iterations that are left
  for (size_t at = 0; at < section.items.size(); ++at) {
    const Item &item = section.items[at];
    for (unsigned flag : plan.before[at]) {
      if (plan.flags[flag].isOnce && isTaken[flag])
        continue;
      isTaken[flag] = true;
      if (!take(flag))
        return Failure{at, plan.flags[flag].destination, std::nullopt, false};
    }
    if (item.kind == Item::OpenLoop)
      loops.emplace_back(at, std::min<uint64_t>(item.instruction.src(0).byte, mostTrips));
    if (item.kind == Item::CloseLoop && --loops.back().second) {
      at = loops.back().first;
      continue;
    }
    if (item.kind == Item::CloseLoop)
      loops.pop_back();
    if (item.kind == Item::EndTurn)
      ++turns[item.turn];
    if (item.kind == Item::Compute)
      if (std::optional<Failure> failure = compute(at))
        return failure;
    for (unsigned flag : plan.after[at])
      give(flag);
  }
  for (auto [number, flag] : llvm::enumerate(plan.flags)) {
    for (unsigned token = 0; token < flag.credit; ++token)
      if (!take(static_cast<unsigned>(number)))
        return Failure{section.items.size(), flag.destination, std::nullopt, false};
    if (!held[number].empty())
      return Failure{section.items.size(), flag.destination, std::nullopt, false};
  }
  remember();
  return std::nullopt;
}

/// Statements of a turn that use a room: instructions, or loops around them as a whole.
struct Use {
  size_t first = 0, last = 0; ///< items
  Unit unit = Unit::SEQ;
};
struct Group {
  bool isWriting = false;
  llvm::SmallVector<Use, 2> uses; ///< of each unit, from its first statement to its last

  Use *of(Unit unit) {
    auto found = llvm::find_if(uses, [&](const Use &use) { return use.unit == unit; });
    return found == uses.end() ? nullptr : &*found;
  }
};

class Planner {
public:
  explicit Planner(const Section &section) : section(section) {
    plan.before.resize(section.items.size());
    plan.after.resize(section.items.size());
  }
  void addFlags();
  bool addOrder(const Order &order);
  void leaveOut(const Order &order);
  bool number(Order &order);

  FlagPlan plan;

private:
  void addFlagsOf(unsigned turn, size_t begin, size_t end);
  size_t placeOf(size_t item) const;
  void link(unsigned room, int group, Group &from, Group &to, unsigned credit);
  void linkAhead(unsigned room, const Group &group);
  unsigned numberOf(unsigned room, int group, Unit source, Unit destination, unsigned credit);

  const Section &section;
  std::map<std::tuple<unsigned, int, Unit, Unit>, unsigned> numbers; ///< room, group or -1, source, destination
};

void addUse(std::vector<Group> &groups, Use use, bool isWriting) {
  Group *last = groups.empty() ? nullptr : &groups.back();
  const bool isOwn = last && last->uses.size() == 1 && last->uses[0].unit == use.unit;
  if (!last || (isWriting ? !isOwn : last->isWriting && !isOwn)) {
    groups.push_back({isWriting, {use}});
    return;
  }
  last->isWriting |= isWriting;
  if (Use *same = last->of(use.unit))
    same->last = use.last;
  else
    last->uses.push_back(use);
}

unsigned Planner::numberOf(unsigned room, int group, Unit source, Unit destination, unsigned credit) {
  auto [known, isNew] =
      numbers.try_emplace({room, group, source, destination}, static_cast<unsigned>(plan.flags.size()));
  if (isNew)
    plan.flags.push_back({source, destination, credit, false, 0});
  return known->second;
}

void Planner::link(unsigned room, int group, Group &from, Group &to, unsigned credit) {
  for (const Use &source : from.uses)
    for (const Use &destination : to.uses) {
      if (source.unit == destination.unit)
        continue;
      const unsigned flag = numberOf(room, group, source.unit, destination.unit, credit);
      plan.after[source.last].push_back(flag);
      plan.before[destination.first].push_back(flag);
    }
}

/// Of a room that is written ahead: a group of its writer, or of its readers. The others are in other turns.
void Planner::linkAhead(unsigned room, const Group &group) {
  std::set<Unit> others;
  for (const Item &item : section.items)
    for (const Touch &touch : item.touches)
      if (touch.room == room && touch.isWritten != group.isWriting)
        others.insert(item.instruction.unit());
  for (const Use &use : group.uses)
    for (Unit other : others) {
      const Unit writer = group.isWriting ? use.unit : other, reader = group.isWriting ? other : use.unit;
      const unsigned full = numberOf(room, 0, writer, reader, 0),
                     empty = numberOf(room, -1, reader, writer, section.rooms[room].slots);
      plan.before[use.first].push_back(group.isWriting ? empty : full);
      plan.after[use.last].push_back(group.isWriting ? full : empty);
    }
}

void Planner::addFlagsOf(unsigned turn, size_t begin, size_t end) {
  std::map<unsigned, std::vector<Group>> groupsOf; // of rooms
  for (size_t at = begin + 1; at < end; ++at) {
    size_t last = at;
    unsigned depth = 0;
    do {
      const Item &item = section.items[last];
      depth += item.kind == Item::OpenLoop;
      depth -= item.kind == Item::CloseLoop;
    } while (depth && ++last);
    for (size_t inner = at; inner <= last; ++inner)
      for (const Touch &touch : section.items[inner].touches)
        if (section.rooms[touch.room].turnOf(touch.isWritten) == turn)
          addUse(groupsOf[touch.room], {at, last, section.items[inner].instruction.unit()}, touch.isWritten);
    at = last;
  }
  for (auto &[room, groups] : groupsOf) {
    if (section.rooms[room].writeTurn) {
      linkAhead(room, groups.front());
      continue;
    }
    for (size_t group = 0; group + 1 < groups.size(); ++group)
      link(room, static_cast<int>(group), groups[group], groups[group + 1], 0);
    if (groups.size() > 1)
      link(room, -1, groups.back(), groups.front(), section.rooms[room].slots);
  }
}

void Planner::addFlags() {
  std::vector<std::pair<unsigned, size_t>> open; // turns, and where they begin
  for (size_t at = 0; at < section.items.size(); ++at) {
    const Item &item = section.items[at];
    if (item.kind == Item::BeginTurn)
      open.emplace_back(item.turn, at);
    if (item.kind == Item::EndTurn) {
      addFlagsOf(item.turn, open.back().second, at);
      open.pop_back();
    }
  }
}

/// Where an item waits once: itself if it can tell its first iteration, otherwise the outermost loop around it.
size_t Planner::placeOf(size_t item) const {
  if (!section.items[item].instruction.zero && plan.before[item].size() < 4)
    return item;
  size_t place = item;
  unsigned depth = 0;
  for (size_t at = 0; at < item; ++at) {
    if (section.items[at].kind == Item::OpenLoop && depth++ == 0)
      place = at;
    if (section.items[at].kind == Item::CloseLoop && --depth == 0)
      place = item;
  }
  return place;
}

/// Flags for what earlier sections did.
bool Planner::addOrder(const Order &order) {
  constexpr unsigned mostPairs = numUnits * numUnits;
  for (unsigned pair = 0; pair < mostPairs; ++pair) {
    std::optional<Failure> failure = Rehearsal(section, plan, order).run();
    if (!failure)
      return true;
    if (!failure->isPast)
      return false;
    plan.before[placeOf(failure->item)].push_back(static_cast<unsigned>(plan.flags.size()));
    plan.flags.push_back({*failure->other, failure->unit, 0, true, 0});
  }
  return false;
}

void dropFlag(FlagPlan &plan, unsigned flag) {
  plan.flags.erase(plan.flags.begin() + flag);
  for (auto *places : {&plan.before, &plan.after})
    for (llvm::SmallVector<unsigned, 2> &numbers : *places) {
      llvm::erase(numbers, flag);
      for (unsigned &number : numbers)
        number -= number > flag;
    }
}

void Planner::leaveOut(const Order &order) {
  for (auto flag = static_cast<unsigned>(plan.flags.size()); flag-- > 0;) {
    FlagPlan less = plan;
    dropFlag(less, flag);
    if (!Rehearsal(section, less, order).run())
      plan = std::move(less);
  }
}

bool Planner::number(Order &order) {
  auto next = order.flags;
  for (SectionFlag &flag : plan.flags) {
    const auto source = unsigned(flag.source), destination = unsigned(flag.destination);
    flag.id = static_cast<uint8_t>(next[source][destination]++ % numFlagIds);
    if (next[source][destination] - order.flags[source][destination] > numFlagIds)
      return false;
  }
  order.flags = next;
  return true;
}

} // namespace

std::optional<FlagPlan> planFlags(const Section &section, Order &order) {
  Planner planner(section);
  planner.addFlags();
  if (!planner.addOrder(order))
    return std::nullopt;
  planner.leaveOut(order);
  if (!planner.number(order))
    return std::nullopt;
  Rehearsal rehearsal(section, planner.plan, order);
  rehearsal.run();
  order = std::move(rehearsal.order);
  return std::move(planner.plan);
}

} // namespace perpend::quoin
