//===- Stream.h - the instructions of one core, in order --------*- C++ -*-===//
//
// Instructions of one unit run in order. Where the unit changes, a fence waits for what was issued before, so that the
// whole stream runs in the order in which it is written.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_STREAM_H
#define PERPEND_TARGET_QUOIN_COMPILE_STREAM_H

#include "target/quoin/Program.h"

namespace perpend::quoin {

/// Bytes that an address moves on with each iteration of a loop.
struct Advance {
  unsigned loop;
  int64_t bytes;
};

class Stream {
public:
  Stream(Program &program, std::vector<Instruction> &instructions) : program(program), instructions(instructions) {}

  /// What the next instructions belong to, for traps.
  void setLocation(llvm::StringRef text) { location = locationIndex(program, text); }
  void add(Instruction instruction);

  /// Waits until all cores of the mask have come here, and what they were given is done.
  void meet(uint32_t mask);

  /// A loop inside of those that are open: its number, below numLoops.
  unsigned openLoop(uint64_t count);
  void closeLoop();
  unsigned depth() const { return static_cast<unsigned>(open.size()); }

  /// An operand that advances with loops, which are opened behind this. nullopt: too many of them, or backwards.
  std::optional<Operand> operand(Space space, uint64_t byte, llvm::ArrayRef<Advance> advances);
  /// All address generators are free again.
  void freeGenerators() { generators.clear(); }

  size_t size() const { return instructions.size(); }
  /// Takes back all instructions from this number on, and the loops that they opened.
  void abandon(size_t count);

private:
  void control(Instruction instruction);
  void fence();

  Program &program;
  std::vector<Instruction> &instructions;
  std::vector<size_t> open; ///< instructions that open loops
  std::vector<std::vector<Advance>> generators;
  std::optional<Unit> unit; ///< of the last instruction; nullopt: several have run, or none
  uint32_t location = noLocation;
};

} // namespace perpend::quoin

#endif
