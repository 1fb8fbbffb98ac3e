//===- Units.cpp - executes what is queued, and watches its accesses -------===//

#include "target/quoin/simulator/State.h"
#include "target/quoin/simulator/Values.h"

namespace perpend::quoin {

namespace {
/// An instruction may wait for several tokens of one flag.
unsigned tokensNeeded(llvm::ArrayRef<Token> tokens, const Token &token) {
  return llvm::count_if(tokens, [&](const Token &other) { return other.peer == token.peer && other.id == token.id; });
}
} // namespace

bool Simulator::State::waitsAreMet(unsigned core, Unit unit, const Queued &queued) const {
  const CoreState &state = cores[core];
  const Instruction &instruction = instructionAt(core, queued.index);
  if (instruction.opcode == Opcode::waitf)
    return state.flagOf(FlagName::ofAxis(instruction.axis)).tokens.size() >= instruction.extent[0];
  return llvm::all_of(queued.wait, [&](const Token &token) {
    return state.flagOf({token.peer, unit, token.id}).tokens.size() >= tokensNeeded(queued.wait, token);
  });
}

void Simulator::State::takeTokens(unsigned core, Unit unit, const Queued &queued) {
  CoreState &state = cores[core];
  auto take = [&](FlagName flag) {
    auto &held = state.flagOf(flag).tokens;
    join(state.clocks[unsigned(unit)], *held.front());
    held.pop_front();
  };
  for (const Token &token : queued.wait)
    take({token.peer, unit, token.id});
  const Instruction &instruction = instructionAt(core, queued.index);
  if (instruction.opcode == Opcode::waitf)
    for (unsigned token = 0; token < instruction.extent[0]; ++token)
      take(FlagName::ofAxis(instruction.axis));
}

bool Simulator::State::addTokens(unsigned core, FlagName flag, unsigned count, const SharedClock &clock) {
  auto &held = cores[core].flagOf(flag).tokens;
  held.insert(held.end(), count, clock);
  return held.size() <= maxTokens;
}

void Simulator::State::raiseOverflow(unsigned core, Unit unit, uint32_t index, FlagName flag) {
  raise(core, unit, index, TrapCode::FLAG,
        "flag " + flag.text() + " has more than " + std::to_string(maxTokens) + " tokens");
}

void Simulator::State::finishUnit(unsigned core, Unit unit, const Queued &queued) {
  const Instruction &instruction = instructionAt(core, queued.index);
  bool isSetf = instruction.opcode == Opcode::setf;
  if (queued.set.empty() && !isSetf)
    return;
  Clock &clock = cores[core].clocks[unsigned(unit)];
  auto known = std::make_shared<Clock>(clock);
  for (const Token &token : queued.set)
    if (FlagName flag{unit, token.peer, token.id}; !addTokens(core, flag, 1, known))
      raiseOverflow(core, unit, queued.index, flag);
  if (FlagName flag = FlagName::ofAxis(instruction.axis);
      isSetf && !addTokens(core, flag, instruction.extent[0], known))
    raiseOverflow(core, unit, queued.index, flag);
  ++clock[threadOf(core, unit)];
}

bool Simulator::State::canStart(unsigned core, Unit unit) const {
  const std::deque<Queued> &queue = cores[core].queues[unsigned(unit)];
  return !queue.empty() && waitsAreMet(core, unit, queue.front());
}

Queued Simulator::State::startUnit(unsigned core, Unit unit) {
  CoreState &state = cores[core];
  Queued queued = std::move(state.queues[unsigned(unit)].front());
  state.queues[unsigned(unit)].pop_front();
  takeTokens(core, unit, queued);
  join(state.clocks[unsigned(unit)], *queued.clock);
  ++instructionsRun;
  return queued;
}

void Simulator::State::executeUnit(unsigned core, Unit unit, const Queued &queued) {
  if (std::optional<Violation> found = executeQueued(core, queued))
    raise(core, unit, queued.index, found->code, std::move(found->text));
}

bool Simulator::State::stepUnit(unsigned core, Unit unit) {
  if (!canStart(core, unit))
    return false;
  Queued queued = startUnit(core, unit);
  executeUnit(core, unit, queued);
  if (!trap)
    finishUnit(core, unit, queued);
  return true;
}

/// With the addresses that its generators gave when it was issued.
Instruction Simulator::State::resolved(unsigned core, const Queued &queued) const {
  Instruction instruction = instructionAt(core, queued.index);
  for (unsigned operand = 0; operand < numOperands; ++operand) {
    instruction.operands[operand].byte = queued.byte[operand];
    instruction.operands[operand].generator = 0;
  }
  return instruction;
}

std::optional<Violation> Simulator::State::executeQueued(unsigned core, const Queued &queued) {
  Instruction instruction = resolved(core, queued);
  if (instruction.unit() == Unit::SEQ) // setf, waitf
    return std::nullopt;
  if (std::optional<Violation> found = findAddressViolation(instruction, program.config))
    return found;
  if (options.mode == SimulatorMode::Time && instruction.unit() == Unit::SC && !options.scalarCallCycles)
    return Violation{TrapCode::SC, "scalar code needs data; hint: --mode=cycle, or --scalar-cycles=N for each call"};
  if (options.mode == SimulatorMode::Time) {
    scalarCycles = instruction.unit() == Unit::SC ? *options.scalarCallCycles : 0;
    return std::nullopt;
  }
  if (instruction.unit() == Unit::SC)
    return executeScalar(core, instruction);
  if (instruction.opcode != Opcode::ld_bcast)
    return executeTensor(core, instruction, queued.begins);
  for (unsigned peer = 0; peer < program.config.coresPerCluster; ++peer) {
    instruction.dst().core = peer;
    if (instruction.mask >> peer & 1)
      if (std::optional<Violation> found = executeTensor(core, instruction, queued.begins))
        return found;
  }
  return std::nullopt;
}

namespace {
Violation unwritten(const Memory &memory, uint64_t byte, Space space) {
  std::string text = "byte " + std::to_string(byte) + " of " + nameOf(space).str();
  if (memory.isStale(byte))
    return {TrapCode::STALE, text + " belongs to a lifetime that ended"};
  return {TrapCode::UNINIT, text + " was never written"};
}
} // namespace

std::optional<Violation> Simulator::State::checkAccess(unsigned core, Unit unit, const Access &access) {
  Memory &memory = memoryOf(core, access.space, access.core);
  if (memory.hasAdditions() && !access.isAdded)
    settle(memory, access);
  if (access.isRead && !access.isIndexed)
    if (std::optional<uint64_t> byte = firstUnwritten(memory, access))
      return unwritten(memory, *byte, access.space);
  std::optional<Conflict> conflict = touch(memory, access, threadOf(core, unit), cores[core].clocks[unsigned(unit)]);
  if (conflict)
    return Violation{TrapCode::RACE, (access.isWritten ? "writes" : "reads") + std::string(" the line at ") +
                                         std::to_string(conflict->byte) + " of " + nameOf(access.space).str() +
                                         ", which " + threadText(conflict->other) +
                                         (conflict->otherWrote ? " wrote" : " read") + "; no flag orders the two"};
  return std::nullopt;
}

std::optional<Violation> Simulator::State::checkResults(unsigned core, const Instruction &instruction,
                                                        llvm::ArrayRef<Access> accesses) {
  for (const Access &access : accesses) {
    bool isFloatResult = access.operand == Dst && access.space == Space::L0C ? instruction.dstType == DType::F32
                                                                             : isFloat(instruction.dstType);
    if (!access.isWritten || access.operand != Dst || !isFloatResult ||
        (instruction.unit() != Unit::MX && instruction.unit() != Unit::VX))
      continue;
    unsigned size = sizeOf(instruction.dstType);
    const uint8_t *bytes = memoryOf(core, access.space).data();
    uint64_t elements = std::max<uint64_t>(1, access.elementBytes / size);
    uint64_t inner = access.elementBytes == 1 ? access.count[0] / size : access.count[0];
    for (uint64_t i2 = 0; i2 < access.count[2]; ++i2)
      for (uint64_t i1 = 0; i1 < access.count[1]; ++i1)
        for (uint64_t i0 = 0; i0 < inner * elements; ++i0) {
          uint64_t pitch = access.elementBytes == 1 ? size : elements > 1 ? size : access.pitchBytes[0];
          uint64_t byte = access.byte + i0 * pitch + i1 * access.pitchBytes[1] + i2 * access.pitchBytes[2];
          if (float value = loadFloat(bytes + byte, instruction.dstType); value != value)
            return Violation{TrapCode::NaN, "the result at byte " + std::to_string(byte) + " of " +
                                                nameOf(access.space).str() + " is not a number"};
        }
  }
  return std::nullopt;
}

std::optional<Violation> Simulator::State::executeTensor(unsigned core, const Instruction &instruction, bool begins) {
  Call call{instruction};
  call.begins = begins;
  call.sregs = cores[core].sregs.data();
  unsigned cluster = program.config.clusterOf(core);
  bool hasAdditions = ddr[cluster].hasAdditions() || llb[cluster].hasAdditions();
  bool checks = options.checkRaces || options.checkUninitialised || hasAdditions;
  llvm::SmallVector<Access, 4> accesses =
      checks || options.trapNaN ? accessesOf(instruction, begins) : llvm::SmallVector<Access, 4>();
  if (checks)
    for (const Access &access : accesses)
      if (std::optional<Violation> found = checkAccess(core, instruction.unit(), access))
        return found;
  for (unsigned operand = 0; operand < numOperands; ++operand) {
    const Operand &value = instruction.operands[operand];
    if (value.space != Space::None && value.space != Space::SReg)
      call.at[operand] = memoryOf(core, value.space, value.core).data() + value.byte;
  }
  auto useRow = [&](OperandIndex operand, uint64_t byte, uint64_t count) -> std::optional<Violation> {
    const Operand &value = instruction.operands[operand];
    Memory &memory = memoryOf(core, value.space, value.core);
    if (operand == Dst)
      memory.markWritten(value.byte + byte, count);
    else if (std::optional<uint64_t> missing = memory.firstUnwritten(value.byte + byte, count))
      return unwritten(memory, *missing, value.space);
    return std::nullopt;
  };
  call.useRow = useRow;
  auto addTo = [&](uint8_t *element, uint32_t bits) {
    Memory &memory = memoryOf(core, instruction.dst().space);
    memory.addLater(element - memory.data(),
                    {threadOf(core, instruction.unit()), instruction.dstType == DType::F32, bits});
  };
  call.addTo = addTo;
  if (hasData)
    if (std::optional<Violation> found = execute(call))
      return found;
  for (const Access &access : accesses)
    if (access.isWritten && (!access.isIndexed || !hasData))
      markWritten(memoryOf(core, access.space, access.core), access);
  return options.trapNaN && hasData ? checkResults(core, instruction, accesses) : std::nullopt;
}

} // namespace perpend::quoin
