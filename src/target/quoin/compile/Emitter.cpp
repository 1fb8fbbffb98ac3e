//===- Emitter.cpp - instructions for the steps of main -------------------===//
#include "target/quoin/compile/Emitter.h"
#include "target/quoin/compile/Choices.h"
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/Matrix.h"
#include "target/quoin/compile/Overwrites.h"
#include "target/quoin/compile/Pieces.h"
#include "target/quoin/compile/Prefetch.h"
#include "target/quoin/compile/Records.h"
#include "target/quoin/compile/Rolling.h"
#include "target/quoin/compile/RowChain.h"
#include "target/quoin/compile/Staging.h"
#include "target/quoin/compile/Stream.h"
#include "target/quoin/compile/TableRows.h"
#include "target/quoin/compile/Vector.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <map>
#include <set>

using namespace llvm;

namespace perpend::quoin {
namespace {

struct Core {
  explicit Core(Program &program) : stream(program, instructions) {}

  std::vector<Instruction> instructions;
  Stream stream;
  std::vector<FarRange> far; ///< that it has used since the cores met
};

class Emitter {
public:
  /// What a first emission finds for a second one.
  struct Trial {
    Choices choices;
    std::vector<uint64_t> idle; ///< of each piece: cycles that the first core has for copies
  };
  Emitter(MainProgram &main, const Config &config, const Decisions &decisions, ScalarCode scalar, Trial trial = {})
      : main(main), decisions(decisions), pieces(piecesOf(main, config, decisions)), choices(std::move(trial.choices)),
        expectedIdle(std::move(trial.idle)), idle(pieces.size()), prefetch(pieces, main.weights, config, decisions),
        records(main, program) {
    program.config = config;
    program.scalar = std::move(scalar);
    for (unsigned number = 0; number < config.coresPerCluster; ++number) // all that see the same DDR
      cores.push_back(std::make_unique<Core>(program));
  }
  Expected<Program> emit();
  Trial trial() { return {std::move(choices), std::move(idle)}; }

private:
  void nameMemory();
  void reserveLocals();
  void emitPiece(Piece &piece);
  void emitStep(Step &step);
  /// Why the units cannot; empty: they do.
  std::string emitNests(const Step &step);
  SmallVector<Spot> placesOf(const Step &step, ArrayRef<Nest> nests);
  std::string emitNest(const Nest &nest, ArrayRef<Spot> places);
  std::string emitPart(const Nest &part, ArrayRef<Spot> places, Stream &stream, unsigned sharers);
  /// Parts of a nest for cores, and the buffers that they read from LLB after all.
  struct Division {
    std::vector<Nest> parts;
    SmallVector<Spot> places;
    std::vector<Staged> staged;
    uint64_t cycles = 0; ///< about, of the first part
  };
  Division divide(const Nest &nest, ArrayRef<Spot> places);
  Division divide(const Nest &nest, ArrayRef<Spot> places, size_t count);
  std::string emitDivision(const Division &division);
  bool isCopyLong(uint64_t cycles) const;
  bool isCopyingWorth(const Division &all, const Division &others) const;
  Division divisionOf(const std::vector<Nest> &parts, ArrayRef<Spot> places, bool isStaged);
  void meetIfNeeded(ArrayRef<Core *> working);
  /// The cores that get so many parts: not the first one, if another one is free; else it gets the last part, which is
  /// no longer than others, because it also copies.
  std::vector<Core *> workersOf(size_t parts);
  void addCopies(std::vector<Core *> &working, uint64_t cycles);
  void endSections(ArrayRef<Core *> working);
  bool emitRows(const Step &step, ArrayRef<Spot> places);
  bool emitRolling(const Step &step, ArrayRef<Spot> places);
  bool emitChunks(const EvenParts &division, ArrayRef<Spot> places, Rolling rolling);
  void keepLastChunk(const Rolling &rolling);
  std::optional<Rolling> rollingOf(const EvenParts &division, ArrayRef<Spot> places, unsigned input, uint64_t &least);
  void copyAhead(std::vector<Core *> &working, uint64_t cycles);
  /// No core goes on before all have done what they have been given.
  void meet();
  void call(const ScalarCall &scalar);

