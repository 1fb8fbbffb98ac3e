//===- Stream.cpp - the instructions of one core, in order ----------------===//
#include "target/quoin/compile/Stream.h"
#include "target/quoin/compile/Shape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace perpend::quoin {

constexpr uint64_t lineBytes = 64;
/// More cells of earlier sections make flags slow to find.
constexpr size_t mostPast = 64;

static uint64_t alignmentOf(Space space) {
  return space == Space::L0C ? tileBytes : space == Space::L1 ? lineBytes : fractalBytes;
}

void Stream::begin() {
  section = {};
  open.clear();
  mostDepth = 0;
  generators.clear();
  farUses.clear();
  counters.clear();
  problem.clear();
  mark(Item::BeginTurn, 0);
}

void Stream::mark(Item::Kind kind, unsigned turn) {
  Item &item = section.items.emplace_back();
  item.kind = kind;
  item.turn = turn;
}

std::optional<unsigned> Stream::newRoom(Space space, uint64_t bytes, unsigned slots, unsigned turn,
                                        std::optional<unsigned> writeTurn) {
  Room room{space, 0, llvm::alignTo(std::max<uint64_t>(bytes, 1), alignmentOf(space)), slots, turn, writeTurn};
  for (const Room &other : section.rooms)
    if (other.space == space)
      room.byte = std::max(room.byte, other.end());
  if (room.end() > program.config.bytesOf(space))
    return std::nullopt;
  section.rooms.push_back(room);
  return static_cast<unsigned>(section.rooms.size() - 1);
}

std::optional<uint8_t> Stream::generatorOf(Generator wanted) {
  llvm::erase_if(wanted.advances, [](const Advance &advance) { return advance.bytes == 0; });
  if (wanted.advances.empty() && !wanted.turn)
    return 0;
  auto known = llvm::find(generators, wanted);
  if (known == generators.end()) {
    if (generators.size() == numGenerators || llvm::any_of(wanted.advances, [](auto &each) { return each.bytes < 0; }))
      return std::nullopt;
    known = generators.insert(generators.end(), wanted);
  }
  return static_cast<uint8_t>(known - generators.begin() + 1);
}

std::optional<Operand> Stream::operand(Space space, uint64_t byte, llvm::ArrayRef<Advance> advances) {
  std::optional<uint8_t> generator = generatorOf({advances.vec(), std::nullopt, 0, 1});
  return generator ? std::optional(Operand{space, *generator, ownCore, byte}) : std::nullopt;
}

std::optional<Operand> Stream::at(unsigned number, uint64_t byte, llvm::ArrayRef<Advance> advances, bool isWritten) {
  const Room &room = section.rooms[number];
  Generator wanted{advances.vec(), std::nullopt, 0, 1};
  if (room.slots > 1) {
    wanted.turn = room.turnOf(isWritten);
    wanted.slotBytes = room.bytes;
    wanted.slots = room.slots;
  }
  std::optional<uint8_t> generator = generatorOf(std::move(wanted));
  return generator ? std::optional(Operand{room.space, *generator, ownCore, room.byte + byte}) : std::nullopt;
}

std::optional<Operand> Stream::atSlot(const Room &ring, uint64_t byte, llvm::ArrayRef<Advance> advances) {
  std::optional<uint8_t> generator = generatorOf({advances.vec(), ring.turn, ring.bytes, ring.slots});
  return generator ? std::optional(Operand{ring.space, *generator, ownCore, ring.byte + byte}) : std::nullopt;
}

/// Rows that follow on one another, or begin in lines of their own, in each iteration.
static bool ownsLines(const Access &access, llvm::ArrayRef<Advance> advances) {
  uint64_t dense = access.count[0] * access.elementBytes;
  for (unsigned dim : {1u, 2u}) {
    if (access.count[dim] > 1 && access.pitchBytes[dim] != dense && access.pitchBytes[dim] % lineBytes)
      return false;
    dense *= access.count[dim];
  }
  return access.byte % lineBytes == 0 &&
         llvm::all_of(advances, [](const Advance &each) { return each.bytes % int64_t{lineBytes} == 0; });
}

