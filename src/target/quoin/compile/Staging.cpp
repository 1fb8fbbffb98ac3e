//===- Staging.cpp - operands that all cores read --------------------------===//
#include "target/quoin/compile/Staging.h"
#include "target/quoin/compile/Cores.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace perpend::quoin {

constexpr uint64_t lineBytes = 64;

namespace {
/// The bytes of a buffer that a nest reads.
struct Extent {
  int64_t begin = 0, end = 0;
  bool operator==(const Extent &) const = default;
};
} // namespace

/// None, if nothing is read.
static std::optional<Extent> extentOf(const ElementAccess &access, const Nest &nest, DType type) {
  int64_t first = access.base, last = access.base;
  for (auto [loop, stride] : llvm::zip_equal(nest.loops, access.strides))
    (stride < 0 ? first : last) += stride * (loop.extent - 1);
  for (const accelerator::Border &border : nest.borders) {
    const int64_t stride = access.strides[border.loop], reduced = access.strides[border.reduced];
    if (!stride || !reduced)
      continue;
    const auto reach = reachOf(border, stride, reduced);
    if (!reach)
      return std::nullopt;
    const auto [least, most] = *reach;
    first += least;
    last += most - stride * (nest.loops[border.loop].extent - 1) - reduced * (nest.loops[border.reduced].extent - 1);
  }
  const auto size = static_cast<int64_t>(sizeOf(type));
  return Extent{first * size, (last + 1) * size};
}

static std::map<unsigned, Extent> readsOf(const Nest &nest) {
  std::map<unsigned, Extent> reads;
  for (const Node &node : nest.nodes) {
    if (node.kind != Node::Load)
      continue;
    const std::optional<Extent> extent = extentOf(node.access, nest, node.type);
    Extent &known = reads[node.access.buffer];
    if (extent && known == Extent())
      known = *extent;
    else if (extent)
      known = {std::min(known.begin, extent->begin), std::max(known.end, extent->end)};
  }
  return reads;
}

std::vector<Staged> stagedOf(llvm::ArrayRef<Nest> parts, llvm::MutableArrayRef<Spot> places, NearMemory near) {
  std::vector<Staged> staged;
  if (parts.size() < 2)
    return staged;
  std::map<unsigned, Extent> shared = readsOf(parts.front());
  for (const Nest &part : parts.drop_front()) {
    const std::map<unsigned, Extent> reads = readsOf(part);
    std::erase_if(shared, [&](const auto &read) { return reads.at(read.first) != read.second; });
  }
  constexpr int64_t least = 4096; // less is not worth a meeting of the cores
  for (auto [buffer, extent] : shared) {
    Spot &place = places[buffer];
    const uint64_t begin = place.byte + static_cast<uint64_t>(extent.begin);
    const auto bytes = static_cast<uint64_t>(extent.end - extent.begin);
    if (place.space != Space::DDR || buffer == parts.front().store.buffer || extent.end - extent.begin < least ||
        begin % lineBytes)
      continue;
    const std::optional<uint64_t> to = near.takeLowest(bytes, static_cast<uint64_t>(extent.begin));
    if (!to)
      continue;
    staged.push_back({buffer, begin, *to, bytes});
    place = {Space::LLB, *to - static_cast<uint64_t>(extent.begin)};
  }
  return staged;
}

void emitStaging(llvm::ArrayRef<Staged> staged, Stream &stream) {
  stream.begin();
  for (const Staged &each : staged)
    stream.addCopy(each.from, each.to, each.bytes);
}

} // namespace perpend::quoin
