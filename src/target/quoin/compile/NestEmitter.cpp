//===- NestEmitter.cpp - nests, divided among cores -----------------------===//
#include "target/quoin/compile/NestEmitter.h"
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/Matrix.h"
#include "target/quoin/compile/Overwrites.h"
#include "target/quoin/compile/Spread.h"
#include "target/quoin/compile/TableRows.h"
#include "target/quoin/compile/Vector.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace llvm;

namespace perpend::quoin {

NestEmitter::NestEmitter(Program &program, ArrayRef<Piece> pieces, const Range &weights, const Decisions &decisions,
                         Trial trial)
    : program(program), pieces(pieces), decisions(decisions), choices(std::move(trial.choices)),
      expectedIdle(std::move(trial.idle)), idle(pieces.size()), expectedChunks(std::move(trial.chunks)),
      chunks(pieces.size()), prefetch(pieces, weights, program.config, decisions) {
  for (unsigned core = 0; core < program.config.coresPerCluster; ++core) // all that see the same DDR
    cores.push_back(std::make_unique<Core>(program));
}

void NestEmitter::begin(size_t piece, Step &step) {
  number = piece;
  prefetch.begin(number, step);
  placeNextChunks();
}

void NestEmitter::setLocation(StringRef text) {
  for (const std::unique_ptr<Core> &core : cores)
    core->stream.setLocation(text);
}

void NestEmitter::addAlone(Instruction instruction) {
  meet();
  cores.front()->stream.addAlone(std::move(instruction));
  meet();
}

NestEmitter::State NestEmitter::state() const {
  State state{{}, prefetch, idle[number], nextChunks};
  for (const std::unique_ptr<Core> &core : cores)
    state.cores.emplace_back(core->stream.state(), core->far);
  return state;
}

void NestEmitter::restore(const State &state) {
  for (auto [core, before] : zip_equal(cores, state.cores)) {
    core->stream.restore(before.first);
    core->far = before.second;
  }
  prefetch = state.prefetch;
  idle[number] = state.idle;
  nextChunks = state.nextChunks;
}

unsigned NestEmitter::finish() {
  unsigned inOrder = 0;
  Instruction halt;
  halt.opcode = Opcode::halt;
  for (const std::unique_ptr<Core> &core : cores) {
    core->instructions.push_back(halt);
    inOrder += core->stream.inOrder;
    program.cores.push_back(std::move(core->instructions));
  }
  return inOrder;
}

uint32_t NestEmitter::allCores() const { return maskTrailingOnes<uint32_t>(static_cast<unsigned>(cores.size())); }

void NestEmitter::meet() {
  if (cores.size() == 1)
    return;
  for (const std::unique_ptr<Core> &core : cores) {
    core->stream.meet(allCores());
    core->far.clear();
  }
}

/// Whether another core has used the range since the cores met, and one of the two writes it.
bool NestEmitter::isUsedByOthers(const Core &core, const FarRange &range) const {
  return any_of(cores, [&](const std::unique_ptr<Core> &other) {
    return other.get() != &core && any_of(other->far, [&](const FarRange &far) {
             return range.space == far.space && (range.isWritten || far.isWritten) && range.begin < far.end &&
                    far.begin < range.end;
           });
  });
}

/// Cores meet where one of them needs what another one has written, or writes what that reads.
bool NestEmitter::mustMeet(ArrayRef<Core *> working) const {
  return any_of(working, [&](const Core *core) {
    return any_of(core->stream.farRanges(), [&](const FarRange &range) { return isUsedByOthers(*core, range); });
  });
}

/// On the matrix unit or else on the vector unit; of a depthwise convolution, on the one that is faster.
std::string NestEmitter::emitPart(const Nest &part, ArrayRef<Spot> places, Stream &stream, unsigned sharers) {
  if (part.rows)
    return emitTableRows(part, places, program.config, stream);
  if (isDepthwiseNest(part, places, program.config, stream, choices)) {
    auto cyclesIf = [&](bool isDone) {
      return isDone ? estimatedCycles(stream.current(), program.config, sharers) : std::numeric_limits<uint64_t>::max();
    };
    const uint64_t matrix = cyclesIf(emitMatrixNest(part, places, program.config, stream, sharers, choices).empty());
    std::string problem = emitVectorNest(part, places, program.config, stream, sharers, choices);
    if (cyclesIf(problem.empty()) <= matrix)
      return problem;
    return emitMatrixNest(part, places, program.config, stream, sharers, choices);
  }
  std::string problem = emitMatrixNest(part, places, program.config, stream, sharers, choices);
  if (problem.empty() || (!part.borders.empty() && isMatrixNest(part, places, program.config, stream, choices)))
    return problem;
  return emitVectorNest(part, places, program.config, stream, sharers, choices);
}

/// Whether the first core had better only copy what the next step lacks, and the others compute what takes so long.
bool NestEmitter::isCopyLong(uint64_t cycles) const {
  return cores.size() > 1 && decisions.cores && decisions.ahead &&
         prefetch.missingBytes(number) / program.config.ddrBytesPerCycle + (nextChunks ? nextChunks->saved : 0) >
             cycles / (cores.size() - 1);
}

/// Cycles of copies for which it saves more time than it takes that the first core only copies: if it has less idle
/// time until some step than copies for that take, that step waits. 0: it does not.
uint64_t NestEmitter::cyclesOfCopying(const Division &all, const Division &others) const {
  constexpr size_t mostSteps = 16;
  constexpr uint64_t certainty = 2; // both are estimates
  uint64_t lacking = 0, until = 0;
  for (auto [step, bytes] : enumerate(prefetch.missingAhead(number, mostSteps))) {
    until += expectedIdle[number + step];
    const uint64_t copies = bytes / program.config.ddrBytesPerCycle;
    lacking = std::max(lacking, copies - std::min(copies, until));
  }
  const uint64_t more = others.cycles - std::min(others.cycles, expectedIdle[number]);
  const uint64_t cost = others.cycles - std::min(others.cycles, all.cycles), saved = std::min(lacking, more);
  return saved > certainty * cost ? expectedIdle[number] + saved : 0;
}

/// Among all cores, or all but the first one.
NestEmitter::Division NestEmitter::divide(const Nest &nest, ArrayRef<Spot> places) {
  Division all = divide(nest, places, decisions.cores ? cores.size() : 1);
  const bool isLong = isCopyLong(all.cycles), isKnown = !expectedIdle.empty() && decisions.ahead;
  if (all.parts.size() != cores.size() || cores.size() == 1 || !(isLong || isKnown))
    return all;
  Division others = divide(nest, places, cores.size() - 1);
  uint64_t copying = isLong ? prefetch.missingBytes(number) / program.config.ddrBytesPerCycle : 0;
  if (isKnown)
    copying = std::max(copying, cyclesOfCopying(all, others));
  if (copying == 0)
    return all;
  if (!isSpreadWorth(all, others, copying))
    return others;
  all.between = copying;
  return all;
}

/// Whether it takes less time that the first core copies between the loads of its part than that it has none.
bool NestEmitter::isSpreadWorth(const Division &all, const Division &others, uint64_t copying) {
  const Config &config = program.config;
  SmallVector<Range> used;
  for (const Staged &each : all.staged)
    used.push_back({each.to, each.bytes});
  const std::vector<Copy> copies = Prefetch(prefetch).next(number, used, copying * config.ddrBytesPerCycle);
  uint64_t alone = 0;
  for (const Copy &copy : copies)
    alone += transferStart + config.ddrLatency + copy.bytes * copy.rows / config.ddrBytesPerCycle;
  Stream &stream = cores.front()->stream;
  const auto sharers = static_cast<unsigned>(all.parts.size());
  if (!emitPart(all.parts.back(), all.places, stream, sharers).empty())
    return false;
  const uint64_t between = bestSpread(copies, stream.current(), config, sharers).cycles;
  return std::max(all.cycles, between) < std::max(others.cycles, alone);
}

/// The division whose first part, which is the largest, takes the least time, with operands where they are or with
/// those in LLB that all parts read.
NestEmitter::Division NestEmitter::divide(const Nest &nest, ArrayRef<Spot> places, size_t count) {
  const std::vector<std::vector<Nest>> divisions = divisionsOf(nest, places, static_cast<unsigned>(count));
  auto [known, isNew] = choices.divisions.try_emplace(shapeOf(nest, places, static_cast<unsigned>(count)));
  Choices::Divided &best = known->second;
  const auto options = static_cast<unsigned>(2 * divisions.size());
  for (unsigned option = 0; isNew && option < options; ++option) {
    const Division division = divisionOf(divisions[option / 2], places, option % 2);
    const auto sharers = static_cast<unsigned>(division.parts.size());
    if ((option % 2 && (division.staged.empty() || !decisions.staging)) ||
        !emitPart(division.parts.front(), division.places, cores.front()->stream, sharers).empty())
      continue;
    uint64_t cycles = estimatedCycles(cores.front()->stream.current(), program.config, sharers);
    for (const Staged &each : division.staged)
      cycles += each.bytes / program.config.ddrBytesPerCycle + program.config.ddrLatency;
    if (best.cycles == 0 || cycles < best.cycles)
      best = {option, cycles};
  }
  const unsigned option = best.option < options ? best.option : 0;
  Division division = divisionOf(divisions[option / 2], places, option % 2);
  division.cycles = best.cycles;
  return division;
}

NestEmitter::Division NestEmitter::divisionOf(const std::vector<Nest> &parts, ArrayRef<Spot> places, bool isStaged) {
  Division division{parts, SmallVector<Spot>(places), {}};
  if (isStaged)
    division.staged = stagedOf(parts, division.places, prefetch.near(number));
  return division;
}

std::vector<Core *> NestEmitter::workersOf(size_t parts) {
  std::vector<Core *> working;
  for (const std::unique_ptr<Core> &core : ArrayRef(cores).take_back(parts))
    working.push_back(core.get());
  if (parts == cores.size())
    std::rotate(working.begin(), working.begin() + 1, working.end());
  return working;
}

/// The first core, which moves between DDR and LLB, copies constants of later steps beside what all do, which takes so
/// long: what the next step lacks, and as much as it has time for between its own loads and behind them. between:
/// cycles for which it does, in any case.
void NestEmitter::addCopies(std::vector<Core *> &working, uint64_t cycles, uint64_t between) {
  if (!decisions.ahead)
    return;
  Core &copying = *cores.front();
  if (!is_contained(working, &copying))
    return copyAhead(working, cycles, false);
  copyAhead(working, std::max(between, cyclesBetween(cycles, static_cast<unsigned>(working.size()))), true);
}

/// For copies between the loads of its part, which takes so long: of the time without loads as much as makes the part
/// hardly longer, by an estimate. That says nothing about chunks of the next step, which come behind all.
uint64_t NestEmitter::cyclesBetween(uint64_t cycles, unsigned sharers) const {
  const Section &section = cores.front()->stream.current();
  const uint64_t loads = busyCycles(section, Unit::LD, program.config), free = cycles - std::min(cycles, loads);
  const uint64_t least = (free - std::min(free, loads)) / 2, longest = cycles + cycles / 64;
  if (nextChunks)
    return least;
  constexpr uint64_t shares = 8;
  for (uint64_t share = shares - 1; free * share / shares > least; --share) {
    const uint64_t most = free * share / shares;
    const std::vector<Copy> copies = Prefetch(prefetch).next(number, stagedNow, most * program.config.ddrBytesPerCycle);
    if (bestSpread(copies, section, program.config, sharers).cycles <= longest)
      return most;
  }
  return least;
}

/// The first core has so many cycles for that, of which the answer of DDR takes some.
void NestEmitter::copyAhead(std::vector<Core *> &working, uint64_t cycles, bool isBetween) {
  cycles -= std::min<uint64_t>(cycles, transferStart + program.config.ddrLatency);
  idle[number] += cycles;
  Core &copying = *cores.front();
  uint64_t moved = 0; // bytes of DDR
  for (const Core *core : working)
    for (const FarRange &range : core->stream.farRanges())
      moved += range.space == Space::DDR ? range.end - range.begin : 0;
  if (nextChunks && nextChunks->copied == 0) {
    if (!is_contained(working, &copying)) {
      copying.stream.begin();
      working.insert(working.begin(), &copying);
    }
    addNextChunks(cycles, copying.stream);
    moved += static_cast<uint64_t>(nextChunks->copied) * nextChunks->rolling.ring.chunkBytes;
  }
  const uint64_t all = cycles * program.config.ddrBytesPerCycle, bytes = all - std::min(all, moved);
  const std::vector<Copy> copies = prefetch.next(number, stagedNow, bytes);
  if (copies.empty())
    return;
  if (isBetween)
    return addSpread(copies, copying.stream, program.config, static_cast<unsigned>(working.size()));
  if (!is_contained(working, &copying)) {
    copying.stream.begin();
    working.insert(working.begin(), &copying);
  }
  quoin::addCopies(copies, copying.stream);
}

/// Sections of these cores are in their streams. Where the cores have to meet, what a section loads at its beginning
/// comes before that, unless another core may still write it: until the last core is there, load units have time.
void NestEmitter::endSections(ArrayRef<Core *> working) {
  std::vector<std::vector<FarRange>> used;
  for (const Core *core : working)
    used.push_back(core->stream.farRanges());
  if (mustMeet(working)) {
    for (const std::unique_ptr<Core> &core : cores)
      if (is_contained(working, core.get()))
        core->stream.endBehindMeeting(allCores(), [&](const FarRange &range) { return !isUsedByOthers(*core, range); });
      else
        core->stream.meet(allCores());
    for (const std::unique_ptr<Core> &core : cores)
      core->far.clear();
  } else {
    for (Core *core : working)
      core->stream.end();
  }
  for (auto [core, ranges] : zip_equal(working, used))
    append_range(core->far, ranges);
}

std::optional<uint64_t> NestEmitter::cyclesOf(ArrayRef<std::vector<Nest>> parts, ArrayRef<Spot> places) {
  Stream &stream = cores.front()->stream;
  const auto sharers = static_cast<unsigned>(parts.size());
  uint64_t most = 0;
  for (const std::vector<Nest> &part : parts) {
    uint64_t cycles = 0;
    for (const Nest &nest : part) {
      if (!emitPart(nest, places, stream, sharers).empty())
        return std::nullopt;
      cycles += estimatedCycles(stream.current(), program.config, sharers);
    }
    most = std::max(most, cycles);
  }
  return most;
}

/// Where no division is for most of the cores, each gets a part of the range that is written, or those that write to
/// the same lines do that one after the other, if that takes less time.
std::string NestEmitter::emitNest(const Nest &nest, ArrayRef<Spot> places) {
  const Nest simple = simplified(nest);
  const Division division = divide(simple, places);
  const auto count = static_cast<unsigned>(cores.size());
  if (!decisions.cores || 2 * division.parts.size() > count)
    return emitDivision(division);
  auto turns = divisionInTurns(simple, count);
  std::array<Division, 2> both;
  uint64_t inTurns = 0;
  for (unsigned turn = 0; turns && turn < both.size(); ++turn) {
    constexpr uint64_t meeting = 100;
    both[turn] = divisionOf((*turns)[turn], places, false);
    const auto sharers = static_cast<unsigned>(both[turn].parts.size());
    Stream &stream = cores.front()->stream;
    if (!all_of(both[turn].parts, [&](auto &part) { return emitPart(part, places, stream, sharers).empty(); }) ||
        !emitPart(both[turn].parts.front(), places, stream, sharers).empty()) {
      turns.reset();
      break;
    }
    both[turn].cycles = estimatedCycles(stream.current(), program.config, sharers);
    inTurns += both[turn].cycles + meeting;
  }
  const uint64_t least = turns ? std::min(inTurns, division.cycles) : division.cycles;
  const std::vector<std::vector<Nest>> ranges = rangesOf(simple, places[simple.store.buffer], count);
  const std::optional<uint64_t> inRanges = ranges.size() > 1 ? cyclesOf(ranges, places) : std::nullopt;
  if (inRanges && *inRanges < least)
    return emitRanges(ranges, places);
  if (!turns || inTurns >= division.cycles)
    return emitDivision(division);
  std::string problem = emitDivision(both[0]);
  return problem.empty() ? emitDivision(both[1]) : problem;
}

std::string NestEmitter::emitRanges(ArrayRef<std::vector<Nest>> parts, ArrayRef<Spot> places) {
  stagedNow.clear();
  const std::vector<Core *> all = workersOf(parts.size());
  const auto sharers = static_cast<unsigned>(parts.size());
  bool isDone = false;
  for (size_t turn = 0; !isDone; ++turn) {
    std::vector<Core *> working;
    uint64_t cycles = 0;
    isDone = true;
    for (auto [part, core] : zip_equal(parts, all)) {
      isDone &= turn + 1 >= part.size();
      if (turn >= part.size())
        continue;
      std::string problem = emitPart(part[turn], places, core->stream, sharers);
      if (!problem.empty())
        return part[turn].name + ": " + problem;
      cycles = std::max(cycles, estimatedCycles(core->stream.current(), program.config, sharers));
      working.push_back(core);
    }
    addCopies(working, cycles);
    endSections(working);
  }
  return "";
}

std::string NestEmitter::emitDivision(const Division &division) {
  stagedNow.clear();
  for (const Staged &each : division.staged)
    stagedNow.push_back({each.to, each.bytes});
  if (!division.staged.empty()) {
    emitStaging(division.staged, cores.front()->stream);
    endSections(cores.front().get());
  }
  std::vector<Core *> working = workersOf(division.parts.size());
  for (auto [part, core] : zip_equal(division.parts, working)) {
    std::string problem = emitPart(part, division.places, core->stream, static_cast<unsigned>(division.parts.size()));
    if (!problem.empty())
      return part.name + ": " + problem;
  }
  addCopies(working, division.cycles, division.between);
  endSections(working);
  return "";
}

bool NestEmitter::emitRows(const Step &step, ArrayRef<Spot> places) {
  stagedNow.clear();
  const std::optional<RowChain> chain = decisions.chains ? rowChainOf(*step.nests) : std::nullopt;
  if (!chain || !keepsOperands(step, *chain))
    return false;
  for (size_t count : {decisions.cores ? cores.size() : 1, cores.size() - 1}) {
    const std::vector<std::vector<RowChain>> divisions = divisionsOf(*chain, places, static_cast<unsigned>(count));
    const auto *parts = &divisions.front();
    for (const std::vector<RowChain> &division : divisions)
      parts = division.size() > parts->size() ? &division : parts;
    std::vector<Core *> working = workersOf(parts->size());
    for (auto [part, core] : zip_equal(*parts, working))
      if (!emitRowChain(part, places, program.config, core->stream, static_cast<unsigned>(parts->size())).empty())
        return false;
    const uint64_t cycles =
        estimatedCycles(working.front()->stream.current(), program.config, static_cast<unsigned>(parts->size()));
    if (parts->size() == cores.size() && isCopyLong(cycles))
      continue;
    addCopies(working, cycles);
    endSections(working);
    break;
  }
  return true;
}

} // namespace perpend::quoin
