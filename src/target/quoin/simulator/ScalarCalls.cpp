//===- ScalarCalls.cpp - the scalar core's queue ---------------------------===//

#include "target/accelerator/scalar/Hart.h"
#include "target/quoin/simulator/State.h"
#include "target/quoin/simulator/Values.h"

namespace perpend::quoin {
namespace {
constexpr unsigned ra = 1, sp = 2, a0 = 10, stackIndex = 4;

/// An address of the flat address space; 0 of an operand that is absent.
uint64_t flatAddress(const Operand &operand) {
  switch (operand.space) {
  case Space::DDR:
    return scalarDdrBase + operand.byte;
  case Space::LLB:
    return scalarLlbBase + operand.byte;
  case Space::L1:
    return scalarL1Base + operand.byte;
  default:
    return 0;
  }
}
} // namespace

/// The flat address space of one core, with the checks of tensor instructions.
class ScalarBus final : public scalar::Bus {
public:
  ScalarBus(Simulator::State &state, unsigned core) : state(state), core(core) {}

  uint8_t *access(uint64_t address, unsigned sizeBytes, bool isWrite) override {
    if (address >= scalarDdrBase)
      return accessMemory(address, sizeBytes, isWrite);
    std::vector<uint8_t> &image = state.program.scalar.image;
    if (address >= scalarCodeBase && address - scalarCodeBase < image.size() &&
        image.size() - (address - scalarCodeBase) >= sizeBytes)
      return isWrite ? fail(TrapCode::SC, address, "a write of code") : &image[address - scalarCodeBase];
    if (address >= scalarSRegBase && address - scalarSRegBase + sizeBytes <= numSRegs * 8)
      return reinterpret_cast<uint8_t *>(state.cores[core].sregs.data()) + (address - scalarSRegBase);
    if (address >= scalarStackBase && address - scalarStackBase + sizeBytes <= scalarStackBytes)
      return state.coreMemories[core][stackIndex].data() + (address - scalarStackBase);
    return fail(TrapCode::SC, address, "an access outside of all memories");
  }

  std::optional<Violation> violation;
  uint64_t waitCycles = 0; ///< of accesses outside of the stack

private:
  uint8_t *accessMemory(uint64_t address, unsigned sizeBytes, bool isWrite) {
    Space space = address >= scalarL1Base ? Space::L1 : address >= scalarLlbBase ? Space::LLB : Space::DDR;
    const uint64_t bases[] = {scalarDdrBase, scalarLlbBase, scalarL1Base};
    uint64_t byte = address - bases[unsigned(space) - unsigned(Space::DDR)];
    Memory &memory = state.memoryOf(core, space);
    if (byte > memory.sizeBytes() || memory.sizeBytes() - byte < sizeBytes)
      return fail(TrapCode::OOB, address,
                  "byte " + std::to_string(byte) + " of " + nameOf(space).str() + ", of which the program uses " +
                      std::to_string(memory.sizeBytes()));
    if (memory.hasAdditions())
      memory.settle(byte, sizeBytes);
    if (state.options.checkUninitialised) {
      if (isWrite)
        memory.markWritten(byte, sizeBytes);
      else if (memory.firstUnwritten(byte, sizeBytes))
        return fail(TrapCode::UNINIT, address,
                    "byte " + std::to_string(byte) + " of " + nameOf(space).str() + " was never written");
    }
    if (state.options.checkRaces)
      if (auto conflict = memory.touch(byte, sizeBytes, isWrite ? Touch::Write : Touch::Read,
                                       state.threadOf(core, Unit::SC), state.cores[core].clocks[unsigned(Unit::SC)]))
        return fail(TrapCode::RACE, address,
                    "the line at " + std::to_string(conflict->byte) + " of " + nameOf(space).str() + ", which " +
                        state.threadText(conflict->other) + (conflict->otherWrote ? " wrote" : " read") +
                        "; no flag orders the two");
    waitCycles += space == Space::DDR   ? state.program.config.ddrLatency
                  : space == Space::LLB ? state.program.config.llbLatency
                                        : state.program.config.l1Latency;
    return memory.data() + byte;
  }

  uint8_t *fail(TrapCode code, uint64_t address, std::string text) {
    violation = {code, text + " (address " + std::to_string(address) + ")"};
    return nullptr;
  }

  Simulator::State &state;
  unsigned core;
};

std::optional<Violation> Simulator::State::callScalar(unsigned core, const Instruction &instruction) {
  if (scalarCode.empty())
    scalarCode = scalar::decode(program.scalar.image);
  ScalarBus bus(*this, core);
  scalar::Hart hart(scalarCode, scalarCodeBase, bus);
  hart.x[ra] = scalarReturnAddress;
  hart.x[sp] = scalarStackBase + scalarStackBytes;
  for (unsigned operand = 0; operand < numOperands; ++operand) {
    hart.x[a0 + operand] = flatAddress(instruction.operands[operand]);
    hart.x[a0 + numOperands + operand] = uint64_t(int64_t(int32_t(instruction.imm[operand])));
  }
  scalar::Ending ending =
      hart.call(scalarCodeBase + instruction.axis, scalarReturnAddress, options.maxScalarInstructions);
  scalarInstructionsRun += hart.counts.instructions;
  scalarCycles = hart.counts.instructions + hart.counts.takenBranches + bus.waitCycles;
  std::string where = " at pc " + std::to_string(hart.pc - scalarCodeBase) + " of the scalar code, after " +
                      std::to_string(hart.counts.instructions) + " instructions";
  switch (ending) {
  case scalar::Ending::Returned:
    return std::nullopt;
  case scalar::Ending::Trapped:
    return Violation{TrapCode::SC, "ecall with code " + std::to_string(int64_t(hart.x[a0])) + where};
  case scalar::Ending::TimedOut:
    return Violation{TrapCode::TIMEOUT, "the call did not return" + where};
  case scalar::Ending::Fault:
    break;
  }
  if (bus.violation)
    return Violation{bus.violation->code, bus.violation->text + where};
  return Violation{TrapCode::SC, hart.fault + where};
}

std::optional<Violation> Simulator::State::executeScalar(unsigned core, const Instruction &instruction) {
  if (instruction.opcode == Opcode::sc_call)
    return hasData ? callScalar(core, instruction) : std::nullopt;
  for (const Access &access : accessesOf(instruction))
    if (std::optional<Violation> found = checkAccess(core, Unit::SC, access))
      return found;
  DType type = instruction.dstType;
  bool isGet = instruction.opcode == Opcode::sc_get;
  const Operand &element = isGet ? instruction.src(0) : instruction.dst();
  uint64_t &reg = cores[core].sregs[isGet ? instruction.dst().byte : instruction.src(0).byte];
  Memory &memory = memoryOf(core, element.space);
  uint8_t *at = memory.data() + element.byte;
  if (!hasData)
    ; // only the access counts
  else if (isGet)
    reg = isFloat(type) ? std::bit_cast<uint32_t>(loadFloat(at, type)) : uint64_t(int64_t(loadInt(at, type)));
  else
    storeImmediate(at, type, uint32_t(reg));
  if (!isGet)
    memory.markWritten(element.byte, sizeOf(type));
  return std::nullopt;
}

} // namespace perpend::quoin
