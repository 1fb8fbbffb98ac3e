//===- Program.cpp - what a device runs ------------------------------------===//

#include "target/quoin/Program.h"
#include "target/quoin/Trap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace perpend::quoin {
namespace {
std::string inRange(const Config &config, Space space, unsigned unit, uint64_t byte, uint64_t sizeBytes) {
  unsigned units = space == Space::L1 ? config.numCores() : config.clusters;
  if (space != Space::DDR && space != Space::LLB && space != Space::L1)
    return "lies in " + nameOf(space).str();
  if (unit >= units)
    return "lies in the " + nameOf(space).str() + " of unit " + std::to_string(unit) + " of " + std::to_string(units);
  uint64_t size = config.bytesOf(space);
  if (byte > size || sizeBytes > size - byte)
    return "has " + std::to_string(sizeBytes) + " bytes at " + std::to_string(byte) + " of " + nameOf(space).str() +
           ", which has " + std::to_string(size);
  return "";
}

/// Targets of jumps, and what depends on the whole program.
std::string checkReferences(const Program &program, unsigned core, const Instruction &instruction) {
  const std::vector<Instruction> &text = program.cores[core];
  auto targets = [&](Opcode opcode) {
    uint64_t index = instruction.dst().byte;
    return index < text.size() && text[index].opcode == opcode && text[index].axis == instruction.axis;
  };
  // Loops are nested: of a loop and an endl, each names the other, and checkNesting sees to the rest.
  if (instruction.opcode == Opcode::loop && !targets(Opcode::endl))
    return "the loop has no endl at " + std::to_string(instruction.dst().byte);
  if (instruction.opcode == Opcode::endl && !targets(Opcode::loop))
    return "the endl has no loop at " + std::to_string(instruction.dst().byte);
  bool isBranch = instruction.opcode == Opcode::brz || instruction.opcode == Opcode::brnz;
  if (isBranch && instruction.dst().byte >= text.size())
    return "the branch goes to " + std::to_string(instruction.dst().byte) + " of " + std::to_string(text.size());
  if (instruction.info().family == 'C' && core % program.config.coresPerCluster != 0)
    return instruction.info().name.str() + " is for the first core of a cluster";
  if (instruction.opcode == Opcode::sc_call &&
      (instruction.axis % 4 || instruction.axis >= program.scalar.image.size()))
    return "sc.call of byte " + std::to_string(instruction.axis) + " of " + std::to_string(program.scalar.image.size());
  if (instruction.location != noLocation && instruction.location >= program.locations.size())
    return "location " + std::to_string(instruction.location) + " of " + std::to_string(program.locations.size());
  return "";
}

/// Each endl ends the loop that began last.
std::string checkNesting(const std::vector<Instruction> &text) {
  std::vector<uint64_t> open;
  for (uint64_t index = 0; index < text.size(); ++index) {
    if (text[index].opcode == Opcode::loop)
      open.push_back(index);
    if (text[index].opcode != Opcode::endl)
      continue;
    if (open.empty() || text[index].dst().byte != open.back() || text[open.back()].dst().byte != index)
      return "the endl at " + std::to_string(index) + " is not that of the innermost loop";
    open.pop_back();
  }
  return open.empty() ? "" : "the loop at " + std::to_string(open.back()) + " has no endl";
}
} // namespace

const Symbol *Program::find(llvm::StringRef name) const {
  auto found = llvm::find_if(symbols, [&](const Symbol &symbol) { return symbol.name == name; });
  return found == symbols.end() ? nullptr : &*found;
}

bool Program::operator==(const Program &other) const {
  return config.hash() == other.config.hash() && cores == other.cores && symbols == other.symbols &&
         data == other.data && scalar == other.scalar && locations == other.locations && tables == other.tables;
}

uint32_t locationIndex(Program &program, llvm::StringRef text) {
  auto found = llvm::find(program.locations, text);
  if (found == program.locations.end())
    found = program.locations.insert(found, text.str());
  return found - program.locations.begin();
}

std::string check(const Program &program) {
  const Config &config = program.config;
  if (std::string problem = config.problem(); !problem.empty())
    return "configuration " + config.name + ": " + problem;
  if (program.cores.size() > config.numCores())
    return "code for " + std::to_string(program.cores.size()) + " cores of " + std::to_string(config.numCores());
  for (const Symbol &symbol : program.symbols)
    if (std::string text = inRange(config, symbol.space, symbol.unit, symbol.byte, symbol.sizeBytes); !text.empty())
      return "symbol " + symbol.name + " " + text;
  for (const Data &datum : program.data)
    if (std::string text = inRange(config, Space::DDR, datum.cluster, datum.byte, datum.bytes.size()); !text.empty())
      return "data " + text;
  for (unsigned core = 0; core < program.cores.size(); ++core) {
    if (std::string text = checkNesting(program.cores[core]); !text.empty())
      return "core " + std::to_string(core) + ": " + text;
    for (size_t index = 0; index < program.cores[core].size(); ++index) {
      const Instruction &instruction = program.cores[core][index];
      std::string text = check(instruction, config);
      if (text.empty())
        text = checkReferences(program, core, instruction);
      if (!text.empty())
        return "core " + std::to_string(core) + ", instruction " + std::to_string(index) + " (" +
               instruction.info().name.str() + "): " + text;
    }
  }
  return "";
}

} // namespace perpend::quoin
