//===- Meetings.cpp - where cores wait for one another --------------------===//
//
// At a meeting, all that cores have read and written before it is done. Load units need not wait for the last core:
// what a section loads at its beginning, and nobody still writes, comes before the meeting.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Stream.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace perpend::quoin {

void Stream::addMeeting(uint32_t mask) {
  addNoteOfLoads();
  addMeetingOfNote(mask);
}

void Stream::addNoteOfLoads() { section.items.emplace_back().kind = Item::Loaded; }

void Stream::addMeetingOfNote(uint32_t mask) {
  constexpr uint32_t own = 1; // meetings of all cores have barrier 0
  Item &item = section.items.emplace_back();
  item.kind = Item::Meet;
  item.instruction.opcode = Opcode::bar;
  item.instruction.axis = own;
  item.instruction.mask = mask;
}

void Stream::meet(uint32_t mask) { meet(mask, {}); }

/// Stores, and loads if stores do not wait for all of them, are noted in front of these loads: the meeting does not
/// wait for those.
void Stream::meet(uint32_t mask, llvm::ArrayRef<size_t> early) {
  const SectionFlag stored{Unit::ST, Unit::SEQ, 0, false, numFlagIds - 1},
      loaded{Unit::LD, Unit::SEQ, 0, false, numFlagIds - 1};
  const bool notesLoads = !order.knowsFar(Unit::ST);
  if (notesLoads)
    join(order.known[unsigned(Unit::ST)], order.known[unsigned(Unit::LD)]);
  if (!order.knowsFar(Unit::ST)) {
    fence();
    emitEarly(early);
  } else {
    emitFlag(Opcode::setf, stored, 1);
    if (notesLoads)
      emitFlag(Opcode::setf, loaded, 1);
    emitEarly(early);
    emitFlag(Opcode::waitf, stored, 1);
    if (notesLoads)
      emitFlag(Opcode::waitf, loaded, 1);
    order.publish(Unit::ST);
  }
  Instruction barrier;
  barrier.opcode = Opcode::bar;
  barrier.mask = mask;
  emit(std::move(barrier));
}

/// Loads in front of all loops, in the order of the section, that have fixed addresses, are the first to use their
/// memory of the core, and read what the section does not write.
std::vector<size_t> Stream::earlyLoads(llvm::function_ref<bool(const FarRange &)> isReady) const {
  std::vector<size_t> loads;
  std::set<unsigned> used; // rooms
  auto mayRead = [&](const Room &room) {
    return isReady({room.space, room.byte, room.end(), false}) && llvm::none_of(farUses, [&](const FarUse &use) {
             const Room &other = section.rooms[use.room];
             return use.isWritten && other.space == room.space && room.byte < other.end() && other.byte < room.end();
           });
  };
  unsigned turns = 0;
  for (auto [at, item] : llvm::enumerate(section.items)) {
    if (item.kind == Item::OpenLoop || item.kind == Item::Loaded || item.kind == Item::Meet)
      break;
    turns += item.kind == Item::BeginTurn;
    turns -= item.kind == Item::EndTurn;
    if (item.kind != Item::Compute)
      continue;
    const bool isFixed = turns == 1 && item.instruction.unit() == Unit::LD &&
                         llvm::none_of(item.instruction.operands, [](const Operand &each) { return each.generator; });
    const bool isFree = isFixed && llvm::all_of(item.touches, [&](const Touch &touch) {
                          const Room &room = section.rooms[touch.room];
                          return room.isFar() ? !touch.isWritten && mayRead(room) : !used.contains(touch.room);
                        });
    if (isFree)
      loads.push_back(at);
    for (const Touch &touch : item.touches)
      if (!isFree)
        used.insert(touch.room);
  }
  return loads;
}

/// Moves items of the section to what has been emitted.
void Stream::emitEarly(llvm::ArrayRef<size_t> loads) {
  if (loads.empty())
    return;
  Section early;
  early.rooms = section.rooms;
  early.turns = section.turns;
  for (size_t at : loads)
    early.items.push_back(section.items[at]);
  const std::optional<FlagPlan> plan = planFlags(early, order);
  if (!plan)
    return;
  for (size_t at : llvm::reverse(loads))
    section.items.erase(section.items.begin() + static_cast<ptrdiff_t>(at));
  std::swap(section, early);
  emitFlagged(*plan);
  std::swap(section, early);
}

void Stream::endBehindMeeting(uint32_t mask, llvm::function_ref<bool(const FarRange &)> isReady) {
  mark(Item::EndTurn, 0);
  moveRooms();
  meet(mask, earlyLoads(isReady));
  endWithFlags(true);
}

} // namespace perpend::quoin
