//===- Simulator.cpp - runs a program --------------------------------------===//

#include "target/quoin/simulator/State.h"

#include "llvm/ADT/Twine.h"

#include <cstring>

namespace perpend::quoin {
namespace {
constexpr unsigned l1Index = 0;

/// Bytes of DDR that the program uses: its symbols, data and fixed addresses. The rest of DDR does not exist, so that an
/// address behind the last symbol is found.
uint64_t usedDdrBytes(const Program &program) {
  uint64_t used = 0;
  for (const Symbol &symbol : program.symbols)
    if (symbol.space == Space::DDR)
      used = std::max(used, symbol.byte + symbol.sizeBytes);
  for (const Data &datum : program.data)
    used = std::max(used, datum.byte + datum.bytes.size());
  for (const std::vector<Instruction> &instructions : program.cores)
    for (const Instruction &instruction : instructions)
      for (const Access &access : accessesOf(instruction))
        if (access.space == Space::DDR && instruction.operands[access.operand].generator == 0)
          used = std::max(used, access.byte + access.sizeBytes());
  return std::min(program.config.ddrBytes, (used + 63) / 64 * 64);
}
} // namespace

std::string Trap::toString() const {
  std::string result = nameOf(code).str() + ": " + message;
  result += "\n  core " + std::to_string(core) + ", unit " + nameOf(unit).str() + ", instruction " + std::to_string(instruction);
  if (!text.empty())
    result += ": " + text;
  if (!location.empty())
    result += "\n  of " + location;
  return result;
}

Simulator::State::State(Program program, SimulatorOptions options) : program(std::move(program)), options(options) {
  this->program.cores.resize(this->program.config.numCores());
}

llvm::Error Simulator::State::allocate() {
  const Config &config = program.config;
  bool hasData = options.mode != SimulatorMode::Time;
  bool writes = options.checkUninitialised && hasData, races = options.checkRaces && hasData;
  uint64_t ddrBytes = usedDdrBytes(program);
  program.config.ddrBytes = std::max<uint64_t>(ddrBytes, 64);
  for (unsigned cluster = 0; cluster < config.clusters; ++cluster) {
    ddr.emplace_back(program.config.ddrBytes, writes, races);
    llb.emplace_back(config.llbBytes, writes, races);
  }
  coreMemories.resize(config.numCores());
  bool isValid = true;
  for (std::vector<Memory> &memories : coreMemories) {
    for (Space space : {Space::L1, Space::L0A, Space::L0B, Space::L0C})
      memories.emplace_back(config.bytesOf(space), writes, races);
    memories.emplace_back(scalarStackBytes, false, false);
    for (const Memory &memory : memories)
      isValid &= memory.isValid();
  }
  for (unsigned cluster = 0; cluster < config.clusters; ++cluster)
    isValid &= ddr[cluster].isValid() && llb[cluster].isValid();
  if (!isValid)
    return llvm::createStringError("there is not enough memory for a device " + config.name);
  for (const Data &datum : program.data) {
    if (!datum.bytes.empty())
      std::memcpy(ddr[datum.cluster].data() + datum.byte, datum.bytes.data(), datum.bytes.size());
    ddr[datum.cluster].markWritten(datum.byte, datum.bytes.size());
  }
  return llvm::Error::success();
}

Memory &Simulator::State::memoryOf(unsigned core, Space space, unsigned peer) {
  unsigned cluster = program.config.clusterOf(core);
  if (space == Space::DDR)
    return ddr[cluster];
  if (space == Space::LLB)
    return llb[cluster];
  unsigned owner = peer == ownCore ? core : cluster * program.config.coresPerCluster + peer;
  return coreMemories[owner][unsigned(space) - unsigned(Space::L1) + l1Index];
}

Memory &Simulator::State::memoryOf(const Symbol &symbol) {
  if (symbol.space == Space::L1)
    return coreMemories[symbol.unit][l1Index];
  return symbol.space == Space::DDR ? ddr[symbol.unit] : llb[symbol.unit];
}

void Simulator::State::reset() {
  trap.reset();
  instructionsRun = scalarInstructionsRun = 0;
  counters = {};
  cores.clear();
  cores.resize(program.config.numCores());
  barriers = {};
  semaphores.clear();
  semaphores.resize(program.config.clusters);
  size_t threads = cores.size() * numUnits;
  for (unsigned core = 0; core < cores.size(); ++core) {
    for (unsigned unit = 0; unit < numUnits; ++unit) {
      cores[core].clocks[unit].assign(threads, 0);
      cores[core].clocks[unit][threadOf(core, Unit(unit))] = 1;
    }
    cores[core].sequencerClock = std::make_shared<Clock>(threads, 0);
    cores[core].isHalted = program.cores[core].empty();
    for (Memory &memory : coreMemories[core])
      memory.forgetAccesses();
  }
  for (unsigned cluster = 0; cluster < ddr.size(); ++cluster) {
    ddr[cluster].forgetAccesses();
    llb[cluster].forgetAccesses();
  }
}

std::optional<Trap> Simulator::State::run() {
  reset();
  return options.mode == SimulatorMode::Functional ? runFunctional() : runTimed();
}

void Simulator::State::raise(unsigned core, Unit unit, uint32_t index, TrapCode code, std::string message) {
  if (trap)
    return;
  Trap raised{code, core, unit, index, "", "", std::move(message)};
  if (index < program.cores[core].size()) {
    const Instruction &instruction = instructionAt(core, index);
    raised.text = quoin::toString(instruction);
    if (instruction.location < program.locations.size())
      raised.location = program.locations[instruction.location];
  }
  trap = std::move(raised);
}

std::string Simulator::State::threadText(Thread thread) const {
  return "unit " + nameOf(Unit(thread % numUnits)).str() + " of core " + std::to_string(thread / numUnits);
}

Simulator::Simulator(std::unique_ptr<State> state) : state(std::move(state)) {}
Simulator::~Simulator() = default;

llvm::Expected<std::unique_ptr<Simulator>> Simulator::create(Program program, SimulatorOptions options) {
  if (std::string problem = check(program); !problem.empty())
    return llvm::createStringError("the program is not legal: " + problem);
  auto state = std::make_unique<State>(std::move(program), options);
  if (llvm::Error error = state->allocate())
    return std::move(error);
  return std::unique_ptr<Simulator>(new Simulator(std::move(state)));
}

namespace {
/// The symbol, if it has the bytes from `offset` on.
llvm::Expected<const Symbol *> rangeOf(const Program &program, llvm::StringRef name, uint64_t offset, uint64_t sizeBytes) {
  const Symbol *symbol = program.find(name);
  if (!symbol)
    return llvm::createStringError("the program has no symbol '" + name + "'");
  if (offset > symbol->sizeBytes || sizeBytes > symbol->sizeBytes - offset)
    return llvm::createStringError("symbol '" + name + "' has " + llvm::Twine(symbol->sizeBytes) + " bytes, got " + llvm::Twine(sizeBytes) +
                                   " from byte " + llvm::Twine(offset));
  return symbol;
}
} // namespace

llvm::Error Simulator::write(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes, uint64_t offset) {
  llvm::Expected<const Symbol *> symbol = rangeOf(state->program, name, offset, bytes.size());
  if (!symbol)
    return symbol.takeError();
  Memory &memory = state->memoryOf(**symbol);
  if (!bytes.empty())
    std::memcpy(memory.data() + (*symbol)->byte + offset, bytes.data(), bytes.size());
  memory.markWritten((*symbol)->byte + offset, bytes.size());
  return llvm::Error::success();
}

llvm::Error Simulator::read(llvm::StringRef name, llvm::MutableArrayRef<uint8_t> bytes, uint64_t offset) const {
  llvm::Expected<const Symbol *> symbol = rangeOf(state->program, name, offset, bytes.size());
  if (!symbol)
    return symbol.takeError();
  if (!bytes.empty())
    std::memcpy(bytes.data(), state->memoryOf(**symbol).data() + (*symbol)->byte + offset, bytes.size());
  return llvm::Error::success();
}

std::optional<Trap> Simulator::run() { return state->run(); }
uint64_t Simulator::instructionsRun() const { return state->instructionsRun; }
const Counters &Simulator::counters() const { return state->counters; }
uint64_t Simulator::scalarInstructionsRun() const { return state->scalarInstructionsRun; }

} // namespace perpend::quoin