unsigned Stream::farRoomOf(const Access &access, uint8_t generator) {
  llvm::ArrayRef<Advance> advances;
  if (generator)
    advances = generators[generator - 1].advances;
  uint64_t end = access.byte + access.sizeBytes();
  if (generator && generators[generator - 1].turn)
    end += generators[generator - 1].slotBytes * (generators[generator - 1].slots - 1);
  for (const Advance &advance : advances)
    if (advance.loop < open.size())
      end += static_cast<uint64_t>(advance.bytes) * (open[advance.loop] - 1);
  llvm::SmallVector<std::pair<uint64_t, uint64_t>, 8> steps;
  for (unsigned dim : {1u, 2u})
    if (access.count[dim] > 1)
      steps.emplace_back(access.pitchBytes[dim], access.count[dim]);
  for (const Advance &advance : advances)
    if (advance.loop < open.size() && open[advance.loop] > 1)
      steps.emplace_back(advance.bytes, open[advance.loop]);
  for (const FarUse &use : farUses)
    if (use.generator == generator && use.isWritten == access.isWritten && use.access.byte == access.byte &&
        use.access.space == access.space && use.access.count == access.count &&
        use.access.pitchBytes == access.pitchBytes && use.steps == steps &&
        section.rooms[use.room].byte + section.rooms[use.room].bytes == llvm::alignTo(end, lineBytes))
      return use.room;
  const uint64_t begin = access.byte / lineBytes * lineBytes;
  const auto room = static_cast<unsigned>(section.rooms.size());
  section.rooms.push_back({access.space, begin, llvm::alignTo(end, lineBytes) - begin, 1, 0});
  farUses.push_back({room, access, generator, access.isWritten, ownsLines(access, advances), std::move(steps)});
  return room;
}

void Stream::touch(Item &item, const Access &access) {
  const uint8_t generator = item.instruction.operands[access.operand].generator;
  if (access.space == Space::DDR || access.space == Space::LLB) {
    item.touches.push_back({farRoomOf(access, generator), access.isRead, access.isWritten});
    return;
  }
  if (generator)
    for (const Advance &advance : generators[generator - 1].advances)
      item.step = std::gcd(item.step, static_cast<unsigned>(advance.bytes));
  for (auto [number, room] : llvm::enumerate(section.rooms))
    if (room.space == access.space && room.byte <= access.byte && access.byte < room.end()) {
      item.touches.push_back({static_cast<unsigned>(number), access.isRead, access.isWritten});
      return;
    }
  problem = "an operand outside of all rooms";
}

Item Stream::itemOf(Instruction instruction) {
  Item item;
  instruction.location = location;
  item.instruction = inBestShape(std::move(instruction), program.config);
  for (const Access &access : accessesOf(item.instruction))
    touch(item, access);
  return item;
}

void Stream::add(Instruction instruction) { section.items.push_back(itemOf(std::move(instruction))); }

bool Stream::insert(llvm::ArrayRef<LoopItem> items) {
  std::vector<Instruction> instructions;
  for (const LoopItem &each : items) {
    const std::optional<uint8_t> to = generatorOf({each.to, std::nullopt, 0, 1}),
                                 from = generatorOf({each.from, std::nullopt, 0, 1});
    if (!to || !from)
      return false;
    Instruction &instruction = instructions.emplace_back(each.instruction);
    instruction.dst().generator = *to;
    instruction.src(0).generator = *from;
  }
  for (auto [each, instruction] : llvm::reverse(llvm::zip_equal(items, instructions))) {
    open = each.trips;
    section.items.insert(section.items.begin() + static_cast<ptrdiff_t>(each.before), itemOf(std::move(instruction)));
  }
  open.clear();
  return true;
}

void Stream::addCopy(uint64_t from, uint64_t to, uint64_t bytes) {
  const DType type = bytes % 4 ? DType::I8 : DType::I32;
  const uint64_t most = 65535 / lineBytes * lineBytes * sizeOf(type);
  for (uint64_t at = 0; at < bytes; at += most) {
    Instruction copy;
    copy.opcode = Opcode::sd_ld;
    copy.dstType = copy.src0Type = type;
    copy.extent[0] = static_cast<uint32_t>(std::min(most, bytes - at) / sizeOf(type));
    copy.dst() = {Space::LLB, 0, ownCore, to + at};
    copy.src(0) = {Space::DDR, 0, ownCore, from + at};
    add(std::move(copy));
  }
}

void Stream::addRows(uint64_t from, uint64_t to, uint64_t bytes, uint64_t rows, uint64_t pitch) {
  constexpr uint64_t most = 4095;
  for (uint64_t at = 0; at < rows; at += most) {
    Instruction copy;
    copy.opcode = Opcode::sd_2d;
    copy.dstType = copy.src0Type = DType::I32;
    copy.extent = {static_cast<uint32_t>(bytes / 4), static_cast<uint32_t>(std::min(most, rows - at)), 0};
    copy.dst() = {Space::LLB, 0, ownCore, to + at * bytes};
    copy.src(0) = {Space::DDR, 0, ownCore, from + at * pitch};
    copy.stride1[Dst] = static_cast<uint32_t>(bytes / 4);
    copy.stride1[Src0] = static_cast<uint32_t>(pitch / 4);
    add(std::move(copy));
  }
}

