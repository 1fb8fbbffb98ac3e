//===- Cores.cpp - which core computes what -------------------------------===//
#include "target/quoin/compile/Cores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace perpend::quoin {

/// The unit of the race check, and of what DDR moves at once.
constexpr int64_t lineBytes = 64;

int64_t iterationsOfLines(const Nest &nest, unsigned loop, const Spot &place) {
  const auto size = static_cast<int64_t>(sizeOf(nest.type));
  const int64_t stride = nest.store.strides[loop] * size;
  const auto base = static_cast<int64_t>(place.byte) + nest.store.base * size;
  if (nest.loops[loop].isReduced || stride <= 0)
    return 0;
  int64_t inner = base % lineBytes + size; // iterations that begin at a line end at one, too, or where the next begins
  for (unsigned other = 0; other < nest.loops.size(); ++other) {
    const int64_t distance = nest.store.strides[other] * size;
    if (other == loop || distance == 0)
      continue;
    if (distance > stride && distance % lineBytes)
      return 0;
    if (distance <= stride)
      inner += (nest.loops[other].extent - 1) * distance;
  }
  return inner <= stride ? lineBytes / std::gcd(stride, lineBytes) : 0;
}

void cut(Nest &nest, unsigned loop, int64_t begin, int64_t end) {
  nest.loops[loop].extent = end - begin;
  nest.store.base += begin * nest.store.strides[loop];
  for (Node &node : nest.nodes)
    if (node.kind == Node::Load)
      node.access.base += begin * node.access.strides[loop];
  cutBorders(nest, loop, begin, end);
}

void cutBorders(Nest &nest, unsigned loop, int64_t begin, int64_t end) {
  for (accelerator::Border &border : nest.borders)
    for (auto &[first, last] : border.iterations)
      if (border.loop == loop) {
        last = std::clamp<int64_t>(last - begin, 0, end - begin);
        first = std::clamp<int64_t>(first - begin, 0, last);
      }
}

std::optional<std::pair<int64_t, int64_t>> reachOf(const accelerator::Border &border, int64_t stride, int64_t reduced) {
  std::optional<std::pair<int64_t, int64_t>> reach;
  for (auto [iteration, range] : llvm::enumerate(border.iterations)) {
    if (range.first == range.second)
      continue;
    const int64_t from = static_cast<int64_t>(iteration) * reduced;
    const int64_t least = from + range.first * stride, most = from + (range.second - 1) * stride;
    reach = reach ? std::pair(std::min(reach->first, least), std::max(reach->second, most)) : std::pair(least, most);
  }
  return reach;
}

/// Parts of a nest along a loop, at most so many, each of which but the last has as many iterations as the first.
static std::vector<Nest> partsAlong(const Nest &nest, unsigned loop, int64_t step, size_t count) {
  std::vector<Nest> parts;
  const int64_t extent = nest.loops[loop].extent;
  const auto length = static_cast<int64_t>(
      llvm::alignTo(llvm::divideCeil(static_cast<uint64_t>(extent), count), static_cast<uint64_t>(step)));
  for (int64_t begin = 0; begin < extent; begin += length) {
    parts.push_back(nest);
    cut(parts.back(), loop, begin, std::min(begin + length, extent));
  }
  return parts;
}

std::vector<std::vector<Nest>> divisionsOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned cores) {
  const Spot &place = places[nest.store.buffer];
  std::vector<std::vector<Nest>> divisions;
  const size_t loops = nest.loops.size() - (nest.rows ? 1 : 0); // rows stay whole
  std::vector<std::pair<unsigned, int64_t>> steps;              // of loops that can be cut
  for (unsigned loop = 0; loop < loops; ++loop)
    if (const int64_t step = iterationsOfLines(nest, loop, place); step && step < nest.loops[loop].extent)
      steps.emplace_back(loop, step);
  auto add = [&](std::vector<Nest> parts) {
    if (parts.size() > 1)
      divisions.push_back(std::move(parts));
  };
  for (auto [loop, step] : steps)
    add(partsAlong(nest, loop, step, cores));
  // Sums along two loops, so that each core reads less of both factors.
  for (auto [outer, outerStep] : nest.combine ? steps : std::vector<std::pair<unsigned, int64_t>>())
    for (auto [inner, innerStep] : steps)
      for (size_t count = 2; outer != inner && 2 * count <= cores; count *= 2) {
        std::vector<Nest> parts;
        for (const Nest &part : partsAlong(nest, outer, outerStep, count))
          llvm::append_range(parts, partsAlong(part, inner, innerStep, cores / count));
        if (2 * parts.size() > cores)
          add(std::move(parts));
      }
  if (divisions.empty())
    divisions.push_back({nest});
  return divisions;
}

