//===- Timed.cpp - events in time ------------------------------------------===//
//
// The sequencer issues or executes one instruction in a cycle. A unit starts the first of its queue when its flags are
// there, and sets flags when it ends. Transfers that use the DDR of a cluster share its bandwidth: at each moment it is
// divided fairly (max-min), which is what round robin gives in the limit of small pieces. Banks of L1 and LLB are taken
// to be without conflicts.
//
//===----------------------------------------------------------------------===//

#include "target/quoin/simulator/State.h"

#include <cmath>

namespace perpend::quoin {
namespace {
constexpr double never = 1e300, notWaiting = -1;

/// An instruction in execution.
struct Running {
  bool isActive = false;
  Queued queued;
  uint64_t begin = 0;
  double fixedEnd = 0;  ///< when the part that depends on nobody ends
  double bytesLeft = 0; ///< of DDR, which move from then on; 0: nothing is shared
  double ownRate = 0;   ///< bytes of DDR in a cycle, if it is alone
  double rate = 0;      ///< now
  double aloneEnd = 0;  ///< when it would end without the others

  bool isMoving(double now) const { return isActive && bytesLeft > 0 && fixedEnd <= now; }
  double end(double now) const {
    if (bytesLeft <= 0 || fixedEnd > now)
      return fixedEnd;
    return rate > 0 ? now + bytesLeft / rate : never;
  }
};

class Timeline {
public:
  explicit Timeline(Simulator::State &state)
      : state(state), config(state.program.config), running(state.cores.size()), sequencerReady(state.cores.size(), 0),
        waitingSince(state.cores.size()) {
    for (auto &core : waitingSince)
      core.fill(notWaiting);
    state.counters.cores.resize(state.cores.size());
  }

  void run() {
    while (!state.trap) {
      while (advanceNow() && !state.trap)
        ;
      if (state.trap || !advanceTime() || state.hasTimedOut())
        break;
    }
    state.counters.cycles = 0;
    for (CoreCounters &core : state.counters.cores) {
      state.counters.cycles = std::max(state.counters.cycles, core.end);
      for (unsigned unit = 1; unit < numUnits; ++unit) {
        UnitCounters &counters = core.units[unit];
        uint64_t used = counters.busy + counters.stalls[unsigned(Stall::Flag)];
        counters.stalls[unsigned(Stall::Empty)] = core.end > used ? core.end - used : 0;
      }
    }
  }

private:
  bool isBusy(unsigned core) const {
    return llvm::any_of(running[core], [](const Running &instruction) { return instruction.isActive; });
  }
  bool advanceNow();
  bool finishEnded();
  bool startReady();
  bool stepSequencers();
  bool advanceTime();
  void start(unsigned core, Unit unit);
  void finish(unsigned core, Unit unit, Running &instruction);
  void count(unsigned core, const Instruction &instruction);
  void shareBandwidth();