unsigned Stream::openLoop(uint64_t count) {
  Item &item = section.items.emplace_back();
  item.kind = Item::OpenLoop;
  item.instruction.opcode = Opcode::loop;
  item.instruction.axis = depth();
  item.instruction.src(0).byte = count;
  open.push_back(static_cast<unsigned>(count));
  mostDepth = std::max(mostDepth, depth());
  return item.instruction.axis;
}

void Stream::closeLoop() {
  open.pop_back();
  Item &item = section.items.emplace_back();
  item.kind = Item::CloseLoop;
  item.instruction.opcode = Opcode::endl;
  item.instruction.axis = depth();
}

std::vector<FarRange> Stream::farRanges() const {
  std::vector<FarRange> ranges;
  for (const FarUse &use : farUses) {
    const Room &room = section.rooms[use.room];
    ranges.push_back({room.space, room.byte, room.end(), use.isWritten});
  }
  return ranges;
}

/// The innermost turn in which both rooms are used.
unsigned Stream::commonTurn(unsigned one, unsigned other) const {
  llvm::SmallVector<unsigned, 8> turns, common;
  bool isFirst = true;
  for (const Item &item : section.items) {
    if (item.kind == Item::BeginTurn)
      turns.push_back(item.turn);
    if (item.kind == Item::EndTurn)
      turns.pop_back();
    if (llvm::none_of(item.touches, [&](const Touch &touch) { return touch.room == one || touch.room == other; }))
      continue;
    if (isFirst)
      common = turns;
    while (common.size() > turns.size() || common.back() != turns[common.size() - 1])
      common.pop_back();
    isFirst = false;
  }
  return common.empty() ? 0 : common.back();
}

static bool isSame(const Access &one, const Access &other) {
  return one.byte == other.byte && one.count == other.count && one.pitchBytes == other.pitchBytes;
}

/// Whether two uses touch different lines of each period of memory, such as different columns of one matrix.
bool Stream::areApart(const FarUse &one, const FarUse &other) {
  /// The lines of each period that a use touches. nullopt: it goes beyond the end of one.
  auto linesOf = [](const FarUse &use, uint64_t period) -> std::optional<std::pair<uint64_t, uint64_t>> {
    const uint64_t begin = use.access.byte % period;
    uint64_t end = begin + (use.access.count[0] - 1) * use.access.pitchBytes[0] + use.access.elementBytes;
    for (auto [bytes, count] : use.steps)
      end += bytes % period ? bytes * (count - 1) : 0;
    if (end > period)
      return std::nullopt;
    return std::pair(begin / lineBytes, llvm::divideCeil(end, lineBytes));
  };
  return llvm::any_of(one.steps, [&](const auto &step) {
    const uint64_t period = step.first;
    if (period == 0 || period % lineBytes)
      return false;
    const auto lines = linesOf(one, period), others = linesOf(other, period);
    return lines && others && (lines->second <= others->first || others->second <= lines->first);
  });
}

/// A range that is written and one that it overlaps are one room, unless they are the same elements in each iteration,
/// or never the same ones.
void Stream::orderFarUses() {
  for (const FarUse &written : farUses)
    for (FarUse &other : farUses) {
      Room &room = section.rooms[written.room];
      const Room another = section.rooms[other.room];
      if (!written.isWritten || written.room == other.room || room.space != another.space ||
          room.end() <= another.byte || another.end() <= room.byte)
        continue;
      if (written.ownsLines && written.generator == other.generator && isSame(written.access, other.access))
        continue;
      auto hasSlots = [&](const FarUse &use) { return use.generator && generators[use.generator - 1].turn; };
      if (!hasSlots(written) && !hasSlots(other) && areApart(written, other))
        continue;
      room.turn = commonTurn(written.room, other.room);
      const uint64_t end = std::max(room.end(), another.end());
      room.byte = std::min(room.byte, another.byte);
      room.bytes = end - room.byte;
      const unsigned joined = other.room;
      for (Item &item : section.items)
        for (Touch &touch : item.touches)
          if (touch.room == joined)
            touch.room = written.room;
      for (FarUse &use : farUses)
        if (use.room == joined)
          use.room = written.room;
    }
}

