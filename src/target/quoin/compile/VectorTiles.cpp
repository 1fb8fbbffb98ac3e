//===- VectorTiles.cpp - which part of a nest is an iteration -------------===//
#include "target/quoin/compile/Choices.h"
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace perpend::quoin {

using llvm::ArrayRef;
using llvm::SmallVector;

/// Sorted by the stride of what is stored, the least first.
static SmallVector<unsigned, 8> byStride(const Nest &nest, const ElementAccess &access, bool isReduced) {
  SmallVector<unsigned, 8> loops;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (nest.loops[loop].isReduced == isReduced)
      loops.push_back(loop);
  llvm::sort(loops,
             [&](unsigned a, unsigned b) { return std::pair(access.strides[a], a) < std::pair(access.strides[b], b); });
  return loops;
}

/// The reduced loop along which most loads go on by single elements is the inner one if it is longer than what is
/// stored side by side; otherwise what is stored is the box.
void VectorNest::chooseBox() {
  SmallVector<unsigned, 8> spatial = byStride(nest, nest.store, false);
  int best = -1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (nest.loops[loop].isReduced && (best < 0 || nest.loops[loop].extent > nest.loops[best].extent))
      best = static_cast<int>(loop);
  const int64_t adjacent = spatial.empty() ? 1 : nest.loops[spatial[0]].extent;
  auto isContiguous = [&](const Node &node) {
    return node.kind == Node::Load && best >= 0 && node.access.strides[best] == 1;
  };
  unsigned dim = 0;
  if (best >= 0 && (nest.loops[best].extent > adjacent || llvm::any_of(nest.nodes, isContiguous)) &&
      nest.loops[best].extent >= 8) {
    reducedDim = 0;
    box[dim++] = best;
  }
  for (unsigned loop : spatial)
    if (dim < boxRank)
      box[dim++] = static_cast<int>(loop);
}

/// Loops that are cut become two: the outer one, and the box's.
void VectorNest::stripMine() {
  for (unsigned dim = 0; dim < boxRank; ++dim) {
    if (!isTiled[dim])
      continue;
    const NestLoop loop = nest.loops[box[dim]];
    for (accelerator::Border &border : nest.borders) // a part of several tiles has none
      for (auto &range : border.iterations)
        if (static_cast<int>(border.loop) == box[dim])
          range.second = std::min(range.second, tiles[dim]);
    if (static_cast<int>(dim) == reducedDim)
      restLoop = static_cast<unsigned>(nest.loops.size());
    nest.loops.push_back({loop.extent / tiles[dim], loop.isReduced});
    nest.loops[box[dim]].extent = tiles[dim];
    auto extend = [&](ElementAccess &access) { access.strides.push_back(access.strides[box[dim]] * tiles[dim]); };
    extend(nest.store);
    for (Node &node : nest.nodes)
      if (node.kind == Node::Load)
        extend(node.access);
  }
  for (bool isReduced : {false, true})
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
      if (!llvm::is_contained(box, static_cast<int>(loop)) && nest.loops[loop].isReduced == isReduced)
        outer.push_back(loop);
}

/// How operands lie along both loops of a border: as a line of what the box has of an image.
struct BorderDim {
  unsigned dim = 0, held = 0; ///< of the box, and of the plan
  int64_t stride = 0, reduced = 0, step = 0, least = 0;
  LoadDim whole; ///< as if there were no border
};

OperandPlan VectorNest::planOf(const ElementAccess &access) const {
  OperandPlan plan;
  SmallVector<LoadDim, 8> dims;
  SmallVector<std::pair<int64_t *, size_t>, 8> near; // strides in L1 that are those of dims
  SmallVector<BorderDim, 2> lines;
  for (unsigned loop : outer)
    if (holdsSums && nest.loops[loop].isReduced && access.strides[loop] != 0)
      plan.held.emplace_back(loop, 0);
  for (const accelerator::Border &border : nest.borders) {
    const int64_t stride = access.strides[border.loop], reduced = access.strides[border.reduced];
    if (!stride || !reduced)
      continue;
    BorderDim line;
    line.dim = static_cast<unsigned>(llvm::find(box, static_cast<int>(border.loop)) - box.begin());
    line.held = static_cast<unsigned>(
        llvm::find_if(plan.held, [&](const auto &held) { return held.first == border.reduced; }) - plan.held.begin());
    line.stride = stride;
    line.reduced = reduced;
    line.step = std::gcd(stride, reduced);
    const auto reach = reachOf(border, stride, reduced);
    plan.isRead &= reach.has_value();
    const auto [least, most] = reach.value_or(std::pair<int64_t, int64_t>(0, 0));
    line.least = least;
    plan.from += least;
    dims.push_back({(most - least) / line.step + 1, line.step});
    const int64_t all = stride * (extentOf(line.dim) - 1) + reduced * (nest.loops[border.reduced].extent - 1);
    line.whole = {all / line.step + 1, line.step};
    lines.push_back(line);
  }
  auto isInLine = [&](auto member, size_t number) {
    return llvm::any_of(lines, [&](const BorderDim &line) { return line.*member == number; });
  };
  for (unsigned dim = 0; dim < boxRank; ++dim)
    if (extentOf(dim) > 1 && access.strides[box[dim]] != 0 && !isInLine(&BorderDim::dim, dim)) {
      near.emplace_back(&plan.strides[dim], dims.size());
      dims.push_back({extentOf(dim), access.strides[box[dim]]});
    }
  for (auto [number, held] : llvm::enumerate(plan.held))
    if (!isInLine(&BorderDim::held, number)) {
      near.emplace_back(&held.second, dims.size());
      dims.push_back({nest.loops[held.first].extent, access.strides[held.first]});
    }
  SmallVector<LoadDim, 8> whole(dims);
  for (auto [number, line] : llvm::enumerate(lines))
    whole[number] = line.whole;
  plan.load = planLoad(dims, access.row);
  plan.roomElements = std::max(plan.load.elements, lines.empty() ? 0 : planLoad(whole, access.row).elements);
  for (auto [stride, number] : near)
    *stride = dims[number].near;
  for (auto [number, line] : llvm::enumerate(lines)) {
    plan.strides[line.dim] = line.stride / line.step * dims[number].near;
    plan.held[line.held].second = line.reduced / line.step * dims[number].near;
    plan.base -= line.least / line.step * dims[number].near;
  }
  return plan;
}

bool VectorNest::planLoads() {
  plans.assign(nest.nodes.size(), {});
  for (auto [number, node] : llvm::enumerate(nest.nodes)) {
    if (node.kind != Node::Load)
      continue;
    if (llvm::any_of(node.access.strides, [](int64_t stride) { return stride < 0; }))
      return refuse("an operand that is read backwards");
    plans[number] = planOf(node.access);
    if (!plans[number].load.isLegal())
      return refuse("an operand in more rows, or directions, than a load has");
  }
  return true;
}

/// From the whole box on, which is cut along the outer dimensions first; the inner one last, where rows begin aligned.
std::vector<Extents> VectorNest::tilings() const {
  Extents whole = {1, 1, 1};
  for (unsigned dim = 0; dim < boxRank; ++dim)
    whole[dim] = std::min(extentOf(dim), mostBox[dim]);
  unsigned least = sizeOf(nest.type);
  for (const Node &node : nest.nodes)
    least = node.kind == Node::Load ? std::min(least, sizeOf(node.type)) : least;
  const auto aligned = static_cast<int64_t>(vectorAlignment / least);
  std::vector<Extents> tilings{whole};
  for (unsigned dim = boxRank; dim-- > 0;) {
    Extents tiling = tilings.back();
    for (int64_t parts = 2; tiling[dim] > 1; parts += std::max<int64_t>(1, parts / 3)) {
      auto length = static_cast<int64_t>(llvm::divideCeil(whole[dim], parts));
      if (dim == 0 && length > aligned)
        length = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(length), static_cast<uint64_t>(aligned)));
      if (length >= tiling[dim])
        continue;
      tiling[dim] = length;
      tilings.push_back(tiling);
    }
  }
  return tilings;
}

