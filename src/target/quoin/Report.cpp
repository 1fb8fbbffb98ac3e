//===- Report.cpp - where the cycles of a run went -------------------------===//

#include "target/quoin/Counters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <map>

namespace perpend::quoin {
namespace {
constexpr Unit units[] = {Unit::LD, Unit::FD, Unit::MX, Unit::VX, Unit::ST, Unit::SC};
constexpr std::pair<Unit, Unit> overlaps[] = {
    {Unit::LD, Unit::MX}, {Unit::FD, Unit::MX}, {Unit::VX, Unit::MX}, {Unit::LD, Unit::VX}, {Unit::ST, Unit::MX}};

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
    out << llvm::format("    %-4s %14llu %9llu %8.1f %9.1f %9.1f %7.1f\n", nameOf(unit).str().c_str(),
                        (unsigned long long)counters.instructions, (unsigned long long)counters.busy,
                        percent(counters.busy, cycles), stall(Stall::Flag), stall(Stall::Empty),
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

void printCostliest(const CoreCounters &core, llvm::ArrayRef<Instruction> program, const Program &whole,
                    llvm::raw_ostream &out) {
  constexpr size_t shown = 8;
  std::vector<std::pair<uint64_t, uint32_t>> sorted = costliest(core);
  for (size_t index = 0; index < std::min(shown, sorted.size()); ++index) {
    auto [cycles, instruction] = sorted[index];
    out << llvm::format("    %10llu cycles  %u: ", (unsigned long long)cycles, instruction)
        << toString(program[instruction]);
    if (uint32_t location = program[instruction].location; location < whole.locations.size())
      out << "  // " << whole.locations[location];
    out << "\n";
  }
}

/// What a core did at one place of the model, which may have come several times.
struct Place {
  uint64_t cycles = 0; ///< until the core began something else
  unsigned times = 0;
  std::array<uint64_t, numUnits> busy = {};
};

/// By location, the longest first. Instructions that follow on one another and have one location began together.
std::vector<std::pair<uint32_t, Place>> placesOf(const CoreCounters &core, llvm::ArrayRef<Instruction> program) {
  struct Stay {
    uint32_t location = noLocation;
    uint64_t begin = std::numeric_limits<uint64_t>::max();
    std::array<uint64_t, numUnits> busy = {};
  };
  std::vector<Stay> stays;
  std::vector<size_t> stayOf;
  for (const Instruction &instruction : program) {
    if (stays.empty() || stays.back().location != instruction.location)
      stays.push_back({instruction.location});
    stayOf.push_back(stays.size() - 1);
  }
  for (auto [unit, counters] : llvm::enumerate(core.units))
    for (const Interval &interval : counters.intervals) {
      Stay &stay = stays[stayOf[interval.instruction]];
      stay.begin = std::min(stay.begin, interval.begin);
      stay.busy[unit] += interval.end - interval.begin;
    }
  llvm::erase_if(stays, [](const Stay &stay) { return stay.begin == std::numeric_limits<uint64_t>::max(); });
  std::map<uint32_t, Place> places;
  for (size_t index = 0; index < stays.size(); ++index) {
    Place &place = places[stays[index].location];
    const uint64_t end = index + 1 < stays.size() ? stays[index + 1].begin : core.end;
    place.cycles += end - std::min(end, stays[index].begin);
    ++place.times;
    for (unsigned unit = 0; unit < numUnits; ++unit)
      place.busy[unit] += stays[index].busy[unit];
  }
  std::vector<std::pair<uint32_t, Place>> sorted(places.begin(), places.end());
  llvm::sort(sorted, [](const auto &left, const auto &right) {
    return std::pair(right.second.cycles, left.first) < std::pair(left.second.cycles, right.first);
  });
  return sorted;
}

llvm::StringRef locationName(uint32_t location, const Program &program) {
  return location < program.locations.size() ? llvm::StringRef(program.locations[location]) : "elsewhere";
}

/// Of the last core, which moves nothing for others.
void printPlaces(const Counters &counters, const Program &program, llvm::raw_ostream &out) {
  const size_t last = std::min(counters.cores.size(), program.cores.size());
  if (last == 0)
    return;
  constexpr size_t shown = 24;
  const CoreCounters &core = counters.cores[last - 1];
  std::vector<std::pair<uint32_t, Place>> places = placesOf(core, program.cores[last - 1]);
  out << "  places in the model, by core " << last - 1 << "\n        cycles      %   times";
  for (Unit unit : units)
    out << llvm::format("   %s %%", nameOf(unit).str().c_str());
  out << "\n";
  for (auto &[location, place] : llvm::ArrayRef(places).take_front(shown)) {
    out << llvm::format("    %10llu %6.1f %7u", (unsigned long long)place.cycles, percent(place.cycles, core.end),
                        place.times);
    for (Unit unit : units)
      out << llvm::format(" %6.1f", percent(place.busy[unsigned(unit)], place.cycles));
    out << "  " << locationName(location, program) << "\n";
  }
}

llvm::json::Array placesJson(const CoreCounters &core, llvm::ArrayRef<Instruction> instructions,
                             const Program &program) {
  llvm::json::Array list;
  for (auto &[location, place] : placesOf(core, instructions)) {
    llvm::json::Object busy;
    for (Unit unit : units)
      busy[nameOf(unit)] = place.busy[unsigned(unit)];
    list.push_back(llvm::json::Object{{"place", locationName(location, program)},
                                      {"cycles", place.cycles},
                                      {"times", place.times},
                                      {"busy", std::move(busy)}});
  }
  return list;
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
  out << "cycles " << counters.cycles << " of a self-made model of " << program.config.name << "; " << active
      << " cores, " << products << " products, "
      << llvm::format("%.1f", percent(products, counters.cycles * peakProducts * std::max(1u, active)))
      << " % of the peak of f16\n";
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
  printPlaces(counters, program, out);
  return text;
}

std::string reportJson(const Counters &counters, const Program &program) {
  llvm::json::Array cores;
  for (auto [index, core] : llvm::enumerate(counters.cores)) {
    llvm::json::Object all, memories;
    for (Unit unit : units)
      all[nameOf(unit)] = unitJson(core.units[unsigned(unit)]);
    for (Space space : {Space::DDR, Space::LLB, Space::L1, Space::L0A, Space::L0B, Space::L0C})
      memories[nameOf(space)] = llvm::json::Object{{"read", core.bytesRead[unsigned(space)]},
                                                   {"written", core.bytesWritten[unsigned(space)]},
                                                   {"highWater", core.highWater[unsigned(space)]}};
    cores.push_back(llvm::json::Object{
        {"end", core.end}, {"products", core.products}, {"units", std::move(all)}, {"memories", std::move(memories)}});
    if (index < program.cores.size())
      (*cores.back().getAsObject())["places"] = placesJson(core, program.cores[index], program);
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::formatv("{0:2}\n",
                       llvm::json::Value(llvm::json::Object{
                           {"config", program.config.name}, {"cycles", counters.cycles}, {"cores", std::move(cores)}}));
  return text;
}

std::string chromeTrace(const Counters &counters, const Program &program) {
  llvm::json::Array events;
  for (unsigned core = 0; core < counters.cores.size(); ++core)
    for (Unit unit : units)
      for (const Interval &interval : counters.cores[core].units[unsigned(unit)].intervals) {
        const Instruction &instruction = program.cores[core][interval.instruction];
        events.push_back(
            llvm::json::Object{{"name", instruction.info().name},
                               {"ph", "X"},
                               {"pid", int64_t(core)},
                               {"tid", nameOf(unit)},
                               {"ts", interval.begin},
                               {"dur", interval.end - interval.begin},
                               {"args", llvm::json::Object{{"instruction", toString(instruction)},
                                                           {"place", locationName(instruction.location, program)}}}});
      }
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::json::Value(llvm::json::Object{{"traceEvents", std::move(events)}}) << "\n";
  return text;
}

} // namespace perpend::quoin
