//===- Report.cpp - where the cycles of a run went -------------------------===//

#include "target/quoin/Counters.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace perpend::quoin {
namespace {
constexpr Unit units[] = {Unit::LD, Unit::FD, Unit::MX, Unit::VX, Unit::ST, Unit::SC};
constexpr std::pair<Unit, Unit> overlaps[] = {{Unit::LD, Unit::MX}, {Unit::FD, Unit::MX}, {Unit::VX, Unit::MX}, {Unit::LD, Unit::VX}, {Unit::ST, Unit::MX}};

double percent(uint64_t part, uint64_t whole) { return whole ? 100.0 * double(part) / double(whole) : 0; }

/// Products that a core can do in a cycle, of f16.
constexpr uint64_t peakProducts = 2048;

void printUnits(const CoreCounters &core, uint64_t cycles, llvm::raw_ostream &out) {
  out << "    unit   instructions      busy   busy %   flags %   empty %   DDR %\n";
  for (Unit unit : units) {
    const UnitCounters &counters = core.units[unsigned(unit)];
    if (counters.instructions == 0)
      continue;
    auto stall = [&](Stall kind) { return percent(counters.stalls[unsigned(kind)], cycles); };
    out << llvm::format("    %-4s %14llu %9llu %8.1f %9.1f %9.1f %7.1f\n", nameOf(unit).str().c_str(), (unsigned long long)counters.instructions,
                        (unsigned long long)counters.busy, percent(counters.busy, cycles), stall(Stall::Flag), stall(Stall::Empty),
                        stall(Stall::Bandwidth));
  }
}

void printOverlaps(const CoreCounters &core, llvm::raw_ostream &out) {
  for (auto [left, right] : overlaps) {
    const UnitCounters &a = core.units[unsigned(left)], &b = core.units[unsigned(right)];
    if (a.busy && b.busy)
      out << llvm::format("    PAL(%s/%s) %.1f %%\n", nameOf(left).str().c_str(), nameOf(right).str().c_str(),
                          percent(overlapOf(a.intervals, b.intervals), a.busy));
  }
}

void printMemories(const CoreCounters &core, llvm::raw_ostream &out) {
  for (Space space : {Space::DDR, Space::LLB, Space::L1, Space::L0A, Space::L0B, Space::L0C}) {
    unsigned index = unsigned(space);
    if (core.highWater[index])
      out << llvm::format("    %-4s read %12llu B, written %12llu B, used up to %llu\n", nameOf(space).str().c_str(),
                          (unsigned long long)core.bytesRead[index], (unsigned long long)core.bytesWritten[index],
                          (unsigned long long)core.highWater[index]);
  }
}

/// Busy cycles of each instruction of a core's program, the most first.
std::vector<std::pair<uint64_t, uint32_t>> costliest(const CoreCounters &core) {
  std::map<uint32_t, uint64_t> cyclesOf;
  for (const UnitCounters &unit : core.units)
    for (const Interval &interval : unit.intervals)
      cyclesOf[interval.instruction] += interval.end - interval.begin;
  std::vector<std::pair<uint64_t, uint32_t>> sorted;
  for (auto [instruction, cycles] : cyclesOf)
    sorted.emplace_back(cycles, instruction);
  llvm::sort(sorted, std::greater<>());
  return sorted;
}

void printCostliest(const CoreCounters &core, llvm::ArrayRef<Instruction> program, const Program &whole, llvm::raw_ostream &out) {
  constexpr size_t shown = 8;
  std::vector<std::pair<uint64_t, uint32_t>> sorted = costliest(core);
  for (size_t index = 0; index < std::min(shown, sorted.size()); ++index) {
    auto [cycles, instruction] = sorted[index];
    out << llvm::format("    %10llu cycles  %u: ", (unsigned long long)cycles, instruction) << toString(program[instruction]);
    if (uint32_t location = program[instruction].location; location < whole.locations.size())
      out << "  // " << whole.locations[location];
    out << "\n";
  }
}

llvm::json::Object unitJson(const UnitCounters &counters) {
  return llvm::json::Object{{"instructions", counters.instructions},
                            {"busy", counters.busy},
                            {"flags", counters.stalls[unsigned(Stall::Flag)]},
                            {"empty", counters.stalls[unsigned(Stall::Empty)]},
                            {"bandwidth", counters.stalls[unsigned(Stall::Bandwidth)]}};
}
} // namespace

uint64_t overlapOf(llvm::ArrayRef<Interval> left, llvm::ArrayRef<Interval> right) {
  uint64_t total = 0;
  for (size_t l = 0, r = 0; l < left.size() && r < right.size();) {
    uint64_t begin = std::max(left[l].begin, right[r].begin), end = std::min(left[l].end, right[r].end);
    total += end > begin ? end - begin : 0;
    left[l].end < right[r].end ? ++l : ++r;
  }
  return total;
}

std::string reportText(const Counters &counters, const Program &program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  uint64_t products = 0;
  unsigned active = 0;
  for (const CoreCounters &core : counters.cores) {
    products += core.products;
    active += core.end != 0;
  }
  out << "cycles " << counters.cycles << " of a self-made model of " << program.config.name << "; " << active << " cores, " << products
      << " products, " << llvm::format("%.1f", percent(products, counters.cycles * peakProducts * std::max(1u, active))) << " % of the peak of f16\n";
  for (unsigned index = 0; index < counters.cores.size(); ++index) {
    const CoreCounters &core = counters.cores[index];
    if (core.end == 0)
      continue;
    out << "  core " << index << ": " << core.end << " cycles\n";
    printUnits(core, core.end, out);
    printOverlaps(core, out);
    printMemories(core, out);
    if (index < program.cores.size())
      printCostliest(core, program.cores[index], program, out);
  }
  return text;
}

std::string reportJson(const Counters &counters, const Program &program) {
  llvm::json::Array cores;
  for (const CoreCounters &core : counters.cores) {
    llvm::json::Object all, memories;
    for (Unit unit : units)
      all[nameOf(unit)] = unitJson(core.units[unsigned(unit)]);
    for (Space space : {Space::DDR, Space::LLB, Space::L1, Space::L0A, Space::L0B, Space::L0C})
      memories[nameOf(space)] = llvm::json::Object{{"read", core.bytesRead[unsigned(space)]},
                                                   {"written", core.bytesWritten[unsigned(space)]},
                                                   {"highWater", core.highWater[unsigned(space)]}};
    cores.push_back(llvm::json::Object{{"end", core.end}, {"products", core.products}, {"units", std::move(all)}, {"memories", std::move(memories)}});
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{
                                      {"config", program.config.name}, {"cycles", counters.cycles}, {"cores", std::move(cores)}}));
  return text;
}

std::string chromeTrace(const Counters &counters, const Program &program) {
  llvm::json::Array events;
  for (unsigned core = 0; core < counters.cores.size(); ++core)
    for (Unit unit : units)
      for (const Interval &interval : counters.cores[core].units[unsigned(unit)].intervals) {
        const Instruction &instruction = program.cores[core][interval.instruction];
        events.push_back(llvm::json::Object{{"name", instruction.info().name},
                                            {"ph", "X"},
                                            {"pid", int64_t(core)},
                                            {"tid", nameOf(unit)},
                                            {"ts", interval.begin},
                                            {"dur", interval.end - interval.begin},
                                            {"args", llvm::json::Object{{"instruction", toString(instruction)}}}});
      }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::json::Value(llvm::json::Object{{"traceEvents", std::move(events)}}) << "\n";
  return text;
}

} // namespace perpend::quoin
