//===- NearArenas.cpp - where arenas lie in LLB ---------------------------===//
#include "target/quoin/compile/NearArenas.h"
#include "host/Strategy.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace perpend::quoin {

std::optional<std::vector<int64_t>> planNear(const MainProgram &main, const Config &config) {
  std::vector<int64_t> sizes, offsets(main.arenas.size());
  std::vector<perpend_buffer_lifetime> lifetimes;
  for (const Arena &arena : main.arenas) {
    sizes.push_back(arena.spot.space == Space::LLB ? static_cast<int64_t>(arena.bytes) : 0);
    lifetimes.push_back({static_cast<int32_t>(arena.first), static_cast<int32_t>(arena.last)});
  }
  const int64_t bytes =
      runtime::planOffsets(sizes.data(), lifetimes.data(), static_cast<int32_t>(sizes.size()), offsets.data());
  if (bytes < 0 || static_cast<uint64_t>(bytes) > config.llbBytes)
    return std::nullopt;
  return offsets;
}

void moveNear(MainProgram &main, const Config &config, llvm::ArrayRef<int64_t> offsets) {
  constexpr int64_t lineBytes = 64;
  [[maybe_unused]] auto isAtLine = [](int64_t offset) { return offset % lineBytes == 0; };
  assert(llvm::all_of(offsets, isAtLine) && "rows of what lies inside begin at lines only if arenas do");
  auto moveSpot = [&](Spot &spot, std::optional<unsigned> arena) {
    if (arena && main.arenas[*arena].spot.space == Space::LLB)
      spot.byte = static_cast<uint64_t>(offsets[*arena]) + (spot.byte - main.arenas[*arena].spot.byte);
  };
  for (Step &step : main.steps) {
    visitSpots(step, moveSpot);
    step.near.clear();
    for (auto [arena, offset] : llvm::zip_equal(main.arenas, offsets))
      if (arena.spot.space == Space::LLB && arena.bytes && arena.first <= step.number && step.number <= arena.last)
        step.near.push_back({static_cast<uint64_t>(offset), arena.bytes});
  }
  for (auto [arena, offset] : llvm::zip_equal(main.arenas, offsets))
    if (arena.spot.space == Space::LLB)
      arena.spot.byte = static_cast<uint64_t>(offset);
  main.near = {0, config.llbBytes};
}

} // namespace perpend::quoin
