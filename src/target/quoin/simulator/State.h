//===- State.h - a device while it runs -------------------------*- C++ -*-===//
//
// Each core has a sequencer, which issues instructions to the queues of six units. A step of the sequencer issues or
// executes one instruction, a step of a unit executes the first of its queue. Either step is refused while a flag, a
// barrier or a full queue forbids it; which of the possible steps comes next is the scheduler's choice (Functional.cpp,
// Timed.cpp), so steps know nothing of time.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_STATE_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_STATE_H

#include "target/accelerator/scalar/Decode.h"
#include "target/quoin/Simulator.h"
#include "target/quoin/simulator/Execute.h"
#include "target/quoin/simulator/Memory.h"

#include <deque>
#include <functional>
#include <map>

namespace perpend::quoin {
namespace scalar = accelerator::scalar;

using SharedClock = std::shared_ptr<const Clock>;

/// Tokens of one flag or semaphore, each with what its setter knew.
struct Flag {
  std::deque<SharedClock> tokens;
};

/// An instruction in a queue; generators and loop registers were read when it was issued.
struct Queued {
  uint32_t index = 0;
  std::array<uint64_t, numOperands> byte = {};
  bool begins = false;
  llvm::SmallVector<Token, 4> wait, set;
  SharedClock clock; ///< the sequencer's
};

struct Generator {
  struct Term {
    int64_t coefficient;
    uint32_t divisor, modulus;
  };
  std::map<unsigned, Term> terms; ///< by source
};

struct Loop {
  uint64_t value = 0, trips = 0;
};

struct CoreState {
  uint32_t next = 0; ///< index of the sequencer's next instruction
  bool isHalted = false;
  bool isAtBarrier = false, passedBarrier = false;
  std::array<Loop, numLoops> loops;
  std::array<Generator, numGenerators + 1> generators;
  std::array<uint64_t, numSRegs> sregs = {};
  std::array<std::array<std::array<Flag, numFlagIds>, numUnits>, numUnits> flags; ///< by source, destination, id
  std::array<std::deque<Queued>, numUnits> queues;                                ///< not of SEQ
  std::array<Clock, numUnits> clocks;
  SharedClock sequencerClock;

  Flag &flagOf(FlagName flag) { return flags[unsigned(flag.source)][unsigned(flag.destination)][flag.id]; }
  const Flag &flagOf(FlagName flag) const { return flags[unsigned(flag.source)][unsigned(flag.destination)][flag.id]; }
};

class Simulator::State {
public:
  State(Program program, SimulatorOptions options);
  /// Makes the memories. Errors: there is not enough memory.
  llvm::Error allocate();
  std::optional<Trap> run();

  Program program;
  SimulatorOptions options;
  uint64_t instructionsRun = 0, scalarInstructionsRun = 0;
  Counters counters;

  Memory &memoryOf(unsigned core, Space space, unsigned peer = ownCore);
  /// The memory of a symbol.
  Memory &memoryOf(const Symbol &symbol);

  // Steps (Sequencer.cpp, Units.cpp). `step` does nothing and returns false if it is refused; a trap is in `trap`.
  bool stepSequencer(unsigned core);
  bool stepUnit(unsigned core, Unit unit);    ///< start, execute and finish
  Queued startUnit(unsigned core, Unit unit); ///< takes the first of the queue, which can start, and its tokens
  void executeUnit(unsigned core, Unit unit, const Queued &queued);
  void finishUnit(unsigned core, Unit unit, const Queued &queued); ///< sets its flags
  Instruction resolved(unsigned core, const Queued &queued) const;
  bool hasData = true; ///< false: instructions compute nothing, but their accesses are checked
  /// Not null: the value of a register at an instruction of the sequencer (core, index), in place of the register's.
  std::function<uint64_t(unsigned core, uint32_t index)> decide;
  uint64_t scalarCycles = 0; ///< of the last call of scalar code
  bool canIssue(unsigned core) const;
  bool canStart(unsigned core, Unit unit) const;
  bool isDone(unsigned core) const { return cores[core].isHalted; }

  std::vector<CoreState> cores;
  std::optional<Trap> trap;

  const Instruction &instructionAt(unsigned core, uint32_t index) const { return program.cores[core][index]; }
  Thread threadOf(unsigned core, Unit unit) const { return core * numUnits + unsigned(unit); }
  std::string threadText(Thread thread) const;
  void raise(unsigned core, Unit unit, uint32_t index, TrapCode code, std::string message);
  void raiseDeadlock(); ///< Deadlock.cpp
  bool hasTimedOut();   ///< raises if there were too many instructions; true after any trap

private:
  void reset();
  std::optional<Trap> runFunctional(); ///< Functional.cpp
  std::optional<Trap> runTimed();      ///< Timed.cpp

  // Sequencer.cpp
  bool issue(unsigned core, const Instruction &instruction);
  bool control(unsigned core, const Instruction &instruction);
  bool flowControl(unsigned core, const Instruction &instruction);
  bool synchronise(unsigned core, const Instruction &instruction);
  bool halt(unsigned core);
  void raiseLeft(unsigned core, const std::string &name, const Flag &flag);
  bool passBarrier(unsigned core, const Instruction &instruction);
  void postSemaphore(unsigned core, const Instruction &instruction);
  bool waitSemaphore(unsigned core, const Instruction &instruction);
  void mark(unsigned core, const Instruction &instruction);
  uint64_t valueOf(unsigned core, const Operand &operand) const;
  uint64_t resolve(unsigned core, const Operand &operand) const;
  bool allLoops(const CoreState &core, uint8_t mask, bool last) const;
  void learn(unsigned core, const Clock &clock);
  bool queuesAreEmpty(unsigned core) const;
  void fence(unsigned core);

  // Units.cpp
  bool waitsAreMet(unsigned core, Unit unit, const Queued &queued) const;
  void takeTokens(unsigned core, Unit unit, const Queued &queued);
  bool addTokens(unsigned core, FlagName flag, unsigned count, const SharedClock &clock);
  void raiseOverflow(unsigned core, Unit unit, uint32_t index, FlagName flag);
  std::optional<Violation> executeQueued(unsigned core, const Queued &queued);
  std::optional<Violation> executeTensor(unsigned core, const Instruction &instruction, bool begins);
  std::optional<Violation> executeScalar(unsigned core, const Instruction &instruction);
  std::optional<Violation> callScalar(unsigned core, const Instruction &instruction);
  std::optional<Violation> checkAccess(unsigned core, Unit unit, const Access &access);
  std::optional<Violation> checkResults(unsigned core, const Instruction &instruction, llvm::ArrayRef<Access> accesses);

  std::vector<scalar::Decoded> scalarCode;       ///< of program.scalar.image, decoded at the first call
  std::vector<Memory> ddr, llb;                  ///< of each cluster
  std::vector<std::vector<Memory>> coreMemories; ///< of each core: L1, L0A, L0B, L0C, its scalar stack
  struct Barrier {
    uint32_t arrived = 0;
  };
  std::array<Barrier, numBarriers> barriers;
  std::vector<std::array<Flag, numSemaphores>> semaphores; ///< of each cluster
  friend class ScalarBus;
};

} // namespace perpend::quoin

#endif
