//===- Places.cpp - which values lie in LLB, and where --------------------===//
//
// The plan of the host program gives each value memory of its own while it lives. A result that may be written over an
// operand (Overwrites.h), which no later step reads, can have its place: the two are one stretch of memory that lives
// for both. What the plan has in LLB stays there. Other values are brought there in the order of host-place-values,
// those that need memory for the fewest steps for each access first; each joins the stretches before or behind it if
// that fits, otherwise it is a stretch of its own. Values that are in LLB anyway are joined only where that brings more
// there.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Places.h"
#include "host/Strategy.h"
#include "target/quoin/compile/Overwrites.h"
#include "target/quoin/compile/Pieces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

namespace perpend::quoin {
namespace {

/// Arenas that lie at one place, one after the other.
struct Stretch {
  std::vector<unsigned> arenas;
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;
};

class Places {
public:
  Places(MainProgram &main, const Config &config, const Decisions &decisions)
      : main(main), config(config), decisions(decisions) {}
  bool share();

private:
  void findPairs();
  bool isPair(const Step &step, const std::vector<Nest> &nests, unsigned input, unsigned output) const;
  void findOrder();
  bool beginNear(bool joins);
  void bringNear(unsigned arena);
  std::vector<Stretch> joinedWith(unsigned arena) const;
  double farBytes() const;
  std::optional<std::vector<uint64_t>> planOf(const std::vector<Stretch> &wanted) const;
  bool take(std::vector<Stretch> wanted);
  void move(const std::vector<std::optional<Spot>> &spots);
  bool isWhole(const Value &value) const {
    return value.arena && value.spot.byte == main.arenas[*value.arena].spot.byte &&
           value.bytes() == main.arenas[*value.arena].bytes;
  }

