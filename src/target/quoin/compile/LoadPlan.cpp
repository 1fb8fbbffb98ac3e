//===- LoadPlan.cpp - how an operand comes into L1 ------------------------===//
#include "target/quoin/compile/LoadPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace perpend::quoin {
namespace {

/// Dimensions that go on by multiples of `pitch`; of rows, `pitch` is 1, and 0 before the first one of lines.
struct LoadLevel {
  int64_t pitch = 1, count = 1;
  llvm::SmallVector<LoadDim *, 4> dims;

  void add(LoadDim *dim) {
    const int64_t common = std::gcd(pitch, dim->stride);
    count = (count - 1) * (pitch / common) + 1 + (dim->extent - 1) * (dim->stride / common);
    pitch = common;
    dims.push_back(dim);
  }
};

} // namespace

/// Levels of dimensions in the order of their strides. One that goes on within the elements of those before it joins
/// them; one that goes on right behind a row does if that is wanted.
static llvm::SmallVector<LoadLevel, 4> levelsOf(llvm::ArrayRef<LoadDim *> dims, int64_t rowElements,
                                                bool joinsNeighbours) {
  llvm::SmallVector<LoadLevel, 4> levels(1);
  for (LoadDim *dim : dims) {
    LoadLevel &last = levels.back();
    const int64_t span = last.pitch * last.count, common = std::gcd(last.pitch, dim->stride);
    const bool isRow = levels.size() == 1, overlaps = dim->stride < span;
    // At most half of what is loaded is not used.
    const int64_t most = rowElements && dim->stride >= rowElements ? span : 2 * span;
    const bool follows = isRow && dim->stride <= most && (joinsNeighbours || span == 1);
    if ((overlaps || follows) && common >= (isRow ? 1 : levels[0].count)) {
      last.add(dim);
      continue;
    }
    LoadLevel &next = levels.emplace_back();
    next.pitch = dim->stride;
    next.add(dim);
  }
  return levels;
}

LoadPlan planLoad(llvm::MutableArrayRef<LoadDim> dims, int64_t row) {
  LoadPlan plan;
  llvm::SmallVector<LoadDim *, 8> sorted;
  for (LoadDim &dim : dims)
    if (dim.extent > 1)
      sorted.push_back(&dim);
  llvm::sort(sorted,
             [](const LoadDim *a, const LoadDim *b) { return std::pair(a->stride, a) < std::pair(b->stride, b); });
  for (bool joinsNeighbours : {true, false}) {
    const llvm::SmallVector<LoadLevel, 4> levels = levelsOf(sorted, row, joinsNeighbours);
    int64_t placed = levels[0].count;
    if (levels.size() > boxRank || placed > mostBox[0])
      continue;
    for (auto [number, level] : llvm::enumerate(levels)) {
      const int64_t step = number == 0 ? 1 : placed;
      for (LoadDim *dim : level.dims) {
        dim->near = dim->stride / level.pitch * step;
        dim->level = static_cast<unsigned>(number);
      }
      plan.extents[number] = level.count;
      plan.from[number] = level.pitch;
      plan.to[number] = step;
      placed = number == 0 ? placed : placed * level.count;
    }
    plan.elements = placed;
    break;
  }
  return plan;
}

LoadPlan planLines(llvm::MutableArrayRef<LoadDim> dims) {
  std::array<LoadLevel, boxRank> levels;
  for (LoadLevel &level : llvm::MutableArrayRef(levels).drop_front())
    level.pitch = 0;
  for (LoadDim &dim : dims)
    levels[dim.level].add(&dim);
  LoadPlan plan;
  plan.elements = 1;
  for (auto [number, level] : llvm::enumerate(levels)) {
    for (LoadDim *dim : level.dims)
      dim->near = dim->stride / level.pitch * plan.elements;
    plan.extents[number] = level.count;
    plan.from[number] = level.pitch;
    plan.to[number] = level.pitch ? plan.elements : 0;
    plan.elements *= level.count;
  }
  return plan;
}

bool LoadPlan::isLegal() const {
  return elements && llvm::all_of(llvm::zip_equal(extents, mostBox),
                                  [](const auto &both) { return std::get<0>(both) <= std::get<1>(both); });
}

Instruction LoadPlan::instruction(DType type, DType memory) const {
  Instruction load;
  const unsigned rank = extents[2] > 1 ? 3 : extents[1] > 1 ? 2 : 1;
  const bool converts = type != memory;
  load.opcode = converts ? Opcode::ld_cvt : rank == 3 ? Opcode::ld_3d : rank == 2 ? Opcode::ld_2d : Opcode::ld_1d;
  load.dstType = type;
  load.src0Type = memory;
  for (unsigned dim = 0; dim < (converts ? boxRank : rank); ++dim)
    load.extent[dim] = static_cast<uint32_t>(extents[dim]);
  if (rank > 1) {
    load.stride1[Dst] = static_cast<uint32_t>(to[1]);
    load.stride1[Src0] = static_cast<uint32_t>(from[1]);
  }
  if (rank > 2) {
    load.stride2[Dst] = static_cast<uint32_t>(to[2]);
    load.stride2[Src0] = static_cast<uint32_t>(from[2]);
  }
  return load;
}

} // namespace perpend::quoin
