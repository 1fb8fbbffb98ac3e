//===- Sequencer.cpp - issues instructions and executes control ------------===//

#include "target/quoin/simulator/State.h"

namespace perpend::quoin {
namespace {
constexpr unsigned addressBits = 41;

int64_t signedNumber(const Operand &operand) { return int64_t(operand.byte << (64 - addressBits)) >> (64 - addressBits); }

} // namespace

uint64_t Simulator::State::valueOf(unsigned core, const Operand &operand) const {
  if (operand.space != Space::SReg)
    return uint64_t(signedNumber(operand));
  return decide ? decide(core, cores[core].next) : cores[core].sregs[operand.byte];
}

uint64_t Simulator::State::resolve(unsigned core, const Operand &operand) const {
  if (operand.generator == 0)
    return operand.byte;
  const CoreState &state = cores[core];
  uint64_t address = operand.byte;
  for (const auto &[source, term] : state.generators[operand.generator].terms) {
    uint64_t value = source < numLoops ? state.loops[source].value : state.sregs[source - 16];
    value /= term.divisor;
    if (term.modulus)
      value %= term.modulus;
    address += value * uint64_t(term.coefficient);
  }
  return address & ((1ull << addressBits) - 1);
}

bool Simulator::State::allLoops(const CoreState &core, uint8_t mask, bool last) const {
  for (unsigned level = 0; level < numLoops; ++level) {
    const Loop &loop = core.loops[level];
    if (mask >> level & 1 && (last ? loop.value + 1 != loop.trips : loop.value != 0))
      return false;
  }
  return true;
}

void Simulator::State::learn(unsigned core, const Clock &clock) {
  auto joined = std::make_shared<Clock>(*cores[core].sequencerClock);
  join(*joined, clock);
  cores[core].sequencerClock = std::move(joined);
}

bool Simulator::State::queuesAreEmpty(unsigned core) const {
  return llvm::all_of(cores[core].queues, [](const std::deque<Queued> &queue) { return queue.empty(); });
}

/// The sequencer knows all that the units did.
void Simulator::State::fence(unsigned core) {
  for (unsigned unit = 1; unit < numUnits; ++unit) {
    learn(core, cores[core].clocks[unit]);
    ++cores[core].clocks[unit][threadOf(core, Unit(unit))];
  }
}

bool Simulator::State::canIssue(unsigned core) const {
  const CoreState &state = cores[core];
  if (state.isHalted)
    return false;
  const Instruction &instruction = instructionAt(core, state.next);
  if (instruction.queue() != Unit::SEQ)
    return state.queues[unsigned(instruction.queue())].size() < program.config.queueDepth;
  switch (instruction.opcode) {
  case Opcode::halt:
  case Opcode::fence:
    return queuesAreEmpty(core);
  case Opcode::waitf:
    return state.flagOf(FlagName::ofAxis(instruction.axis)).tokens.size() >= instruction.extent[0];
  case Opcode::bar:
    return !state.isAtBarrier || state.passedBarrier;
  case Opcode::semw:
    return semaphores[program.config.clusterOf(core)][instruction.axis].tokens.size() >= instruction.extent[0];
  default:
    return true;
  }
}

bool Simulator::State::stepSequencer(unsigned core) {
  if (!canIssue(core))
    return false;
  CoreState &state = cores[core];
  const Instruction &instruction = instructionAt(core, state.next);
  uint32_t index = state.next;
  bool advanced = instruction.queue() == Unit::SEQ ? control(core, instruction) : issue(core, instruction);
  if (advanced && !state.isHalted && state.next >= program.cores[core].size())
    raise(core, Unit::SEQ, index, TrapCode::ILLEGAL, "the program ends without halt");
  return true;
}

bool Simulator::State::issue(unsigned core, const Instruction &instruction) {
  CoreState &state = cores[core];
  Queued queued;
  queued.index = state.next++;
  for (unsigned operand = 0; operand < numOperands; ++operand)
    queued.byte[operand] = resolve(core, instruction.operands[operand]);
  bool isFirst = allLoops(state, instruction.loopMask, false), isLast = allLoops(state, instruction.loopMask, true);
  queued.begins = instruction.zero && isFirst;
  for (const Token &token : instruction.wait)
    if (!token.isConditional || isFirst)
      queued.wait.push_back(token);
  for (const Token &token : instruction.set)
    if (!token.isConditional || isLast)
      queued.set.push_back(token);
  queued.clock = state.sequencerClock;
  state.queues[unsigned(instruction.queue())].push_back(std::move(queued));
  return true;
}

bool Simulator::State::control(unsigned core, const Instruction &instruction) {
  ++instructionsRun;
  switch (instruction.opcode) {
  case Opcode::nop:
    ++cores[core].next;
    return true;
  case Opcode::halt:
    return halt(core);
  case Opcode::trap:
    raise(core, Unit::SEQ, cores[core].next, TrapCode::USER, "code " + std::to_string(instruction.axis));
    return false;
  case Opcode::mark:
    mark(core, instruction);
    return true;
  case Opcode::setf:
  case Opcode::waitf:
  case Opcode::fence:
  case Opcode::bar:
  case Opcode::semp:
  case Opcode::semw:
    return synchronise(core, instruction);
  default:
    return flowControl(core, instruction);
  }
}

bool Simulator::State::flowControl(unsigned core, const Instruction &instruction) {
  CoreState &state = cores[core];
  uint64_t value = valueOf(core, instruction.src(0));
  uint32_t target = instruction.dst().byte;
  Loop &loop = state.loops[instruction.axis % numLoops];
  ++state.next;
  switch (instruction.opcode) {
  case Opcode::loop:
    loop = {0, value};
    if (value == 0)
      state.next = target + 1;
    return true;
  case Opcode::endl:
    if (++loop.value < loop.trips)
      state.next = target + 1;
    else
      loop = {};
    return true;
  case Opcode::setl:
    loop.value = value;
    return true;
  case Opcode::addl:
    loop.value += value;
    return true;
  case Opcode::setag: {
    auto &terms = state.generators[instruction.axis].terms;
    terms.erase(instruction.extent[0]);
    if (value)
      terms[instruction.extent[0]] = {int64_t(value), std::max(1u, instruction.extent[2]), instruction.extent[1]};
    return true;
  }
  default: // brz, brnz
    if ((value == 0) == (instruction.opcode == Opcode::brz))
      state.next = target;
    return true;
  }
}

bool Simulator::State::synchronise(unsigned core, const Instruction &instruction) {
  CoreState &state = cores[core];
  FlagName flag = FlagName::ofAxis(instruction.axis);
  switch (instruction.opcode) {
  case Opcode::setf:
    if (!addTokens(core, flag, instruction.extent[0], state.sequencerClock))
      raiseOverflow(core, Unit::SEQ, state.next, flag);
    break;
  case Opcode::waitf: {
    auto &tokens = state.flagOf(flag).tokens;
    for (unsigned token = 0; token < instruction.extent[0]; ++token) {
      learn(core, *tokens.front());
      tokens.pop_front();
    }
    break;
  }
  case Opcode::fence:
    fence(core);
    break;
  case Opcode::bar:
    return passBarrier(core, instruction);
  case Opcode::semp:
    postSemaphore(core, instruction);
    break;
  default:
    return waitSemaphore(core, instruction);
  }
  ++state.next;
  return true;
}

bool Simulator::State::halt(unsigned core) {
  CoreState &state = cores[core];
  state.isHalted = true;
  for (unsigned source = 0; source < numUnits; ++source)
    for (unsigned destination = 0; destination < numUnits; ++destination)
      for (unsigned id = 0; id < numFlagIds; ++id)
        if (size_t left = state.flags[source][destination][id].tokens.size())
          raise(core, Unit::SEQ, state.next, TrapCode::FLAG,
                "flag " + FlagName{Unit(source), Unit(destination), uint8_t(id)}.text() + " has " + std::to_string(left) +
                    " tokens at the end");
  return true;
}

/// Arrives, then passes when all have arrived; a core that passes first tells the others that they may.
bool Simulator::State::passBarrier(unsigned core, const Instruction &instruction) {
  CoreState &state = cores[core];
  Barrier &barrier = barriers[instruction.axis];
  if (!(instruction.mask >> core & 1)) {
    raise(core, Unit::SEQ, state.next, TrapCode::ILLEGAL, "the core is not in the mask of its barrier");
    return false;
  }
  if (!state.isAtBarrier) {
    state.isAtBarrier = true;
    barrier.arrived |= 1u << core;
    if ((barrier.arrived & instruction.mask) != instruction.mask)
      return true;
    Clock all(*state.sequencerClock);
    for (unsigned other = 0; other < cores.size(); ++other)
      if (instruction.mask >> other & 1)
        join(all, *cores[other].sequencerClock);
    for (unsigned other = 0; other < cores.size(); ++other)
      if (instruction.mask >> other & 1) {
        learn(other, all);
        cores[other].passedBarrier = true;
      }
    barrier.arrived &= ~instruction.mask;
  }
  if (!state.passedBarrier)
    return true;
  state.isAtBarrier = state.passedBarrier = false;
  ++state.next;
  return true;
}

void Simulator::State::postSemaphore(unsigned core, const Instruction &instruction) {
  auto &tokens = semaphores[program.config.clusterOf(core)][instruction.axis].tokens;
  tokens.insert(tokens.end(), instruction.extent[0], cores[core].sequencerClock);
}

bool Simulator::State::waitSemaphore(unsigned core, const Instruction &instruction) {
  auto &tokens = semaphores[program.config.clusterOf(core)][instruction.axis].tokens;
  for (unsigned token = 0; token < instruction.extent[0]; ++token) {
    learn(core, *tokens.front());
    tokens.pop_front();
  }
  ++cores[core].next;
  return true;
}

void Simulator::State::mark(unsigned core, const Instruction &instruction) {
  CoreState &state = cores[core];
  Memory &memory = memoryOf(core, instruction.dst().space);
  uint64_t byte = resolve(core, instruction.dst()), count = instruction.src(0).byte;
  if (byte > memory.sizeBytes() || count > memory.sizeBytes() - byte)
    raise(core, Unit::SEQ, state.next, TrapCode::OOB,
          "mark of " + std::to_string(count) + " bytes at " + std::to_string(byte) + " of " + std::to_string(memory.sizeBytes()));
  else
    memory.markUnwritten(byte, count);
  ++state.next;
}

} // namespace perpend::quoin