/// Behind the rooms of the section before if there is space, so that the two need not wait for one another.
void Stream::moveRooms() {
  std::array<uint64_t, numSpaces> bytes = {}, base = {};
  for (const Room &room : section.rooms)
    if (!room.isFar())
      bytes[unsigned(room.space)] = std::max(bytes[unsigned(room.space)], room.end());
  for (unsigned space = 0; space < numSpaces; ++space) {
    if (bytes[space] == 0)
      continue;
    base[space] = next[space] + bytes[space] <= program.config.bytesOf(Space(space)) ? next[space] : 0;
    next[space] = base[space] + bytes[space];
  }
  for (Room &room : section.rooms)
    if (!room.isFar())
      room.byte += base[unsigned(room.space)];
  for (Item &item : section.items)
    if (item.kind == Item::Compute)
      for (Operand &operand : item.instruction.operands)
        operand.byte += base[unsigned(operand.space)];
}

/// The register of the loop around the turn, if that goes on with each turn modulo the slots; otherwise one of its own.
void Stream::numberTurns() {
  struct Place {
    unsigned count = 0;
    llvm::SmallVector<unsigned, 8> loops; ///< iterations of loops around it
  };
  std::vector<Place> places(section.turns);
  llvm::SmallVector<unsigned, 8> loops;
  for (const Item &item : section.items) {
    if (item.kind == Item::OpenLoop)
      loops.push_back(static_cast<unsigned>(item.instruction.src(0).byte));
    if (item.kind == Item::CloseLoop)
      loops.pop_back();
    if (item.kind == Item::BeginTurn) {
      ++places[item.turn].count;
      places[item.turn].loops = loops;
    }
  }
  counters.assign(section.turns, std::nullopt);
  unsigned free = numLoops;
  for (const Generator &generator : generators) {
    if (!generator.turn || counters[*generator.turn])
      continue;
    const Place &place = places[*generator.turn];
    if (place.count == 1 && !place.loops.empty() &&
        (place.loops.size() == 1 || place.loops.back() % generator.slots == 0))
      counters[*generator.turn] = Counter{static_cast<unsigned>(place.loops.size() - 1), false};
    else if (free > mostDepth)
      counters[*generator.turn] = Counter{--free, true};
    else
      problem = "more turns than there are loop registers";
  }
}

bool Stream::countsTurns() {
  numberTurns();
  return llvm::all_of(generators, [&](const Generator &each) { return !each.turn || counters[*each.turn]; });
}

void Stream::emit(Instruction instruction) {
  if (instruction.location == noLocation)
    instruction.location = location;
  instructions.push_back(std::move(instruction));
}

void Stream::emitControl(Opcode opcode, uint32_t axis, uint64_t value) {
  Instruction control;
  control.opcode = opcode;
  control.axis = axis;
  control.src(0).byte = value;
  emit(std::move(control));
}

void Stream::emitFlag(Opcode opcode, const SectionFlag &flag, unsigned tokens) {
  Instruction control;
  control.opcode = opcode;
  control.axis = FlagName{flag.source, flag.destination, flag.id}.axis();
  control.extent[0] = tokens;
  emit(std::move(control));
}

void Stream::fence() {
  emitControl(Opcode::fence, 0);
  order.publishAll();
}

/// Only terms that differ from those of an earlier section.
void Stream::emitGenerators() {
  for (auto [number, generator] : llvm::enumerate(generators)) {
    std::array<std::array<uint64_t, 3>, numLoops> wanted = {}; // factor, modulus, divisor
    for (const Advance &advance : generator.advances)
      wanted[advance.loop] = {static_cast<uint64_t>(advance.bytes), 0, 0};
    if (generator.turn && counters[*generator.turn])
      wanted[counters[*generator.turn]->loop] = {generator.slotBytes, generator.slots, 0};
    for (unsigned loop = 0; loop < numLoops; ++loop) {
      auto &known = terms[{static_cast<unsigned>(number + 1), loop}];
      if (known == wanted[loop])
        continue;
      known = wanted[loop];
      Instruction term;
      term.opcode = Opcode::setag;
      term.axis = static_cast<uint32_t>(number + 1);
      term.extent = {loop, static_cast<uint32_t>(known[1]), static_cast<uint32_t>(known[2])};
      term.src(0).byte = known[0];
      emit(std::move(term));
    }
  }
}

void Stream::emitTurns() {
  for (const std::optional<Counter> &counter : counters)
    if (counter && counter->isOwn)
      emitControl(Opcode::setl, counter->loop, 0);
}

static bool hasRoom(llvm::ArrayRef<Token> tokens) { return tokens.size() < 4; }