  MainProgram &main;
  const Config &config;
  const Decisions &decisions;
  std::map<unsigned, unsigned> before, behind; ///< arenas, whose values are operand and result of a step
  std::vector<double> accessed;                ///< bytes of each arena
  std::vector<unsigned> order;                 ///< of those that may lie in LLB
  std::vector<Stretch> near;
  std::vector<uint64_t> offsets; ///< of `near`
};

} // namespace

bool Places::isPair(const Step &step, const std::vector<Nest> &nests, unsigned input, unsigned output) const {
  const Value &read = step.inputs[input], &written = step.outputs[output];
  if (!isWhole(read) || !isWhole(written) || *read.arena == *written.arena || read.bytes() != written.bytes())
    return false;
  const Arena &from = main.arenas[*read.arena], &to = main.arenas[*written.arena];
  if (from.last != step.number || to.first != step.number || !from.mayBeNear || !to.mayBeNear)
    return false;
  auto isOther = [&](const Value &value, const Value &self) {
    return &value != &self && value.arena && (value.arena == read.arena || value.arena == written.arena);
  };
  if (llvm::any_of(step.inputs, [&](const Value &value) { return isOther(value, read); }) ||
      llvm::any_of(step.outputs, [&](const Value &value) { return isOther(value, written); }))
    return false;
  return mayOverwrite(*step.nests, nests, input, static_cast<unsigned>(step.inputs.size()) + output);
}

/// Of each arena at most one before and one behind it.
void Places::findPairs() {
  for (const Step &step : main.steps) {
    if (!step.nests)
      continue;
    const std::vector<Nest> nests = waysOf(step, decisions).front();
    for (unsigned output = 0; output < step.outputs.size(); ++output)
      for (unsigned input = 0; input < step.inputs.size(); ++input)
        if (const std::optional<unsigned> from = step.inputs[input].arena, to = step.outputs[output].arena;
            from && to && !before.contains(*to) && !behind.contains(*from) && isPair(step, nests, input, output)) {
          before[*to] = *from;
          behind[*from] = *to;
        }
  }
}

/// As in host/passes/PlaceValues.cpp.
void Places::findOrder() {
  accessed.assign(main.arenas.size(), 0);
  for (const Step &step : main.steps)
    for (const auto &values : {step.inputs, step.outputs})
      for (const Value &value : values)
        if (value.arena)
          accessed[*value.arena] += double(value.bytes());
  std::multimap<double, unsigned> byTime;
  for (auto [number, arena] : llvm::enumerate(main.arenas)) {
    const double times = arena.bytes && accessed[number] > 0 ? accessed[number] / double(arena.bytes) : 1;
    if (arena.mayBeNear)
      byTime.emplace(double(arena.last - arena.first + 1) / times, static_cast<unsigned>(number));
  }
  for (auto [steps, arena] : byTime)
    order.push_back(arena);
}

/// Offsets of stretches; nullopt: LLB does not hold them.
std::optional<std::vector<uint64_t>> Places::planOf(const std::vector<Stretch> &wanted) const {
  std::vector<int64_t> sizes, offsets(wanted.size());
  std::vector<perpend_buffer_lifetime> lifetimes;
  for (const Stretch &stretch : wanted) {
    sizes.push_back(static_cast<int64_t>(stretch.bytes));
    lifetimes.push_back({static_cast<int32_t>(stretch.first), static_cast<int32_t>(stretch.last)});
  }
  const int64_t bytes =
      runtime::planOffsets(sizes.data(), lifetimes.data(), static_cast<int32_t>(sizes.size()), offsets.data());
  if (bytes < 0 || static_cast<uint64_t>(bytes) > config.llbBytes)
    return std::nullopt;
  return std::vector<uint64_t>(offsets.begin(), offsets.end());
}

bool Places::take(std::vector<Stretch> wanted) {
  std::optional<std::vector<uint64_t>> plan = planOf(wanted);
  if (!plan)
    return false;
  near = std::move(wanted);
  offsets = std::move(*plan);
  return true;
}

/// The stretches with another arena, which is one with those before and behind it.
std::vector<Stretch> Places::joinedWith(unsigned arena) const {
  const Arena &added = main.arenas[arena];
  Stretch joined{{arena}, added.bytes, added.first, added.last};
  std::vector<Stretch> others;
  for (const Stretch &stretch : near) {
    const bool isBefore = before.contains(arena) && stretch.arenas.back() == before.at(arena);
    const bool isBehind = behind.contains(arena) && stretch.arenas.front() == behind.at(arena);
    if (!isBefore && !isBehind) {
      others.push_back(stretch);
      continue;
    }
    joined.arenas.insert(isBefore ? joined.arenas.begin() : joined.arenas.end(), stretch.arenas.begin(),
                         stretch.arenas.end());
    joined.first = std::min(joined.first, stretch.first);
    joined.last = std::max(joined.last, stretch.last);
  }
  others.push_back(std::move(joined));
  return others;
}

void Places::bringNear(unsigned arena) {
  if (take(joinedWith(arena)) || (!before.contains(arena) && !behind.contains(arena)))
    return;
  const Arena &added = main.arenas[arena];
  std::vector<Stretch> apart = near;
  apart.push_back({{arena}, added.bytes, added.first, added.last});
  take(std::move(apart));
}

/// What is in LLB anyway. False: that does not fit.
bool Places::beginNear(bool joins) {
  near.clear();
  for (auto [number, arena] : llvm::enumerate(main.arenas)) {
    const auto added = static_cast<unsigned>(number);
    if (arena.spot.space != Space::LLB)
      continue;
    if (joins)
      near = joinedWith(added);
    else
      near.push_back({{added}, arena.bytes, arena.first, arena.last});
  }
  return take(near);
}

double Places::farBytes() const {
  double bytes = 0;
  for (unsigned arena : order)
    if (llvm::none_of(near, [&](const Stretch &stretch) { return llvm::is_contained(stretch.arenas, arena); }))
      bytes += accessed[arena];
  return bytes;
}

/// Values and scratch memory go to the new places of their arenas.
void Places::move(const std::vector<std::optional<Spot>> &spots) {
  auto moveSpot = [&](Spot &spot, std::optional<unsigned> arena) {
    if (arena && spots[*arena])
      spot = {spots[*arena]->space, spots[*arena]->byte + (spot.byte - main.arenas[*arena].spot.byte)};
  };
  std::vector<std::optional<size_t>> stretchOf(main.arenas.size());
  for (auto [number, stretch] : llvm::enumerate(near))
    for (unsigned arena : stretch.arenas)
      stretchOf[arena] = number;
  for (Step &step : main.steps) {
    visitSpots(step, moveSpot);
    for (auto [input, read] : llvm::enumerate(step.inputs))
      for (auto [output, written] : llvm::enumerate(step.outputs))
        if (read.arena && written.arena && read.arena != written.arena && stretchOf[*read.arena] &&
            stretchOf[*read.arena] == stretchOf[*written.arena])
          step.overwrites.emplace_back(input, output);
    step.near.clear();
    for (auto [stretch, offset] : llvm::zip_equal(near, offsets))
      if (stretch.first <= step.number && step.number <= stretch.last)
        step.near.push_back({offset, stretch.bytes});
  }
  for (auto [arena, spot] : llvm::zip_equal(main.arenas, spots))
    if (spot)
      arena.spot = *spot;
}

bool Places::share() {
  findPairs();
  if (before.empty())
    return false;
  findOrder();
  std::optional<double> least;
  std::pair<std::vector<Stretch>, std::vector<uint64_t>> best;
  for (bool joins : {false, true}) {
    if (!beginNear(joins))
      continue;
    if (!least)
      least = farBytes();
    for (unsigned arena : order)
      if (main.arenas[arena].spot.space != Space::LLB)
        bringNear(arena);
    if (const double bytes = farBytes(); bytes < *least) {
      least = bytes;
      best = {near, offsets};
    }
  }
  if (best.first.empty())
    return false;
  std::tie(near, offsets) = std::move(best);
  std::vector<std::optional<Spot>> spots(main.arenas.size());
  for (auto [stretch, offset] : llvm::zip_equal(near, offsets))
    for (unsigned arena : stretch.arenas)
      spots[arena] = Spot{Space::LLB, offset};
  move(spots);
  main.near = {0, config.llbBytes};
  return true;
}

bool sharePlaces(MainProgram &main, const Config &config, const Decisions &decisions) {
  const bool hasNear = llvm::any_of(main.arenas, [](const Arena &arena) { return arena.spot.space == Space::LLB; });
  return decisions.sharing && !main.dynamic && hasNear && Places(main, config, decisions).share();
}

bool hasRefusedOverwrites(const MainProgram &main) {
  return llvm::any_of(main.steps, [](const Step &step) { return !step.refusal.empty() && !step.overwrites.empty(); });
}

} // namespace perpend::quoin
