//===- Functional.cpp - any order that flags allow -------------------------===//

#include "target/quoin/simulator/State.h"

namespace perpend::quoin {
namespace {
/// Numbers of a seed (splitmix64).
class Draws {
public:
  explicit Draws(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t value = state += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
  }

private:
  uint64_t state;
};
} // namespace

std::optional<Trap> Simulator::State::runFunctional() {
  Draws draws(options.seed);
  size_t threads = cores.size() * numUnits;
  auto step = [&](size_t thread) {
    unsigned core = thread / numUnits;
    Unit unit = Unit(thread % numUnits);
    return !isDone(core) && (unit == Unit::SEQ ? stepSequencer(core) : stepUnit(core, unit));
  };
  while (!trap) {
    // One of the threads that can advance: the first from a drawn one on, some steps of it.
    uint64_t draw = draws.next();
    size_t first = draw % threads, tried = 0;
    unsigned steps = 1 + (draw >> 32) % 4;
    while (tried < threads && !step((first + tried) % threads))
      ++tried;
    if (tried == threads) {
      if (llvm::all_of(cores, [](const CoreState &core) { return core.isHalted; }))
        return std::nullopt;
      raiseDeadlock();
      break;
    }
    while (--steps && !trap && step((first + tried) % threads))
      ;
    if (instructionsRun > options.maxInstructions)
      raise(0, Unit::SEQ, cores[0].next, TrapCode::TIMEOUT, "more than " + std::to_string(options.maxInstructions) + " instructions");
  }
  return trap;
}

} // namespace perpend::quoin