/// The nest as tiles of the box, and as smaller ones where they do not divide its extents.
bool VectorNest::emitTiling(const VectorTiling &tiling) {
  VectorNest copy(*this);
  copy.tiles = tiling.tile;
  copy.slots = tiling.slots;
  copy.holdsSums = tiling.holdsSums;
  for (unsigned dim = 0; dim < boxRank; ++dim)
    copy.isTiled[dim] = box[dim] >= 0 && tiling.tile[dim] < extentOf(dim);
  stream.begin();
  VectorRooms rooms;
  return copy.emitParts(0, rooms) || refuse(copy.problem);
}

/// Whether there are loops of a sum outside of the box, along which an operand changes.
bool VectorNest::mayHold() const {
  if (!nest.combine || isReducing())
    return false;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (nest.loops[loop].isReduced && !llvm::is_contained(box, static_cast<int>(loop)))
      return true;
  return false;
}

/// Beginnings and lengths of parts along a dimension: tiles, and the rest; in front of them and behind, single tiles
/// that are not all of windows inside of an image.
std::vector<std::pair<int64_t, int64_t>> VectorNest::partsOf(unsigned dim) const {
  const int64_t extent = extentOf(dim), tile = tiles[dim];
  const bool isWhole = static_cast<int>(dim) == reducedDim; // the rest of a sum is part of the same nest
  int64_t begin = 0, end = extent / tile * tile;
  for (const accelerator::Border &border : nest.borders)
    for (auto [first, last] : border.iterations)
      if (static_cast<int>(border.loop) == box[dim] && tile < extent) {
        begin = std::max(begin, static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(first), tile)));
        end = std::min(end, last / tile * tile);
      }
  std::vector<std::pair<int64_t, int64_t>> parts;
  begin = std::min(begin, extent);
  for (int64_t at = 0; at < begin; at += tile)
    parts.emplace_back(at, std::min(tile, extent - at));
  if (end > begin)
    parts.emplace_back(begin, end - begin);
  for (int64_t at = std::max(begin, end); at < extent && !isWhole; at += tile)
    parts.emplace_back(at, std::min(tile, extent - at));
  return parts;
}

