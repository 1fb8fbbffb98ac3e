//===- Verifier.cpp - what a program does whatever its data are ------------===//

#include "target/quoin/Verifier.h"
#include "target/quoin/simulator/State.h"

#include <set>

namespace perpend::quoin {
namespace {
/// A loop or a branch that depends on a register.
struct Site {
  unsigned core;
  uint32_t index;
  auto operator<=>(const Site &) const = default;
};
constexpr unsigned maxTimes = 3;
constexpr size_t maxRuns = 256;

std::vector<Site> sitesOf(const Program &program) {
  std::vector<Site> sites;
  for (unsigned core = 0; core < program.cores.size(); ++core)
    for (uint32_t index = 0; index < program.cores[core].size(); ++index) {
      const Instruction &instruction = program.cores[core][index];
      bool decides = instruction.opcode == Opcode::loop || instruction.opcode == Opcode::brz || instruction.opcode == Opcode::brnz;
      if (decides && instruction.src(0).space == Space::SReg)
        sites.push_back({core, index});
    }
  return sites;
}

/// For each site, how often its loop runs or its branch sees a number other than 0.
using Choice = std::vector<unsigned>;

/// All choices if there are few, otherwise those that differ at one site from a choice of equal numbers.
std::vector<Choice> choicesOf(size_t sites) {
  std::vector<Choice> choices = {Choice()};
  for (size_t site = 0; site < sites && choices.size() * (maxTimes + 1) <= maxRuns; ++site) {
    std::vector<Choice> longer;
    for (const Choice &choice : choices)
      for (unsigned times = 0; times <= maxTimes; ++times) {
        longer.push_back(choice);
        longer.back().push_back(times);
      }
    choices = std::move(longer);
  }
  if (choices.front().size() == sites)
    return choices;
  std::set<Choice> some;
  for (unsigned usual = 0; usual <= maxTimes; ++usual)
    for (size_t site = 0; site < sites; ++site)
      for (unsigned times = 0; times <= maxTimes; ++times) {
        Choice choice(sites, usual);
        choice[site] = times;
        some.insert(std::move(choice));
      }
  return {some.begin(), some.end()};
}

bool has(const Program &program, Opcode opcode) {
  for (const std::vector<Instruction> &core : program.cores)
    if (llvm::any_of(core, [&](const Instruction &instruction) { return instruction.opcode == opcode; }))
      return true;
  return false;
}

bool usesRegistersInAddresses(const Program &program) {
  for (const std::vector<Instruction> &core : program.cores)
    if (llvm::any_of(core, [](const Instruction &instruction) { return instruction.opcode == Opcode::setag && instruction.extent[0] >= 16; }))
      return true;
  return false;
}

std::string choiceText(const std::vector<Site> &sites, const Choice &choice) {
  std::string text;
  for (size_t site = 0; site < sites.size(); ++site)
    text += (site ? ", " : "") + std::string("instruction ") + std::to_string(sites[site].index) + " of core " +
            std::to_string(sites[site].core) + ": " + std::to_string(choice[site]) + " times";
  return text;
}

/// One run without data. An error is a lack of memory.
llvm::Expected<std::optional<Trap>> runOnce(const Program &program, const std::vector<Site> &sites, const Choice &choice, bool checksWrites) {
  SimulatorOptions options;
  options.checkUninitialised = checksWrites;
  Simulator::State state(program, options);
  state.hasData = false;
  std::map<Site, std::pair<unsigned, unsigned>> times; // chosen, seen
  for (size_t site = 0; site < sites.size(); ++site)
    times[sites[site]] = {choice[site], 0};
  state.decide = [&](unsigned core, uint32_t index) -> uint64_t {
    auto found = times.find({core, index});
    if (found == times.end())
      return 0; // setl, addl
    auto &[chosen, seen] = found->second;
    if (program.cores[core][index].opcode == Opcode::loop)
      return chosen;
    return seen++ < chosen;
  };
  if (llvm::Error error = state.allocate())
    return std::move(error);
  for (const Symbol &symbol : program.symbols)
    if (symbol.kind == Symbol::Kind::Input || symbol.kind == Symbol::Kind::Constant)
      state.memoryOf(symbol).markWritten(symbol.byte, symbol.sizeBytes);
  return state.run();
}
} // namespace

Verification verify(const Program &program) {
  Verification result;
  if (std::string problem = check(program); !problem.empty()) {
    result.findings.push_back({Trap{TrapCode::ILLEGAL, 0, Unit::SEQ, 0, "", "", problem}, ""});
    return result;
  }
  bool callsScalar = has(program, Opcode::sc_call);
  if (callsScalar)
    result.limits.push_back("scalar code: its accesses, and reads of what it would have to write, are not verified");
  if (usesRegistersInAddresses(program))
    result.limits.push_back("addresses that depend on registers are verified for registers of 0");
  std::vector<Site> sites = sitesOf(program);
  std::vector<Choice> choices = choicesOf(sites.size());
  if (sites.size() > 4)
    result.limits.push_back("of the " + std::to_string(sites.size()) + " loops and branches on registers, not all combinations are verified");
  std::set<std::tuple<TrapCode, unsigned, uint32_t>> seen;
  for (const Choice &choice : choices) {
    llvm::Expected<std::optional<Trap>> trap = runOnce(program, sites, choice, !callsScalar);
    if (!trap) {
      result.limits.push_back(llvm::toString(trap.takeError()));
      break;
    }
    if (*trap && seen.emplace((*trap)->code, (*trap)->core, (*trap)->instruction).second)
      result.findings.push_back({**trap, choiceText(sites, choice)});
  }
  return result;
}

} // namespace perpend::quoin
