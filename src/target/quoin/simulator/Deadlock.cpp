//===- Deadlock.cpp - who waits for whom -----------------------------------===//

#include "target/quoin/simulator/State.h"

namespace perpend::quoin {
namespace {
/// Why a thread cannot advance, and the thread for which it waits.
struct Wait {
  std::string reason;
  Thread next = noThread;
};

class Explanation {
public:
  explicit Explanation(const Simulator::State &state) : state(state) {}

  Wait waitOf(Thread thread) const {
    unsigned core = thread / numUnits;
    Unit unit = Unit(thread % numUnits);
    return unit == Unit::SEQ ? sequencerWait(core) : unitWait(core, unit);
  }

private:
  Wait unitWait(unsigned core, Unit unit) const {
    const CoreState &at = state.cores[core];
    const std::deque<Queued> &queue = at.queues[unsigned(unit)];
    if (queue.empty())
      return {"has nothing to do", state.threadOf(core, Unit::SEQ)};
    const Instruction &first = state.instructionAt(core, queue.front().index);
    std::string where = "waits at instruction " + std::to_string(queue.front().index) + " for tokens of ";
    if (FlagName flag = FlagName::ofAxis(first.axis); first.opcode == Opcode::waitf)
      return {where + flag.text(), state.threadOf(core, flag.source)};
    for (const Token &token : queue.front().wait)
      if (at.flags[unsigned(token.peer)][unsigned(unit)][token.id].tokens.empty())
        return {where + FlagName{token.peer, unit, token.id}.text(), state.threadOf(core, token.peer)};
    return {"waits for several tokens of one flag", state.threadOf(core, queue.front().wait.front().peer)};
  }

  Wait sequencerWait(unsigned core) const {
    const CoreState &at = state.cores[core];
    if (at.isHalted)
      return {"has halted", noThread};
    const Instruction &instruction = state.instructionAt(core, at.next);
    std::string where = " at instruction " + std::to_string(at.next);
    FlagName flag = FlagName::ofAxis(instruction.axis);
    if (instruction.queue() != Unit::SEQ)
      return {"waits" + where + " for room in the queue of " + nameOf(instruction.queue()).str(), state.threadOf(core, instruction.queue())};
    switch (instruction.opcode) {
    case Opcode::waitf:
      return {"waits" + where + " for tokens of " + flag.text(), state.threadOf(core, flag.source)};
    case Opcode::bar:
      return {"waits" + where + " at barrier " + std::to_string(instruction.axis), missingAtBarrier(instruction)};
    case Opcode::semw:
      return {"waits" + where + " for semaphore " + std::to_string(instruction.axis), otherCore(core)};
    case Opcode::halt:
    case Opcode::fence:
      return {"waits" + where + " for its queues", busyUnit(core)};
    default:
      return {"can advance", noThread};
    }
  }

  Thread missingAtBarrier(const Instruction &instruction) const {
    for (unsigned core = 0; core < state.cores.size(); ++core) {
      const CoreState &at = state.cores[core];
      bool isThere = !at.isHalted && at.isAtBarrier && state.instructionAt(core, at.next).axis == instruction.axis;
      if (instruction.mask >> core & 1 && !isThere)
        return state.threadOf(core, Unit::SEQ);
    }
    return noThread;
  }
  Thread otherCore(unsigned core) const {
    for (unsigned other = 0; other < state.cores.size(); ++other)
      if (other != core && !state.cores[other].isHalted)
        return state.threadOf(other, Unit::SEQ);
    return noThread;
  }
  Thread busyUnit(unsigned core) const {
    for (unsigned unit = 1; unit < numUnits; ++unit)
      if (!state.cores[core].queues[unit].empty())
        return state.threadOf(core, Unit(unit));
    return noThread;
  }

  const Simulator::State &state;
};
} // namespace

void Simulator::State::raiseDeadlock() {
  Explanation explanation(*this);
  unsigned first = 0;
  while (cores[first].isHalted)
    ++first;
  std::vector<Thread> path;
  Thread thread = threadOf(first, Unit::SEQ);
  std::string text = "no unit can advance";
  while (thread != noThread && llvm::find(path, thread) == path.end()) {
    path.push_back(thread);
    Wait wait = explanation.waitOf(thread);
    text += "\n    " + threadText(thread) + " " + wait.reason;
    thread = wait.next;
  }
  text += thread == noThread ? "\n    which nothing will set" : "\n    and so on from " + threadText(thread);
  raise(first, Unit::SEQ, cores[first].next, TrapCode::DEADLOCK, std::move(text));
}

} // namespace perpend::quoin