/// Flags are on the instruction as far as it has space for them.
void Stream::emitCompute(const FlagPlan &plan, size_t at, uint8_t loops) {
  Instruction instruction = section.items[at].instruction;
  for (unsigned number : plan.before[at]) {
    const SectionFlag &flag = plan.flags[number];
    const bool isConditional = flag.isOnce && loops;
    if (!hasRoom(instruction.wait)) {
      emitFlag(Opcode::waitf, flag, 1);
      continue;
    }
    instruction.wait.push_back({flag.source, flag.id, isConditional});
    if (isConditional)
      instruction.loopMask = loops;
  }
  llvm::SmallVector<unsigned, 2> behind;
  for (unsigned number : plan.after[at])
    if (hasRoom(instruction.set))
      instruction.set.push_back({plan.flags[number].destination, plan.flags[number].id, false});
    else
      behind.push_back(number);
  emit(std::move(instruction));
  for (unsigned number : behind)
    emitFlag(Opcode::setf, plan.flags[number], 1);
}

void Stream::emitItems(const FlagPlan &plan) {
  const SectionFlag loaded{Unit::LD, Unit::SEQ, 0, false, numFlagIds - 1};
  std::vector<size_t> loops;
  for (auto [at, item] : llvm::enumerate(section.items)) {
    if (item.kind == Item::Compute) {
      emitCompute(plan, at, static_cast<uint8_t>((1u << loops.size()) - 1));
      continue;
    }
    if (item.kind == Item::Loaded)
      emitFlag(Opcode::setf, loaded, 1);
    if (item.kind == Item::Meet) {
      emitFlag(Opcode::waitf, loaded, 1);
      emit(item.instruction);
    }
    if (item.kind == Item::EndTurn && counters[item.turn] && counters[item.turn]->isOwn)
      emitControl(Opcode::addl, counters[item.turn]->loop, 1);
    if (item.kind == Item::OpenLoop) {
      for (unsigned number : plan.before[at])
        emitFlag(Opcode::waitf, plan.flags[number], 1);
      loops.push_back(instructions.size());
      emit(item.instruction);
    }
    if (item.kind == Item::CloseLoop) {
      instructions[loops.back()].dst().byte = instructions.size();
      Instruction end = item.instruction;
      end.dst().byte = loops.back();
      emit(std::move(end));
      loops.pop_back();
      for (unsigned number : plan.after[at])
        emitFlag(Opcode::setf, plan.flags[number], 1);
    }
  }
}

/// A fence wherever the unit changes.
void Stream::emitInOrder() {
  Section flagless = section;
  FlagPlan none;
  none.before.resize(section.items.size());
  none.after.resize(section.items.size());
  std::vector<Item> items;
  std::optional<Unit> unit;
  for (Item &item : flagless.items) {
    if (item.kind == Item::Compute && unit != item.instruction.unit()) {
      Item &fence = items.emplace_back();
      fence.instruction.opcode = Opcode::fence;
      unit = item.instruction.unit();
    }
    if (item.kind == Item::OpenLoop || item.kind == Item::CloseLoop || item.kind == Item::Meet)
      unit.reset();
    items.push_back(std::move(item));
  }
  none.before.resize(items.size());
  none.after.resize(items.size());
  section.items = std::move(items);
  emitItems(none);
  fence();
  ++inOrder;
}

void Stream::end(bool overlaps) {
  mark(Item::EndTurn, 0);
  moveRooms();
  endWithFlags(overlaps);
}

void Stream::endWithFlags(bool overlaps) {
  orderFarUses();
  numberTurns();
  emitGenerators();
  emitTurns();
  if (order.past.size() > mostPast)
    order.joinNeighbours();
  if (order.past.size() > mostPast)
    fence();
  std::optional<FlagPlan> plan;
  if (overlaps && problem.empty())
    plan = planFlags(section, order);
  if (!plan) {
    emitInOrder();
    return begin();
  }
  emitFlagged(*plan);
  begin();
}

void Stream::emitFlagged(const FlagPlan &plan) {
  for (const SectionFlag &flag : plan.flags)
    if (const unsigned tokens = flag.isOnce ? 1 : flag.credit)
      emitFlag(Opcode::setf, flag, tokens);
  emitItems(plan);
  for (const SectionFlag &flag : plan.flags)
    if (flag.credit)
      emitFlag(Opcode::waitf, flag, flag.credit);
}

void Stream::addAlone(Instruction instruction) {
  fence();
  instruction.location = location;
  instructions.push_back(std::move(instruction));
  fence();
}

void Stream::restore(const State &state) {
  instructions.resize(state.instructions);
  order = state.order;
  next = state.next;
  terms = state.terms;
  inOrder = state.inOrder;
  begin();
}

} // namespace perpend::quoin
