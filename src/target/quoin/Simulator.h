//===- Simulator.h - runs a program, functionally or by cycles --*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_H

#include "target/quoin/Counters.h"
#include "target/quoin/Trap.h"

#include <memory>

namespace perpend::quoin {

/// Why a run ended early. `message` has the numbers involved; `location` is empty if the instruction names none.
struct Trap {
  TrapCode code;
  unsigned core = 0;
  Unit unit = Unit::SEQ;
  uint32_t instruction = 0; ///< index in the core's program
  std::string text;         ///< the instruction in assembly
  std::string location;
  std::string message;

  std::string toString() const;
};

enum class SimulatorMode : uint8_t {
  Functional, ///< units advance in any order that flags allow, drawn from the seed
  Cycle,      ///< events in time, with data
  Time,       ///< events in time, without data and without checks of it; scalar code cannot run
};

struct SimulatorOptions {
  SimulatorMode mode = SimulatorMode::Functional;
  uint64_t seed = 0;
  bool checkRaces = true;
  bool checkUninitialised = true;
  bool isSerial = false;                       ///< units of a core work one at a time; for comparisons
  bool hasNoLlb = false;                       ///< LLB takes the time of DDR, and shares its bandwidth; for comparisons
  std::optional<uint64_t> scalarCallCycles;    ///< in Time, a call of scalar code takes so many, and does nothing
  bool trapNaN = false;                        ///< E_NAN where a matrix or vector result is NaN
  uint64_t maxScalarInstructions = 1ull << 40; ///< of one call
  uint64_t maxInstructions = 1ull << 40;       ///< of all cores
};

/// A device with one program. Bytes that nothing wrote are 0, where they are not found to be read.
class Simulator {
public:
  /// Errors: the program is not legal, or there is no memory for it.
  static llvm::Expected<std::unique_ptr<Simulator>> create(Program program, SimulatorOptions options = {});
  ~Simulator();

  /// Writes bytes of a symbol, from `offset`. Errors: no such symbol, more bytes than it has.
  llvm::Error write(llvm::StringRef symbol, llvm::ArrayRef<uint8_t> bytes, uint64_t offset = 0);
  llvm::Error read(llvm::StringRef symbol, llvm::MutableArrayRef<uint8_t> bytes, uint64_t offset = 0) const;

  /// Runs all cores to their `halt`. May be called again; memories keep their content.
  std::optional<Trap> run();

  uint64_t instructionsRun() const; ///< of the last run, without those of the scalar core
  uint64_t scalarInstructionsRun() const;
  /// Of the last run; in the functional mode they are 0.
  const Counters &counters() const;

  class State;

private:
  explicit Simulator(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace perpend::quoin

#endif
