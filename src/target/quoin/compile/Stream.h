//===- Stream.h - the instructions of one core, in order --------*- C++ -*-===//
//
// Nests write sections: instructions in the order of a program without units, and the rooms in which they work. When a
// section ends, flags are found that keep what this order means, and units overlap as far as flags let them. Where no
// flags can, a fence waits wherever the unit changes.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_STREAM_H
#define PERPEND_TARGET_QUOIN_COMPILE_STREAM_H

#include "target/quoin/Access.h"
#include "target/quoin/Program.h"
#include "target/quoin/compile/Flags.h"

#include <map>

namespace perpend::quoin {

/// Bytes that an address moves on with each iteration of a loop.
struct Advance {
  unsigned loop;
  int64_t bytes;

  bool operator==(const Advance &) const = default;
};

/// An instruction at the end of a loop's iterations.
struct LoopItem {
  size_t before = 0; ///< the item that closes the loop
  Instruction instruction;
  std::vector<unsigned> trips;   ///< of the loops around, from the outermost
  std::vector<Advance> to, from; ///< of its result and its operand, which lie in DDR or LLB
};

/// Of DDR or LLB.
struct FarRange {
  Space space = Space::DDR;
  uint64_t begin = 0, end = 0;
  bool isWritten = false;
};

class Stream {
public:
  Stream(Program &program, std::vector<Instruction> &instructions) : program(program), instructions(instructions) {}

  /// What the next instructions belong to, for traps.
  void setLocation(llvm::StringRef text) { location = locationIndex(program, text); }

  /// Begins a section; nothing of it is in the program until it ends.
  void begin();
  /// Ends it. `overlaps` false: units wait for one another.
  void end(bool overlaps = true);
  /// Ends it behind a meeting. What it loads at its beginning from ranges that are ready comes before the meeting.
  void endBehindMeeting(uint32_t mask, llvm::function_ref<bool(const FarRange &)> isReady);
  void abandon() { begin(); }
  const Section &current() const { return section; }
  /// Of the section.
  std::vector<FarRange> farRanges() const;

  /// A turn of the section, which items between its begin and end belong to; 0 is the whole section.
  unsigned newTurn() { return section.turns++; }
  void beginTurn(unsigned turn) { mark(Item::BeginTurn, turn); }
  void endTurn(unsigned turn) { mark(Item::EndTurn, turn); }
  /// Whether the whole section, as it is now, has a register for each turn that chooses slots. Without one all turns
  /// have the first slot, which a room that is written ahead of its turn would lose.
  bool countsTurns();
  /// Memory of the core. nullopt: there is not so much.
  std::optional<unsigned> newRoom(Space space, uint64_t bytes, unsigned slots = 1, unsigned turn = 0,
                                  std::optional<unsigned> writeTurn = {});
  /// An address in a room, in the slot of the current turn.
  std::optional<Operand> at(unsigned room, uint64_t byte = 0, llvm::ArrayRef<Advance> advances = {},
                            bool isWritten = false);
  /// An address that advances with loops. nullopt: too many different ones, or backwards.
  std::optional<Operand> operand(Space space, uint64_t byte, llvm::ArrayRef<Advance> advances);

  /// An address in a ring of slots in LLB, of which each turn uses the next one.
  std::optional<Operand> atSlot(const Room &ring, uint64_t byte, llvm::ArrayRef<Advance> advances);

  void add(Instruction instruction);
  /// Within a section: waits until all cores of the mask have come here, and loads before it are done.
  void addMeeting(uint32_t mask);
  /// The two halves of that. A meeting waits for the loads in front of the first note that none has waited for.
  void addNoteOfLoads();
  void addMeetingOfNote(uint32_t mask);
  /// Copies from DDR to LLB.
  void addCopy(uint64_t from, uint64_t to, uint64_t bytes);
  /// The same of rows of whole lines, which lie one behind the other in LLB.
  void addRows(uint64_t from, uint64_t to, uint64_t bytes, uint64_t rows, uint64_t pitch);
  /// Adds to loops that are closed, in the order of the section. False: there are too many different addresses.
  bool insert(llvm::ArrayRef<LoopItem> items);
  /// A loop inside of those that are open: its number, below numLoops.
  unsigned openLoop(uint64_t count);
  void closeLoop();
  unsigned depth() const { return static_cast<unsigned>(open.size()); }

