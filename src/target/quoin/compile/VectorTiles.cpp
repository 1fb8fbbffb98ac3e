//===- VectorTiles.cpp - which part of a nest is an iteration -------------===//
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

using llvm::ArrayRef;
using llvm::SmallVector;

constexpr std::array<int64_t, boxRank> mostExtents = {65535, 4095, 4095};

/// Sorted by the stride of what is stored, the least first.
static SmallVector<unsigned, 8> byStride(const Nest &nest, const Access &access, bool isReduced) {
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
    if (box[dim] < 0 || tiles[dim] == extentOf(dim))
      continue;
    Loop &loop = nest.loops[box[dim]];
    nest.loops.push_back({loop.extent / tiles[dim], loop.isReduced});
    nest.loops[box[dim]].extent = tiles[dim];
    auto extend = [&](Access &access) { access.strides.push_back(access.strides[box[dim]] * tiles[dim]); };
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
LoadPlan VectorNest::planOf(const Access &access) const {
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

/// An upper bound, with the box as it is.
uint64_t VectorNest::bytesNeeded() {
  uint64_t bytes = 0;
  const int64_t elements = extentOf(0) * extentOf(1) * extentOf(2);
  auto addBytes = [&](int64_t count, DType type) {
    bytes = llvm::alignTo(bytes, l1Alignment) + static_cast<uint64_t>(count) * sizeOf(type);
  };
  for (auto [number, node] : llvm::enumerate(nest.nodes))
    addBytes(node.kind == Node::Load ? plans[number].elements : node.kind == Node::Number ? 1 : elements, node.type);
  for (unsigned each = 0; each < 3; ++each) // sums, a partial result, and what is stored
    addBytes(elements, sizeOf(nest.type) > 2 ? nest.type : DType::F32);
  return bytes;
}

static int64_t largestDivisor(int64_t number, int64_t most) {
  for (int64_t parts = std::max<int64_t>(1, llvm::divideCeil(number, most)); parts < number; ++parts)
    if (number % parts == 0)
      return number / parts;
  return 1;
}

/// Cuts the box, the outer dimensions first, until its values fit in L1. Tiles divide the extents.
bool VectorNest::chooseTiles() {
  const std::vector<Loop> whole = nest.loops;
  tiles = extents();
  for (unsigned dim = 0; dim < boxRank; ++dim)
    if (box[dim] >= 0)
      tiles[dim] = nest.loops[box[dim]].extent = largestDivisor(whole[box[dim]].extent, mostExtents[dim]);
  while (true) {
    if (planLoads() && bytesNeeded() <= config.l1Bytes)
      break;
    unsigned dim = boxRank;
    while (dim > 0 && tiles[dim - 1] == 1)
      --dim;
    if (dim-- == 0)
      return refuse(problem.empty() ? "one element needs more than L1 has" : problem);
    tiles[dim] = largestDivisor(whole[box[dim]].extent, tiles[dim] - 1);
    nest.loops[box[dim]].extent = tiles[dim];
  }
  problem.clear();
  nest.loops = whole;
  return true;
}

} // namespace perpend::quoin