  MainProgram &main;
  const Decisions decisions;
  std::vector<Piece> pieces; ///< of the steps
  Program program;
  Choices choices;
  std::vector<uint64_t> expectedIdle; ///< of each piece: what another emission found
  std::vector<uint64_t> idle;         ///< of each piece: cycles that the first core has for copies
  Prefetch prefetch;
  size_t number = 0;                        ///< of the piece
  std::vector<std::unique_ptr<Core>> cores; ///< the first runs what is not divided
  Records records;
  Range locals;                 ///< what kernels keep between their nests, one after the other
  Range lastRing;               ///< of LLB, of the last step whose constant came in chunks
  std::vector<Range> stagedNow; ///< of LLB, by the nest that is emitted
};

} // namespace

static ArrayRef<Buffer> ownBuffers(const Kernel &kernel) {
  return ArrayRef(kernel.buffers).drop_front(kernel.arguments);
}

/// Of what a kernel keeps between its nests.
static uint64_t bytesOf(const Buffer &buffer) {
  return buffer.isTable() ? 0 : alignTo(static_cast<uint64_t>(buffer.elements) * buffer.elementBytes, wordBytes);
}

void Emitter::reserveLocals() {
  uint64_t most = 0;
  for (const Step &step : main.steps) {
    uint64_t bytes = 0;
    for (const Buffer &buffer : step.nests ? ownBuffers(*step.nests) : ArrayRef<Buffer>())
      bytes += bytesOf(buffer);
    most = std::max(most, bytes);
  }
  locals = records.takeRange(most);
}

void Emitter::call(const ScalarCall &scalar) {
  Instruction call;
  call.opcode = Opcode::sc_call;
  call.axis = static_cast<uint32_t>(scalar.entry);
  call.dst() = {Space::DDR, 0, ownCore, scalar.record};
  meet();
  cores.front()->stream.addAlone(std::move(call));
  meet();
}

void Emitter::meet() {
  if (cores.size() == 1)
    return;
  for (const std::unique_ptr<Core> &core : cores) {
    core->stream.meet(maskTrailingOnes<uint32_t>(static_cast<unsigned>(cores.size())));
    core->far.clear();
  }
}

/// Cores meet where one of them needs what another one has written, or writes what that reads.
void Emitter::meetIfNeeded(ArrayRef<Core *> working) {
  auto conflict = [](const FarRange &one, const FarRange &other) {
    return one.space == other.space && (one.isWritten || other.isWritten) && one.begin < other.end &&
           other.begin < one.end;
  };
  for (const Core *core : working)
    for (const FarRange &range : core->stream.farRanges())
      for (const std::unique_ptr<Core> &other : cores)
        if (other.get() != core && any_of(other->far, [&](const FarRange &far) { return conflict(range, far); }))
          return meet();
}

/// On the matrix unit or else on the vector unit; of a depthwise convolution, on the one that is faster.
std::string Emitter::emitPart(const Nest &part, ArrayRef<Spot> places, Stream &stream, unsigned sharers) {
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
bool Emitter::isCopyLong(uint64_t cycles) const {
  return cores.size() > 1 && decisions.cores && decisions.ahead &&
         prefetch.missingBytes(number) / program.config.ddrBytesPerCycle > cycles / (cores.size() - 1);
}

/// Whether it saves more time than it takes that the first core only copies: if it has less idle time until some step
/// than copies for that take, that step waits.
bool Emitter::isCopyingWorth(const Division &all, const Division &others) const {
  constexpr size_t mostSteps = 16;
  constexpr uint64_t certainty = 2; // both are estimates
  uint64_t lacking = 0, until = 0;
  for (auto [step, bytes] : enumerate(prefetch.missingAhead(number, mostSteps))) {
    until += expectedIdle[number + step];
    const uint64_t copies = bytes / program.config.ddrBytesPerCycle;
    lacking = std::max(lacking, copies - std::min(copies, until));
  }
  const uint64_t more = others.cycles - std::min(others.cycles, expectedIdle[number]);
  const uint64_t cost = others.cycles - std::min(others.cycles, all.cycles);
  return std::min(lacking, more) > certainty * cost;
}

/// Among all cores, or all but the first one.
Emitter::Division Emitter::divide(const Nest &nest, ArrayRef<Spot> places) {
  Division all = divide(nest, places, decisions.cores ? cores.size() : 1);
  const bool isLong = isCopyLong(all.cycles), isKnown = !expectedIdle.empty() && decisions.ahead;
  if (all.parts.size() != cores.size() || cores.size() == 1 || !(isLong || isKnown))
    return all;
  Division others = divide(nest, places, cores.size() - 1);
  return isLong || isCopyingWorth(all, others) ? others : all;
}

/// The division whose first part, which is the largest, takes the least time, with operands where they are or with
/// those in LLB that all parts read.
Emitter::Division Emitter::divide(const Nest &nest, ArrayRef<Spot> places, size_t count) {
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

Emitter::Division Emitter::divisionOf(const std::vector<Nest> &parts, ArrayRef<Spot> places, bool isStaged) {
  Division division{parts, SmallVector<Spot>(places), {}};
  if (isStaged)
    division.staged = stagedOf(parts, division.places, prefetch.near(number));
  return division;
}

std::vector<Core *> Emitter::workersOf(size_t parts) {
  std::vector<Core *> working;
  for (const std::unique_ptr<Core> &core : ArrayRef(cores).take_back(parts))
    working.push_back(core.get());
  if (parts == cores.size())
    std::rotate(working.begin(), working.begin() + 1, working.end());
  return working;
}

/// The first core, which moves between DDR and LLB, copies constants of later steps beside what all do, which takes so
/// long: what the next step lacks, and as much as it has time for behind its own loads.
void Emitter::addCopies(std::vector<Core *> &working, uint64_t cycles) {
  if (!decisions.ahead)
    return;
  Core &copying = *cores.front();
  const bool isFree = !is_contained(working, &copying);
  const uint64_t loads = isFree ? 0 : busyCycles(copying.stream.current(), Unit::LD, program.config);
  copyAhead(working, isFree ? cycles : (cycles - std::min(cycles, 2 * loads)) / 2); // they come in between
}

/// The first core has so many cycles for that.
void Emitter::copyAhead(std::vector<Core *> &working, uint64_t cycles) {
  idle[number] += cycles;
  Core &copying = *cores.front();
  uint64_t bytes = cycles * program.config.ddrBytesPerCycle;
  for (const Core *core : working)
    for (const FarRange &range : core->stream.farRanges())
      if (range.space == Space::DDR)
        bytes -= std::min(bytes, range.end - range.begin);
  const std::vector<Copy> copies = prefetch.next(number, stagedNow, bytes);
  if (!is_contained(working, &copying) && !copies.empty()) {
    copying.stream.begin();
    working.insert(working.begin(), &copying);
  }
  for (const Copy &copy : copies)
    if (copy.rows > 1)
      copying.stream.addRows(copy.from, copy.to, copy.bytes, copy.rows, copy.pitch);
    else
      copying.stream.addCopy(copy.from, copy.to, copy.bytes);
}

/// Sections of these cores are in their streams.
void Emitter::endSections(ArrayRef<Core *> working) {
  meetIfNeeded(working);
  for (Core *core : working) {
    append_range(core->far, core->stream.farRanges());
    core->stream.end();
  }
}

/// Cores that would write to the same lines do that one after the other, where fewer cores would take longer.
std::string Emitter::emitNest(const Nest &nest, ArrayRef<Spot> places) {
  const Nest simple = simplified(nest);
  const Division division = divide(simple, places);
  auto turns = decisions.cores && 2 * division.parts.size() <= cores.size()
                   ? divisionInTurns(simple, static_cast<unsigned>(cores.size()))
                   : std::nullopt;
  uint64_t cycles = 0;
  std::array<Division, 2> both;
  for (unsigned turn = 0; turns && turn < both.size(); ++turn) {
    constexpr uint64_t meeting = 100;
    both[turn] = divisionOf((*turns)[turn], places, false);
    const auto sharers = static_cast<unsigned>(both[turn].parts.size());
    Stream &stream = cores.front()->stream;
    if (!emitPart(both[turn].parts.front(), both[turn].places, stream, sharers).empty()) {
      turns.reset();
      break;
    }
    both[turn].cycles = estimatedCycles(stream.current(), program.config, sharers);
    cycles += both[turn].cycles + meeting;
  }
  auto canBeEmitted = [&](const Division &turn) {
    Stream &stream = cores.front()->stream;
    const auto sharers = static_cast<unsigned>(turn.parts.size());
    return all_of(turn.parts, [&](const Nest &part) { return emitPart(part, turn.places, stream, sharers).empty(); });
  };
  if (!turns || cycles >= division.cycles || !all_of(both, canBeEmitted))
    return emitDivision(division);
  std::string problem = emitDivision(both[0]);
  return problem.empty() ? emitDivision(both[1]) : problem;
}

std::string Emitter::emitDivision(const Division &division) {
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
  addCopies(working, division.cycles);
  endSections(working);
  return "";
}

/// False: the kernel is no chain, its rows are too long, or it would write over operands that it reads later.
bool Emitter::emitRows(const Step &step, ArrayRef<Spot> places) {
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

/// The chunks with which a part, the largest one, and the copies take the least time, if that is less than `least`.
std::optional<Rolling> Emitter::rollingOf(const EvenParts &division, ArrayRef<Spot> places, unsigned input,
                                          uint64_t &least) {
  std::optional<Rolling> best;
  const Nest &part = division.parts.front();
  const auto workers = static_cast<unsigned>(division.parts.size());
  bool isFound = false;
  for (uint64_t bytes = program.config.llbBytes / mostRingShare; !isFound && bytes >= program.config.llbBytes / 128;
       bytes /= 2) {
    NearMemory near = prefetch.near(number), other = near;
    other.take(lastRing); // other cores may still read that
    std::optional<uint64_t> to = other.highest(bytes);
    if (!to)
      to = near.highest(bytes);
    if (!to)
      continue;
    for (Rolling &each : rollingsOf(part, places, input, bytes)) {
      each.ring.byte = *to;
      each.ring.cores = 1; // any mask takes as long
      if (division.rest > 0) {
        const std::optional<OddRows> odd = oddRowsOf(division, each, 0);
        if (!odd)
          continue;
        each.ring.odd = *odd;
      }
      Stream &stream = cores.back()->stream;
      if (!emitMatrixNest(part, places, program.config, stream, workers, choices, each.ring).empty())
        continue;
      isFound = true;
      constexpr uint64_t meeting = 100;
      const uint64_t copy = each.copyCycles(program.config), count = static_cast<uint64_t>(each.chunks());
      const uint64_t cycles = estimatedCycles(stream.current(), program.config, workers) + count * meeting;
      const uint64_t all = std::max(cycles, copy * count) + copy;
      if (all < least) {
        best = each;
        least = all;
      }
    }
  }
  return best;
}

/// A product whose constant comes in chunks. False: it has to be done in another way.
bool Emitter::emitRolling(const Step &step, ArrayRef<Spot> places) {
  const unsigned input = *pieces[number].rolled;
  const Nest nest = simplified(waysOf(step, decisions).front().front());
  auto baseOf = [&](const Nest &part) {
    auto load =
        find_if(part.nodes, [&](const Node &node) { return node.kind == Node::Load && node.access.buffer == input; });
    return load->access.base;
  };
  const auto workers = static_cast<unsigned>(cores.size() - 1);
  const std::vector<std::vector<Nest>> divisions = divisionsOf(nest, places, workers);
  auto keepsColumns = [&](const std::vector<Nest> &parts) {
    return parts.size() > 1 && all_of(parts, [&](const Nest &part) { return baseOf(part) == baseOf(nest); });
  };
  const auto parts = find_if(divisions, keepsColumns);
  if (parts == divisions.end())
    return false;
  EvenParts division;
  division.parts = *parts;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  std::optional<Rolling> rolling = rollingOf(division, places, input, least);
  if (std::optional<EvenParts> even = evenPartsOf(nest, places, input, workers))
    if (std::optional<Rolling> better = rollingOf(*even, places, input, least)) {
      rolling = better;
      division = *even;
    }
  return rolling && emitChunks(division, places, *rolling);
}

bool Emitter::emitChunks(const EvenParts &division, ArrayRef<Spot> places, Rolling rolling) {
  const std::vector<Nest> &parts = division.parts;
  Core &copying = *cores.front();
  std::vector<Core *> working = workersOf(parts.size());
  rolling.ring.cores = 1;
  for (auto [index, core] : enumerate(cores))
    if (is_contained(working, core.get()))
      rolling.ring.cores |= 1u << index;
  lastRing = {rolling.ring.byte, rolling.ring.chunkBytes * rolling.ring.slots};
  stagedNow.push_back(lastRing);
  if (!emitOtherChunks(rolling, copying.stream))
    return false;
  const auto sharers = static_cast<unsigned>(parts.size());
  uint64_t cycles = 0;
  for (auto [index, core] : enumerate(working)) {
    rolling.ring.odd = division.rest ? *oddRowsOf(division, rolling, index) : OddRows();
    if (!emitMatrixNest(parts[index], places, program.config, core->stream, sharers, choices, rolling.ring).empty())
      return false;
    cycles = std::max(cycles, estimatedCycles(core->stream.current(), program.config, sharers));
  }
  if (!emitFirstChunk(rolling, copying.stream))
    return false;
  endSections(&copying);
  emitOtherChunks(rolling, copying.stream);
  working.insert(working.begin(), &copying);
  const uint64_t copied = rolling.copyCycles(program.config) * static_cast<uint64_t>(rolling.chunks());
  copyAhead(working, cycles - std::min(cycles, copied));
  endSections(working);
  keepLastChunk(rolling);
  return true;
}

/// Of a ring, cores still read the last chunk when they have met for the last time: the first core may write the
/// others.
void Emitter::keepLastChunk(const Rolling &rolling) {
  const Ring &ring = rolling.ring;
  const uint64_t slot = static_cast<uint64_t>(rolling.chunks() - 1) % ring.slots;
  const uint64_t begin = ring.byte + slot * ring.chunkBytes, end = ring.byte + ring.slots * ring.chunkBytes;
  for (const std::unique_ptr<Core> &core : cores)
    for (FarRange &range : core->far)
      if (range.space == Space::LLB && !range.isWritten && range.begin >= ring.byte && range.end <= end) {
        range.begin = std::max(range.begin, begin);
        range.end = std::max(range.begin, std::min(range.end, begin + ring.chunkBytes));
      }
}

/// Of a step's buffers, for nests that may not use all of them: what they keep lies in LLB if there is space.
SmallVector<Spot> Emitter::placesOf(const Step &step, ArrayRef<Nest> nests) {
  SmallVector<Spot> places;
  for (const auto &values : {step.inputs, step.outputs})
    for (const Value &value : values)
      places.push_back(value.spot);
  uint64_t next = locals.byte;
  for (auto [local, buffer] : enumerate(ownBuffers(*step.nests))) {
    const auto number = static_cast<unsigned>(local);
    std::optional<uint64_t> near;
    if (buffer.isTable()) {
      places.push_back({Space::DDR, records.tableAt(buffer)});
      continue;
    }
    if (Prefetch::isUsed(nests, step.nests->arguments + number))
      near = prefetch.takeLocal(this->number, number, static_cast<uint64_t>(buffer.elements) * buffer.elementBytes);
    places.push_back(near ? Spot{Space::LLB, *near} : Spot{Space::DDR, next});
    next += near ? 0 : bytesOf(buffer);
  }
  return places;
}

std::string Emitter::emitNests(const Step &step) {
  if (!step.nests)
    return step.refusal;
  if (step.nests->nests.empty()) // all of it lies where it belongs (Inlays.h)
    return "";
  std::vector<std::pair<Stream::State, std::vector<FarRange>>> before;
  for (const std::unique_ptr<Core> &core : cores)
    before.emplace_back(core->stream.state(), core->far);
  stagedNow.clear();
  const Prefetch ahead = prefetch;
  const uint64_t idleBefore = idle[number];
  if (!pieces[number].isPart && emitRows(step, placesOf(step, {}))) // rows stay in L1
    return "";
  if (pieces[number].rolled && emitRolling(step, placesOf(step, waysOf(step, decisions).front())))
    return "";
  stagedNow.clear();
  std::string problem = "results over operands that are read later";
  for (const std::vector<Nest> &nests : waysOf(step, decisions)) {
    problem.clear();
    const SmallVector<Spot> places = placesOf(step, nests);
    for (const Nest &nest : nests)
      if (problem = emitNest(nest, places); !problem.empty())
        break;
    if (problem.empty())
      return "";
    for (auto [core, state] : zip_equal(cores, before)) {
      core->stream.restore(state.first);
      core->far = state.second;
    }
    prefetch = ahead;
    idle[number] = idleBefore;
  }
  return problem;
}

/// Where a piece cannot be, the whole step is emitted.
void Emitter::emitPiece(Piece &piece) {
  if (!piece.isPart) {
    emitStep(piece.step);
    piece.whole->refusal = piece.step.refusal;
    return;
  }
  if (number > 0 && pieces[number - 1].whole == piece.whole && !pieces[number - 1].step.refusal.empty()) {
    piece.step.refusal = pieces[number - 1].step.refusal; // it has been emitted
    return;
  }
  for (const std::unique_ptr<Core> &core : cores)
    core->stream.setLocation(piece.step.location);
  if (piece.step.refusal = emitNests(piece.step); piece.step.refusal.empty())
    return;
  piece.isPart = false;
  emitStep(*piece.whole);
  piece.isPart = true;
}

void Emitter::emitStep(Step &step) {
  for (const std::unique_ptr<Core> &core : cores)
    core->stream.setLocation(step.location);
  if (step.call)
    return call(records.libraryCall(step));
  if (step.kernel.empty())
    return call(records.copyCall(step));
  step.refusal = emitNests(step);
  if (!step.refusal.empty())
    call(records.kernelCall(step));
}

void Emitter::nameMemory() {
  auto name = [&](StringRef name, size_t number, Symbol::Kind kind, const Range &range) {
    if (range.bytes)
      program.symbols.push_back({formatv("{0}{1}", name, number), kind, Space::DDR, 0, range.byte, range.bytes});
  };
  for (auto [number, range] : enumerate(main.inputs))
    name("in", number, Symbol::Kind::Input, range);
  for (auto [number, range] : enumerate(main.dynamic ? ArrayRef<Range>() : ArrayRef(main.outputs)))
    name("out", number, Symbol::Kind::Output, range);
  for (auto [number, range] :
       enumerate(main.dynamic ? ArrayRef(main.dynamic->outputs) : ArrayRef<std::optional<Range>>()))
    if (range)
      name("out", number, Symbol::Kind::Output, *range);
  name("arena", 0, Symbol::Kind::Scratch, main.arena);
  name("locals", 0, Symbol::Kind::Scratch, locals);
  program.symbols.push_back({"near", Symbol::Kind::Scratch, Space::LLB, 0, 0, program.config.llbBytes});
  for (const auto &[range, number] : main.scalars) {
    Data data{0, range.byte, std::vector<uint8_t>(sizeof number)};
    std::memcpy(data.bytes.data(), &number, sizeof number);
    program.data.push_back(std::move(data));
  }
}

Expected<Program> Emitter::emit() {
  reserveLocals();
  nameMemory();
  records.placeRun();
  if (llvm::any_of(main.steps, [](const Step &step) { return step.call.has_value(); }))
    call(records.beginCall());
  for (Piece &piece : pieces) {
    prefetch.begin(number, piece.step);
    emitPiece(piece);
    ++number;
  }
  if (main.dynamic) {
    cores.front()->stream.setLocation("main");
    call(records.mainCall(*main.dynamic));
  }
  Instruction halt;
  halt.opcode = Opcode::halt;
  for (const std::unique_ptr<Core> &core : cores) {
    core->instructions.push_back(halt);
    main.inOrder += core->stream.inOrder;
    program.cores.push_back(std::move(core->instructions));
  }
  if (records.end > program.config.ddrBytes)
    return createStringError(formatv("the program needs {0} bytes of DDR, {1} has {2}\nhint: compile a smaller model",
                                     records.end, program.config.name, program.config.ddrBytes));
  return std::move(program);
}

Expected<Program> emitProgram(MainProgram &main, const Config &config, const Decisions &decisions, ScalarCode scalar) {
  MainProgram copy = main; // a trial tells how much time the first core has for copies
  Emitter trial(copy, config, decisions, scalar);
  if (Expected<Program> program = trial.emit(); !program || !decisions.ahead || config.coresPerCluster == 1) {
    main = std::move(copy);
    return program;
  }
  return Emitter(main, config, decisions, std::move(scalar), trial.trial()).emit();
}

} // namespace perpend::quoin