  /// An instruction that may touch everything: it waits for all before it, and all behind it wait.
  void addAlone(Instruction instruction);
  /// Waits until all cores of the mask have come here, and what they read from and wrote to DDR and LLB is done.
  void meet(uint32_t mask);

  /// Sections whose units wait for one another, because no flags can order them.
  unsigned inOrder = 0;

  /// For taking back all that was added since.
  struct State {
    size_t instructions = 0;
    Order order;
    std::array<uint64_t, numSpaces> next = {};
    std::map<std::pair<unsigned, unsigned>, std::array<uint64_t, 3>> terms;
    unsigned inOrder = 0;
  };
  State state() const { return {instructions.size(), order, next, terms, inOrder}; }
  void restore(const State &state);

private:
  struct Generator {
    std::vector<Advance> advances;
    std::optional<unsigned> turn; ///< adds the turn's slot times `slotBytes`
    uint64_t slotBytes = 0;
    unsigned slots = 1;

    bool operator==(const Generator &) const = default;
  };
  /// A range of DDR or LLB, as an operand touches it in all iterations.
  struct FarUse {
    unsigned room;
    Access access;
    uint8_t generator;
    bool isWritten, ownsLines; ///< ownsLines: no two iterations touch the same line of memory
    /// Of rows, planes and iterations of loops: bytes from one to the next, and how many there are.
    llvm::SmallVector<std::pair<uint64_t, uint64_t>, 8> steps = {};
  };
  static bool areApart(const FarUse &one, const FarUse &other);
  void mark(Item::Kind kind, unsigned turn);
  std::optional<uint8_t> generatorOf(Generator wanted);
  void touch(Item &item, const Access &access);
  Item itemOf(Instruction instruction);
  unsigned farRoomOf(const Access &access, uint8_t generator);
  void orderFarUses();
  unsigned commonTurn(unsigned one, unsigned other) const;
  void moveRooms();
  void numberTurns();
  void emit(Instruction instruction);
  void emitControl(Opcode opcode, uint32_t axis, uint64_t value = 0);
  void emitFlag(Opcode opcode, const SectionFlag &flag, unsigned tokens);
  void emitTurns();
  void emitGenerators();
  void emitItems(const FlagPlan &plan);
  std::vector<size_t> earlyLoads(llvm::function_ref<bool(const FarRange &)> isReady) const;
  void emitEarly(llvm::ArrayRef<size_t> loads);
  void emitFlagged(const FlagPlan &plan);
  void meet(uint32_t mask, llvm::ArrayRef<size_t> loads);
  void endWithFlags(bool overlaps);
  void emitCompute(const FlagPlan &plan, size_t at, uint8_t loops);
  void emitInOrder();
  void fence();

  Program &program;
  std::vector<Instruction> &instructions;
  uint32_t location = noLocation;

  Section section;
  std::vector<unsigned> open; ///< trips of open loops
  unsigned mostDepth = 0;
  std::vector<Generator> generators;
  std::vector<FarUse> farUses;
  struct Counter {
    unsigned loop = 0;  ///< the register
    bool isOwn = false; ///< it is no loop's, so that turns count it
  };
  std::vector<std::optional<Counter>> counters; ///< of turns
  std::string problem;                          ///< why only fences can order the section

  Order order;
  std::array<uint64_t, numSpaces> next = {};                              ///< where the next room may begin
  std::map<std::pair<unsigned, unsigned>, std::array<uint64_t, 3>> terms; ///< of generators, by generator and loop
};

} // namespace perpend::quoin

#endif
