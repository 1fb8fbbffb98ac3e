//===- VectorTiles.cpp - which part of a nest is an iteration -------------===//
#include "target/quoin/compile/Choices.h"
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

using llvm::ArrayRef;
using llvm::SmallVector;

constexpr Extents mostExtents = {65535, 4095, 4095};

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

/// Dimensions of the box in the order of their strides. One that goes on within, or right behind, the elements of the
/// ones before it is part of a row; any other makes rows.
LoadPlan VectorNest::planOf(const ElementAccess &access) const {
  LoadPlan plan;
  SmallVector<unsigned, boxRank> dims;
  for (unsigned dim = 0; dim < boxRank; ++dim)
    if (extentOf(dim) > 1 && access.strides[box[dim]] != 0)
      dims.push_back(dim);
  auto strideOf = [&](unsigned dim) { return access.strides[box[dim]]; };
  llvm::sort(dims, [&](unsigned a, unsigned b) { return std::pair(strideOf(a), a) < std::pair(strideOf(b), b); });
  int64_t row = 1;
  unsigned rows = 0;
  int64_t placed = 0;
  for (unsigned dim : dims) {
    const int64_t extent = extentOf(dim), stride = strideOf(dim);
    if (rows == 0 && stride <= 2 * row) { // at most half of what is loaded is not used
      row += (extent - 1) * stride;
      plan.strides[dim] = stride;
      placed = row;
      continue;
    }
    if (rows == 2)
      return plan; // elements: 0
    placed = rows == 0 ? row : placed;
    ++rows;
    plan.extents[rows] = extent;
    plan.from[rows] = stride;
    plan.to[rows] = plan.strides[dim] = placed;
    placed *= extent;
  }
  plan.extents[0] = row;
  plan.elements = std::max<int64_t>(placed, row);
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
    const LoadPlan &plan = plans[number];
    if (plan.elements == 0 || llvm::any_of(llvm::zip_equal(plan.extents, mostExtents), [](const auto &extents) {
          return std::get<0>(extents) > std::get<1>(extents);
        }))
      return refuse("an operand in more rows, or directions, than a load has");
  }
  return true;
}

/// From the whole box on, which is cut along the outer dimensions first; the inner one last.
std::vector<Extents> VectorNest::tilings() const {
  Extents whole = {1, 1, 1};
  for (unsigned dim = 0; dim < boxRank; ++dim)
    whole[dim] = std::min(extentOf(dim), mostExtents[dim]);
  std::vector<Extents> tilings{whole};
  for (unsigned dim = boxRank; dim-- > 0;) {
    Extents tiling = tilings.back();
    for (int64_t parts = 2, least = tiling[dim]; least > 1; parts += std::max<int64_t>(1, parts / 3)) {
      const auto length = static_cast<int64_t>(llvm::divideCeil(whole[dim], parts));
      if (length == tiling[dim])
        continue;
      least = tiling[dim] = length;
      tilings.push_back(tiling);
    }
  }
  return tilings;
}

/// The nest as tiles of the box, and as smaller ones where they do not divide its extents.
bool VectorNest::emitTiling(const Extents &tiling, unsigned wantedSlots) {
  VectorNest copy(*this);
  copy.tiles = tiling;
  copy.slots = wantedSlots;
  for (unsigned dim = 0; dim < boxRank; ++dim)
    copy.isTiled[dim] = box[dim] >= 0 && tiling[dim] < extentOf(dim);
  stream.begin();
  VectorRooms rooms;
  return copy.emitParts(0, rooms) || refuse(copy.problem);
}

bool VectorNest::emitParts(unsigned dim, VectorRooms &rooms) {
  if (dim == boxRank)
    return emitWhole(rooms);
  const int64_t extent = extentOf(dim), rest = extent % tiles[dim];
  auto part = [&](int64_t begin, int64_t length) {
    VectorNest copy(*this);
    if (static_cast<int>(dim) == reducedDim)
      copy.reducedRest = rest;
    if (length != extent) {
      copy.nest.loops[box[dim]].extent = length;
      copy.nest.store.base += begin * nest.store.strides[box[dim]];
      for (Node &node : copy.nest.nodes)
        if (node.kind == Node::Load)
          node.access.base += begin * node.access.strides[box[dim]];
    }
    copy.tiles[dim] = std::min(tiles[dim], length);
    return copy.emitParts(dim + 1, rooms) || refuse(copy.problem);
  };
  const bool hasRest = rest && static_cast<int>(dim) != reducedDim; // that of a sum is part of the same nest
  return part(0, extent - rest) && (!hasRest || part(extent - rest, rest));
}

bool VectorNest::emitWhole(VectorRooms &rooms) {
  shared = &rooms;
  stripMine();
  return planLoads() && emitLoops();
}

/// The tiles that take the least time, with two slots for what units hand over. Where those do not fit, one.
bool VectorNest::chooseTiles() {
  const std::string shape = shapeOf(nest, places, sharers);
  if (auto known = choices.vectors.find(shape);
      known != choices.vectors.end() && emitTiling(known->second.tile, known->second.slots))
    return true;
  std::optional<std::pair<Extents, unsigned>> best;
  uint64_t least = 0;
  unsigned worse = 0;
  constexpr unsigned mostWorse = 6;
  for (const Extents &tiling : tilings()) {
    for (unsigned wanted : {2u, 1u}) {
      if (!emitTiling(tiling, wanted))
        continue;
      const uint64_t cycles = estimatedCycles(stream.current(), config, sharers);
      if (best && cycles >= least) {
        ++worse;
        continue;
      }
      best = {tiling, wanted};
      least = cycles;
      worse = 0;
    }
    if (worse >= mostWorse)
      break;
  }
  if (!best)
    return false;
  choices.vectors[shape] = {best->first, best->second};
  return emitTiling(best->first, best->second);
}

} // namespace perpend::quoin