bool VectorNest::emitParts(unsigned dim, VectorRooms &rooms) {
  if (dim == boxRank)
    return emitWhole(rooms);
  constexpr size_t mostParts = 6;
  const std::vector<std::pair<int64_t, int64_t>> parts = partsOf(dim);
  if (parts.size() > mostParts)
    return refuse("more tiles at the borders than are worth it");
  return llvm::all_of(parts, [&](const auto &part) {
    const auto [begin, length] = part;
    VectorNest copy(*this);
    if (static_cast<int>(dim) == reducedDim)
      copy.reducedRest = extentOf(dim) % tiles[dim];
    if (length != extentOf(dim))
      cut(copy.nest, static_cast<unsigned>(box[dim]), begin, begin + length);
    copy.tiles[dim] = std::min(tiles[dim], length);
    return copy.emitParts(dim + 1, rooms) || refuse(copy.problem);
  });
}

/// Borders along the box, of sums whose iterations are few.
bool VectorNest::mayHaveBorders() const {
  constexpr int64_t mostTaps = 121;
  int64_t taps = 1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    taps *= nest.loops[loop].isReduced ? nest.loops[loop].extent : 1;
  return nest.borders.empty() || (mayHold() && taps <= mostTaps && llvm::all_of(nest.borders, [&](const auto &border) {
                                    return llvm::is_contained(box, static_cast<int>(border.loop));
                                  }));
}

bool VectorNest::emitWhole(VectorRooms &rooms) {
  shared = &rooms;
  stripMine();
  return planLoads() && emitLoops();
}

/// The tiles that take the least time, with two slots for what units hand over. Where those do not fit, one.
bool VectorNest::chooseTiles() {
  const std::string shape = shapeOf(nest, places, sharers);
  if (auto known = choices.vectors.find(shape); known != choices.vectors.end() && emitTiling(known->second))
    return true;
  std::optional<VectorTiling> best;
  uint64_t least = 0;
  const std::vector<Extents> all = tilings();
  constexpr unsigned mostWorse = 6;
  for (bool holds : {true, false}) {
    if (holds ? !mayHold() : !nest.borders.empty())
      continue;
    unsigned worse = 0;
    for (const Extents &tile : all) {
      for (unsigned wanted : {2u, 1u}) {
        if (!emitTiling({tile, wanted, holds}))
          continue;
        const uint64_t cycles = estimatedCycles(stream.current(), config, sharers);
        if (best && cycles >= least) {
          ++worse;
          continue;
        }
        best = {tile, wanted, holds};
        least = cycles;
        worse = 0;
      }
      if (worse >= mostWorse)
        break;
    }
  }
  if (!best)
    return false;
  choices.vectors[shape] = *best;
  return emitTiling(*best);
}

} // namespace perpend::quoin