  Simulator::State &state;
  const Config &config;
  std::vector<std::array<Running, numUnits>> running;
  std::vector<double> sequencerReady;
  std::vector<std::array<double, numUnits>> waitingSince; ///< since when a unit waits for flags
  double now = 0;
};

/// Bytes of DDR that an instruction moves.
uint64_t ddrBytes(llvm::ArrayRef<Access> accesses) {
  uint64_t bytes = 0;
  for (const Access &access : accesses)
    if (access.space == Space::DDR)
      bytes += access.movedBytes() * (1 + (access.isRead && access.isWritten));
  return bytes;
}

uint64_t productsOf(const Instruction &instruction) {
  if (instruction.unit() != Unit::MX)
    return 0;
  uint64_t batch = instruction.opcode == Opcode::bmm ? instruction.axis : 1;
  return batch * instruction.extent[0] * instruction.extent[1] * instruction.extent[2];
}

void Timeline::count(unsigned core, const Instruction &instruction) {
  CoreCounters &counters = state.counters.cores[core];
  counters.products += productsOf(instruction);
  for (const Access &access : accessesOf(instruction)) {
    unsigned space = unsigned(access.space);
    if (access.isRead)
      counters.bytesRead[space] += access.movedBytes();
    if (access.isWritten)
      counters.bytesWritten[space] += access.movedBytes();
    counters.highWater[space] = std::max(counters.highWater[space], access.byte + access.sizeBytes());
  }
}

void Timeline::start(unsigned core, Unit unit) {
  Running &instruction = running[core][unsigned(unit)];
  if (double since = waitingSince[core][unsigned(unit)]; since != notWaiting)
    state.counters.cores[core].units[unsigned(unit)].stalls[unsigned(Stall::Flag)] += uint64_t(now - since);
  waitingSince[core][unsigned(unit)] = notWaiting;
  instruction = {};
  instruction.isActive = true;
  instruction.queued = state.startUnit(core, unit);
  instruction.begin = uint64_t(now);
  state.scalarCycles = 0;
  state.executeUnit(core, unit, instruction.queued);
  Instruction resolved = state.resolved(core, instruction.queued);
  if (state.options.hasNoLlb)
    for (Operand &operand : resolved.operands)
      operand.space = operand.space == Space::LLB ? Space::DDR : operand.space;
  double length = resolved.unit() == Unit::SEQ ? 0 : double(cycles(resolved, config) + state.scalarCycles);
  instruction.aloneEnd = now + length;
  instruction.fixedEnd = instruction.aloneEnd;
  if (resolved.unit() == Unit::SEQ)
    return;
  count(core, resolved);
  if (uint64_t bytes = ddrBytes(accessesOf(resolved)); bytes && resolved.info().cycleKind == CycleKind::Transfer) {
    double fixed = double(transferStart + config.ddrLatency), moving = std::max(1.0, length - fixed);
    instruction.fixedEnd = now + fixed;
    instruction.bytesLeft = double(bytes);
    instruction.ownRate = double(bytes) / moving;
  }
}

void Timeline::finish(unsigned core, Unit unit, Running &instruction) {
  UnitCounters &counters = state.counters.cores[core].units[unsigned(unit)];
  uint64_t end = uint64_t(std::llround(now));
  bool isControl = state.instructionAt(core, instruction.queued.index).unit() == Unit::SEQ;
  counters.instructions += !isControl;
  counters.busy += end - instruction.begin;
  counters.stalls[unsigned(Stall::Bandwidth)] += uint64_t(std::max(0.0, double(end) - std::ceil(instruction.aloneEnd)));
  if (!isControl)
    counters.intervals.push_back({instruction.begin, end, instruction.queued.index});
  instruction.isActive = false;
  state.finishUnit(core, unit, instruction.queued);
}

bool Timeline::finishEnded() {
  bool any = false;
  for (unsigned core = 0; core < running.size(); ++core)
    for (unsigned unit = 1; unit < numUnits; ++unit) {
      Running &instruction = running[core][unit];
      if (!instruction.isActive || instruction.fixedEnd > now || instruction.bytesLeft > 0)
        continue;
      finish(core, Unit(unit), instruction);
      any = true;
    }
  return any;
}

bool Timeline::startReady() {
  bool any = false;
  for (unsigned core = 0; core < running.size(); ++core)
    for (unsigned unit = 1; unit < numUnits; ++unit) {
      if (running[core][unit].isActive || state.cores[core].queues[unit].empty() ||
          (state.options.isSerial && isBusy(core)))
        continue;
      if (state.canStart(core, Unit(unit))) {
        start(core, Unit(unit));
        any = true;
      } else if (waitingSince[core][unit] == notWaiting) {
        waitingSince[core][unit] = now;
      }
    }
  return any;
}

bool Timeline::stepSequencers() {
  bool any = false;
  for (unsigned core = 0; core < running.size(); ++core) {
    bool isIdle = !isBusy(core);
    CoreState &at = state.cores[core];
    if (at.isHalted || sequencerReady[core] > now)
      continue;
    Opcode opcode = state.instructionAt(core, at.next).opcode;
    if ((opcode == Opcode::halt || opcode == Opcode::fence) && !isIdle)
      continue;
    uint32_t before = at.next;
    if (!state.stepSequencer(core) || (at.next == before && !at.isHalted && opcode == Opcode::bar && at.isAtBarrier))
      continue;
    sequencerReady[core] = now + 1;
    ++state.counters.cores[core].units[0].instructions;
    ++state.counters.cores[core].units[0].busy;
    if (at.isHalted)
      state.counters.cores[core].end = uint64_t(now) + 1;
    any = true;
  }
  return any;
}

bool Timeline::advanceNow() {
  bool ended = finishEnded(), started = startReady(), stepped = stepSequencers();
  return ended || started || stepped;
}

/// Max-min fairness: those that want less than an equal share get it, the others divide the rest.
void Timeline::shareBandwidth() {
  for (unsigned cluster = 0; cluster < config.clusters; ++cluster) {
    std::vector<Running *> moving;
    for (unsigned core = 0; core < running.size(); ++core)
      for (Running &instruction : running[core])
        if (config.clusterOf(core) == cluster && instruction.isMoving(now))
          moving.push_back(&instruction);
    llvm::sort(moving, [](const Running *left, const Running *right) { return left->ownRate < right->ownRate; });
    double left = config.ddrBytesPerCycle;
    for (size_t index = 0; index < moving.size(); ++index) {
      moving[index]->rate = std::min(moving[index]->ownRate, left / double(moving.size() - index));
      left -= moving[index]->rate;
    }
  }
}

/// To the next moment at which something ends or a sequencer is ready; false if there is none.
bool Timeline::advanceTime() {
  shareBandwidth();
  double next = never;
  for (unsigned core = 0; core < running.size(); ++core) {
    if (!state.cores[core].isHalted && sequencerReady[core] > now)
      next = std::min(next, sequencerReady[core]);
    for (const Running &instruction : running[core])
      if (instruction.isActive)
        next = std::min(next, std::max(instruction.end(now), now));
  }
  if (next >= never) {
    if (llvm::any_of(state.cores, [](const CoreState &core) { return !core.isHalted; }))
      state.raiseDeadlock();
    return false;
  }
  next = std::ceil(next - 1e-6);
  next = std::max(next, now + 1);
  for (std::array<Running, numUnits> &core : running)
    for (Running &instruction : core)
      if (instruction.isMoving(now))
        instruction.bytesLeft = std::max(0.0, instruction.bytesLeft - instruction.rate * (next - now) - 1e-9);
  now = next;
  return true;
}
} // namespace

std::optional<Trap> Simulator::State::runTimed() {
  Timeline(*this).run();
  return trap;
}

} // namespace perpend::quoin
