//===- NestRolling.cpp - products whose constants come in chunks ----------===//
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/Matrix.h"
#include "target/quoin/compile/NestEmitter.h"
#include "target/quoin/compile/Vector.h"

#include <limits>
#include <utility>

using namespace llvm;

namespace perpend::quoin {

/// The ring of the next step lies where nothing is until that has ended, with fewer slots where that has to be.
void NestEmitter::placeNextChunks() {
  nowChunks = std::exchange(nextChunks, std::nullopt);
  if (number + 1 < expectedChunks.size())
    nextChunks = expectedChunks[number + 1];
  while (nextChunks) {
    Ring &ring = nextChunks->rolling.ring;
    if (std::optional<uint64_t> to = prefetch.takeForNext(number, ring.slots * ring.chunkBytes)) {
      ring.byte = *to;
      break;
    }
    if (--ring.slots < 2)
      nextChunks.reset();
  }
}

/// The first chunks of the next step, of which the first one is needed in any case.
void NestEmitter::addNextChunks(uint64_t cycles, Stream &stream) {
  if (!nextChunks)
    return;
  const Rolling &rolling = nextChunks->rolling;
  const uint64_t copy = rolling.copyCycles(program.config), wanted = std::max<uint64_t>(1, (cycles + copy / 2) / copy);
  const auto most = std::min<int64_t>(rolling.ring.slots, rolling.chunks());
  for (uint64_t count = 0; count < wanted && nextChunks->copied < most; ++count)
    addEarlyChunk(rolling, nextChunks->copied++, stream);
}

/// LLB without what other cores still read or write: what is free of it may be written before they meet.
NearMemory NestEmitter::idleNear() const {
  NearMemory near = prefetch.near(number);
  for (const std::unique_ptr<Core> &core : cores)
    for (const FarRange &range : core->far)
      if (range.space == Space::LLB)
        near.take({range.begin, range.end - range.begin});
  return near;
}

/// The chunks with which a part, the largest one, and the copies take the least time, if that is less than `least`.
std::optional<Chunks> NestEmitter::chunksOf(const EvenParts &division, ArrayRef<Spot> places, unsigned input,
                                            uint64_t &least) {
  std::optional<Chunks> best;
  const Nest &part = division.parts.front();
  const auto workers = static_cast<unsigned>(division.parts.size());
  const uint64_t mostBytes = program.config.llbBytes / mostRingShare, leastBytes = program.config.llbBytes / 128;
  /// With rings of so many bytes. False: there is no such ring.
  auto visit = [&](uint64_t bytes, uint64_t to, bool isInUse) {
    bool isFound = false;
    for (Rolling &each : rollingsOf(part, places, input, bytes)) {
      each.ring.byte = to;
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
      const uint64_t all = std::max(cycles, copy * count), behind = count - std::min<uint64_t>(each.ring.slots, count);
      const uint64_t first = copy * (isInUse ? 2 : 1); // cores meet before it comes to a place that is in use
      if (all + first < least) {
        best = {each, division.rest > 0, all - std::max(cycles, copy * behind) + copy / 2};
        least = all + first;
      }
    }
    return isFound;
  };
  uint64_t found = 0; // bytes of a ring
  const NearMemory now = prefetch.near(number), idle = idleNear();
  for (const NearMemory *near : {&idle, &now})
    for (uint64_t bytes = mostBytes; bytes >= leastBytes && bytes > found; bytes /= 2)
      if (const std::optional<uint64_t> to = near->highest(bytes); to && visit(bytes, *to, near == &now))
        found = bytes;
  return best;
}

bool NestEmitter::emitRolling(const Step &step, ArrayRef<Spot> places) {
  stagedNow.clear();
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
  const std::optional<EvenParts> even = evenPartsOf(nest, places, input, workers);
  auto emit = [&](const Chunks &all) { return emitChunks(all.isEven ? *even : division, places, all); };
  if (nowChunks && (even || !nowChunks->isEven) && emit(*nowChunks))
    return true;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  std::optional<Chunks> &best = chunks[number] = chunksOf(division, places, input, least);
  if (even)
    if (std::optional<Chunks> better = chunksOf(*even, places, input, least))
      best = better;
  return best && emit(*best);
}

bool NestEmitter::emitChunks(const EvenParts &division, ArrayRef<Spot> places, const Chunks &all) {
  const std::vector<Nest> &parts = division.parts;
  Rolling rolling = all.rolling;
  Core &copying = *cores.front();
  std::vector<Core *> working = workersOf(parts.size());
  rolling.ring.cores = 1;
  for (auto [index, core] : enumerate(cores))
    if (is_contained(working, core.get()))
      rolling.ring.cores |= 1u << index;
  stagedNow.push_back({rolling.ring.byte, rolling.ring.chunkBytes * rolling.ring.slots});
  const int64_t first = std::max<int64_t>(all.copied, 1);
  if (!emitOtherChunks(rolling, first, copying.stream, [] {}))
    return false;
  const auto sharers = static_cast<unsigned>(parts.size());
  uint64_t cycles = 0;
  for (auto [index, core] : enumerate(working)) {
    rolling.ring.odd = division.rest ? *oddRowsOf(division, rolling, index) : OddRows();
    if (!emitMatrixNest(parts[index], places, program.config, core->stream, sharers, choices, rolling.ring).empty())
      return false;
    cycles = std::max(cycles, estimatedCycles(core->stream.current(), program.config, sharers));
  }
  if (all.copied == 0) {
    copying.stream.begin();
    addEarlyChunk(rolling, 0, copying.stream);
    endSections(&copying);
  }
  constexpr uint64_t behind = 2; // chunks that cores still compute with when all have been copied
  emitOtherChunks(rolling, first, copying.stream,
                  [&] { addNextChunks(behind * cycles / static_cast<uint64_t>(rolling.chunks()), copying.stream); });
  working.insert(working.begin(), &copying);
  const uint64_t copied = rolling.copyCycles(program.config) * static_cast<uint64_t>(rolling.chunks());
  copyAhead(working, cycles - std::min(cycles, copied), /*isBetween=*/false);
  endSections(working);
  keepLastChunk(rolling);
  return true;
}

/// Of a ring, cores still read the last chunk when they have met for the last time: the first core may write the
/// others.
void NestEmitter::keepLastChunk(const Rolling &rolling) {
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

} // namespace perpend::quoin
