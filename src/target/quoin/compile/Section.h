//===- Section.h - instructions before their flags are known ----*- C++ -*-===//
//
// A section is a stretch of one core's program in program order, with loops. Its instructions work in rooms: memory of
// the core, or ranges of DDR and LLB. A turn is one use of rooms, such as an iteration over tiles: what is written to a
// room in a turn is read in the same turn, and the next turn uses the room's next slot.
// What is loaded one turn ahead of its use has a turn of its own for the load.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_SECTION_H
#define PERPEND_TARGET_QUOIN_COMPILE_SECTION_H

#include "target/quoin/Instruction.h"

namespace perpend::quoin {

struct Room {
  Space space = Space::L1;
  uint64_t byte = 0, bytes = 0; ///< of the first slot; the next ones are behind it
  unsigned slots = 1;
  unsigned turn = 0;
  std::optional<unsigned> writeTurn = {}; ///< the turn in which it is written, if that runs ahead of `turn`

  unsigned turnOf(bool isWritten) const { return isWritten ? writeTurn.value_or(turn) : turn; }
  bool isFar() const { return space == Space::DDR || space == Space::LLB; }
  uint64_t end() const { return byte + bytes * slots; }
};

struct Touch {
  unsigned room = 0;
  bool isRead = false, isWritten = false;
};

struct Item {
  enum Kind : uint8_t { Compute, OpenLoop, CloseLoop, BeginTurn, EndTurn, Loaded, Meet } kind = Compute;
  Instruction instruction; ///< not of turns; of a meeting, the barrier
  unsigned turn = 0;       ///< of BeginTurn and EndTurn
  llvm::SmallVector<Touch, 4> touches;
  unsigned step = 0; ///< loops move addresses in the core by multiples of so many bytes; 0: not at all
};

struct Section {
  std::vector<Item> items;
  std::vector<Room> rooms;
  unsigned turns = 1; ///< turn 0 is the whole section
};

} // namespace perpend::quoin

#endif