/// Iterations [begin, end) of loops, the innermost one first, that count as one.
static void addRange(const Nest &nest, llvm::ArrayRef<unsigned> loops, int64_t begin, int64_t end,
                     std::vector<Nest> &nests) {
  if (begin == end)
    return;
  const unsigned outer = loops.back();
  int64_t inner = 1; // iterations in one of the outer loop
  for (unsigned loop : loops.drop_back())
    inner *= nest.loops[loop].extent;
  auto addWithin = [&](int64_t iteration, int64_t from, int64_t to) {
    Nest part = nest;
    cut(part, outer, iteration, iteration + 1);
    addRange(part, loops.drop_back(), from, to, nests);
  };
  const int64_t last = end / inner;
  int64_t first = begin / inner;
  if (first == last && inner > 1)
    return addWithin(first, begin % inner, end % inner);
  if (begin % inner)
    addWithin(first++, begin % inner, inner);
  if (first < last)
    cut(nests.emplace_back(nest), outer, first, last);
  if (end % inner)
    addWithin(last, 0, end % inner);
}

/// The loops that a nest stores along, each of which goes on where the one before ends, up to the outermost one; the
/// outermost one comes first.
static llvm::SmallVector<unsigned, 8> loopsOfRange(const Nest &nest) {
  const auto &strides = nest.store.strides;
  llvm::SmallVector<unsigned, 8> loops;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (!nest.loops[loop].isReduced)
      loops.push_back(loop);
  llvm::sort(loops, [&](unsigned one, unsigned other) { return strides[one] > strides[other]; });
  for (size_t number = 1; number < loops.size(); ++number)
    if (strides[loops[number - 1]] != strides[loops[number]] * nest.loops[loops[number]].extent)
      loops.truncate(number);
  return loops;
}

std::vector<std::vector<Nest>> rangesOf(const Nest &nest, const Spot &place, unsigned cores) {
  std::vector<std::vector<Nest>> best;
  if (nest.rows) // stay whole
    return best;
  const llvm::SmallVector<unsigned, 8> loops = loopsOfRange(nest);
  // The outermost loops that are enough: units compute whole iterations of the others.
  for (size_t count = 2; count <= loops.size() && best.size() < cores; ++count) {
    llvm::SmallVector<unsigned, 8> together(llvm::reverse(llvm::ArrayRef(loops).take_front(count)));
    Nest joined = nest;
    int64_t all = 1;
    for (unsigned loop : together) {
      all *= nest.loops[loop].extent;
      joined.loops[loop].extent = 1;
      if (loop != together.front())
        joined.store.strides[loop] = 0;
    }
    joined.loops[together.front()].extent = all;
    const int64_t step = iterationsOfLines(joined, together.front(), place);
    if (step == 0)
      continue;
    const auto length = static_cast<int64_t>(
        llvm::alignTo(llvm::divideCeil(static_cast<uint64_t>(all), cores), static_cast<uint64_t>(step)));
    std::vector<std::vector<Nest>> parts;
    for (int64_t begin = 0; begin < all; begin += length)
      addRange(nest, together, begin, std::min(begin + length, all), parts.emplace_back());
    if (parts.size() > best.size())
      best = std::move(parts);
  }
  return best;
}

/// Of iterations that write within bytes of their own, which lie one behind the other: how many write a line or more.
/// Iterations of loops around them write behind all of these. 0: they do otherwise.
static int64_t iterationsOfLine(const Nest &nest, unsigned loop) {
  const auto size = static_cast<int64_t>(sizeOf(nest.type));
  const int64_t stride = nest.store.strides[loop] * size, rows = stride * nest.loops[loop].extent;
  if (nest.loops[loop].isReduced || stride <= 0)
    return 0;
  int64_t row = size;
  for (unsigned other = 0; other < nest.loops.size(); ++other) {
    const int64_t distance = nest.store.strides[other] * size;
    if (distance < 0 || (other != loop && distance >= stride && distance < rows))
      return 0;
    row += distance < stride ? (nest.loops[other].extent - 1) * distance : 0;
  }
  return row <= stride ? llvm::divideCeil(static_cast<uint64_t>(lineBytes), static_cast<uint64_t>(stride)) : 0;
}

std::optional<std::array<std::vector<Nest>, 2>> divisionInTurns(const Nest &nest, unsigned cores) {
  if (nest.rows)
    return std::nullopt;
  std::optional<unsigned> best;
  int64_t most = 0; // lines
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (const int64_t step = iterationsOfLine(nest, loop); step && nest.loops[loop].extent / step > most) {
      best = loop;
      most = nest.loops[loop].extent / step;
    }
  if (!best || most < 2 * static_cast<int64_t>(cores))
    return std::nullopt;
  std::array<std::vector<Nest>, 2> turns;
  const int64_t extent = nest.loops[*best].extent, step = iterationsOfLine(nest, *best);
  for (int64_t part = 0; part < cores; ++part) {
    // Two lines at least, so that neither those of a turn nor those of loops around it touch.
    const int64_t begin = extent * part / cores, end = extent * (part + 1) / cores;
    cut(turns[0].emplace_back(nest), *best, begin + step, end);
    cut(turns[1].emplace_back(nest), *best, begin, begin + step);
  }
  return turns;
}

} // namespace perpend::quoin
