//===- Units.cpp - executes what is queued, and watches its accesses -------===//

#include "target/quoin/simulator/State.h"
#include "target/quoin/simulator/Values.h"

namespace perpend::quoin {

bool Simulator::State::waitsAreMet(const CoreState &core, Unit unit, llvm::ArrayRef<Token> tokens) const {
  for (size_t index = 0; index < tokens.size(); ++index) {
    const Token &token = tokens[index];
    size_t needed = 1; // an instruction may wait for several tokens of one flag
    for (size_t before = 0; before < index; ++before)
      needed += tokens[before].peer == token.peer && tokens[before].id == token.id;
    if (core.flags[unsigned(token.peer)][unsigned(unit)][token.id].tokens.size() < needed)
      return false;
  }
  return true;
}

void Simulator::State::takeTokens(unsigned core, Unit unit, llvm::ArrayRef<Token> tokens) {
  for (const Token &token : tokens) {
    auto &held = cores[core].flags[unsigned(token.peer)][unsigned(unit)][token.id].tokens;
    join(cores[core].clocks[unsigned(unit)], *held.front());
    held.pop_front();
  }
}

bool Simulator::State::addTokens(unsigned core, Unit source, Unit destination, unsigned id, unsigned count, const SharedClock &clock) {
  auto &held = cores[core].flags[unsigned(source)][unsigned(destination)][id].tokens;
  held.insert(held.end(), count, clock);
  return held.size() <= maxTokens;
}

bool Simulator::State::canStart(unsigned core, Unit unit) const {
  const std::deque<Queued> &queue = cores[core].queues[unsigned(unit)];
  return !queue.empty() && waitsAreMet(cores[core], unit, queue.front().wait);
}

bool Simulator::State::stepUnit(unsigned core, Unit unit) {
  if (!canStart(core, unit))
    return false;
  CoreState &state = cores[core];
  Queued queued = std::move(state.queues[unsigned(unit)].front());
  state.queues[unsigned(unit)].pop_front();
  Clock &clock = state.clocks[unsigned(unit)];
  takeTokens(core, unit, queued.wait);
  join(clock, *queued.clock);
  ++instructionsRun;
  if (std::optional<Violation> found = executeQueued(core, queued)) {
    raise(core, unit, queued.index, found->code, std::move(found->text));
    return true;
  }
  if (queued.set.empty())
    return true;
  auto known = std::make_shared<Clock>(clock);
  for (const Token &token : queued.set)
    if (!addTokens(core, unit, token.peer, token.id, 1, known))
      raise(core, unit, queued.index, TrapCode::FLAG,
            "flag " + nameOf(unit).str() + ">" + nameOf(token.peer).str() + ":" + std::to_string(token.id) + " has more than " +
                std::to_string(maxTokens) + " tokens");
  ++clock[threadOf(core, unit)];
  return true;
}

std::optional<Violation> Simulator::State::executeQueued(unsigned core, const Queued &queued) {
  Instruction instruction = instructionAt(core, queued.index);
  for (unsigned operand = 0; operand < numOperands; ++operand) {
    instruction.operands[operand].byte = queued.byte[operand];
    instruction.operands[operand].generator = 0;
  }
  if (std::optional<Violation> found = findAddressViolation(instruction, program.config))
    return found;
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

std::optional<Violation> Simulator::State::checkAccess(unsigned core, Unit unit, const Access &access) {
  Memory &memory = memoryOf(core, access.space, access.core);
  if (access.isRead && !access.isIndexed)
    if (std::optional<uint64_t> byte = firstUnwritten(memory, access))
      return Violation{TrapCode::UNINIT, "byte " + std::to_string(*byte) + " of " + nameOf(access.space).str() + " was never written"};
  std::optional<Conflict> conflict =
      touch(memory, access, access.isWritten, threadOf(core, unit), cores[core].clocks[unsigned(unit)]);
  if (conflict)
    return Violation{TrapCode::RACE, (access.isWritten ? "writes" : "reads") + std::string(" the line at ") + std::to_string(conflict->byte) +
                                         " of " + nameOf(access.space).str() + ", which " + threadText(conflict->other) +
                                         (conflict->otherWrote ? " wrote" : " read") + "; no flag orders the two"};
  return std::nullopt;
}

std::optional<Violation> Simulator::State::checkResults(unsigned core, const Instruction &instruction, llvm::ArrayRef<Access> accesses) {
  for (const Access &access : accesses) {
    bool isFloatResult = access.operand == Dst && access.space == Space::L0C ? instruction.dstType == DType::F32 : isFloat(instruction.dstType);
    if (!access.isWritten || access.operand != Dst || !isFloatResult || (instruction.unit() != Unit::MX && instruction.unit() != Unit::VX))
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
            return Violation{TrapCode::NaN, "the result at byte " + std::to_string(byte) + " of " + nameOf(access.space).str() + " is not a number"};
        }
  }
  return std::nullopt;
}

std::optional<Violation> Simulator::State::executeTensor(unsigned core, const Instruction &instruction, bool begins) {
  Call call{instruction};
  call.begins = begins;
  call.sregs = cores[core].sregs.data();
  bool checks = options.checkRaces || options.checkUninitialised;
  llvm::SmallVector<Access, 4> accesses = checks || options.trapNaN ? accessesOf(instruction, begins) : llvm::SmallVector<Access, 4>();
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
      return Violation{TrapCode::UNINIT, "byte " + std::to_string(*missing) + " of " + nameOf(value.space).str() + " was never written"};
    return std::nullopt;
  };
  call.useRow = useRow;
  if (std::optional<Violation> found = execute(call))
    return found;
  for (const Access &access : accesses)
    if (access.isWritten && !access.isIndexed)
      markWritten(memoryOf(core, access.space, access.core), access);
  return options.trapNaN ? checkResults(core, instruction, accesses) : std::nullopt;
}

} // namespace perpend::quoin
