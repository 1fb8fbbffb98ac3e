//===- MatrixWindows.cpp - left factors that are images -------------------===//
//
// In a convolution, iterations of the sum read the same pixels for different rows. Those of a tile are loaded once, and
// the feeder takes the rows of each iteration from where they lie: lines of pixels, which im2col of single pixels makes
// rows of a fractal.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/MatrixNest.h"

#include <numeric>

namespace perpend::quoin {

/// Loops of the sum around the product, without one over pieces.
llvm::SmallVector<unsigned, 8> MatrixNest::windowLoops() const {
  llvm::SmallVector<unsigned, 8> loops;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (isAround(loop) && nest.loops[loop].isReduced && changes(false, loop) && loop != chunkLoop &&
        (!rooms || llvm::is_contained(sums, loop)))
      loops.push_back(loop);
  return loops;
}

/// A single tile waits for all of its window. If that comes in chunks of the sum, it waits for the first one.
void MatrixNest::addChunked(std::vector<Tiling> &tilings) const {
  constexpr int64_t line = 64; // bytes
  const int64_t sum = extentOf(K);
  for (size_t index = 0, count = tilings.size(); index < count; ++index)
    for (int64_t chunks : {2, 4}) {
      Tiling tiling = tilings[index];
      tiling.chunk = sum / chunks;
      const bool isOne = tiling.tile[M] == extentOf(M) && tiling.tile[N] == extentOf(N);
      const bool isWindow = tiling.hold[0] == Hold::Window || tiling.hold[0] == Hold::Lines;
      if (!isOne || !isWindow || sum % chunks || tiling.chunk * sizeOf(left.type) % line)
        continue;
      tiling.slots[0] = 2;
      tiling.tile[K] = std::min(tiling.tile[K], tiling.chunk);
      tilings.push_back(tiling);
    }
}

/// A loop over chunks of the sum.
void MatrixNest::cutIntoChunks() {
  if (!tiling.chunk || tiling.chunk == extentOf(K))
    return;
  chunkLoop = static_cast<unsigned>(nest.loops.size());
  nest.loops.push_back({extentOf(K) / tiling.chunk, true});
  forEachAccess([&](ElementAccess &access) { access.strides.push_back(strideOf(access, K) * tiling.chunk); });
  nest.loops[axes[K]].extent = tiling.chunk;
}

bool MatrixNest::mayHoldWindow() const {
  return !left.value && isAlongSum(false) && axes[K] >= 0 && axes[M] >= 0 && !windowLoops().empty();
}

/// Whether nothing is done to results that has rows of its own.
bool MatrixNest::mayHaveLines() const {
  bool hasRows = nest.continues || !rowLoop;
  for (unsigned number = nest.sum.value_or(0); nest.sum && number < nest.nodes.size(); ++number)
    hasRows |= nest.nodes[number].kind == Node::Load &&
               (strideOf(nest.nodes[number].access, M) != 0 || nest.nodes[number].access.strides[*rowLoop] != 0);
  return !hasRows;
}

/// Which loops go along lines, and which from line to line. A loop of the sum that has a border does what the rows of
/// its border do. One without a border may not move what lies in the image: it goes on within a pixel, or on the other
/// level.
bool MatrixNest::findLevels(llvm::MutableArrayRef<LoadDim> dims, llvm::ArrayRef<unsigned> loops) const {
  int64_t pixel = 0; // in elements, of lines that have a border
  bool hasBorderOfLines = false;
  for (const accelerator::Border &border : nest.borders)
    if (border.loop == rowLoop)
      hasBorderOfLines = true;
    else
      pixel = std::gcd(pixel, std::gcd(strideOf(left.access, M), left.access.strides[border.reduced]));
  int64_t within = extentOf(K);
  const unsigned pixels = chunkLoop ? 1 : 0, lines = pixels + 1; // levels
  dims[1].level = pixels;
  if (rowLoop)
    dims[2].level = lines;
  for (auto [loop, dim] : llvm::zip_equal(loops, dims.take_back(loops.size()))) {
    const auto border = llvm::find_if(nest.borders, [&](const auto &each) { return each.reduced == loop; });
    const int64_t further = dim.stride * (dim.extent - 1);
    if (border != nest.borders.end())
      dim.level = border->loop == rowLoop ? lines : pixels;
    else if (pixel && within + further > pixel)
      dim.level = lines;
    else
      within += further;
    if (border == nest.borders.end() && dim.level == lines && hasBorderOfLines)
      return false;
  }
  return !pixel || within <= pixel;
}

MatrixWindow MatrixNest::windowOf(int64_t rows) const {
  if (isDepthwise)
    return depthwiseWindow(rows);
  MatrixWindow window;
  llvm::SmallVector<LoadDim, 8> dims;
  auto addDim = [&](int64_t extent, int64_t stride) { dims.push_back({extent, stride}); };
  addDim(extentOf(K), 1);
  addDim(rowLoop ? lineOf(M) : rows, strideOf(left.access, M));
  if (rowLoop)
    addDim(rows / lineOf(M), left.access.strides[*rowLoop]);
  const llvm::SmallVector<unsigned, 8> loops = windowLoops();
  for (unsigned loop : loops) {
    window.sums.emplace_back(loop, 0);
    addDim(nest.loops[loop].extent, left.access.strides[loop]);
  }
  const bool hasLevels = findLevels(dims, loops);
  window.load = nest.borders.empty() ? planLoad(dims, left.access.row) : planLines(dims);
  window.row = dims[1].near;
  window.line = rowLoop ? dims[2].near : 0;
  for (size_t each = 0; each < window.sums.size(); ++each)
    window.sums[each].second = dims[dims.size() - window.sums.size() + each].near;
  if (!hasLevels || !findInside(window, dims))
    window.load.elements = 0;
  return window;
}

/// The window has the border, too: each of its extents has iterations in front of the image, in it and behind it.
bool MatrixNest::findInside(MatrixWindow &window, llvm::ArrayRef<LoadDim> dims) const {
  window.count = window.load.extents;
  const auto firstSum = dims.size() - window.sums.size();
  for (const accelerator::Border &border : nest.borders) {
    const bool isLine = static_cast<int>(border.loop) == axes[M];
    const LoadDim &own = dims[isLine ? 1 : 2];
    const auto sum = llvm::find_if(window.sums, [&](const auto &each) { return each.first == border.reduced; });
    const int64_t extent = nest.loops[border.loop].extent;
    if (sum == window.sums.end() || (!isLine && border.loop != rowLoop))
      return false;
    if (own.extent < extent) { // several tiles, which partsOf leaves without a border
      if (rooms &&
          llvm::any_of(border.iterations, [&](const auto &range) { return range != std::pair(int64_t{0}, extent); }))
        return false;
      continue;
    }
    const LoadDim &taps = dims[firstSum + static_cast<size_t>(sum - window.sums.begin())];
    const auto reach = reachOf(border, own.stride, taps.stride);
    const unsigned level = own.level;
    if (!reach) {
      window.first[level] = window.count[level] = 0;
      continue;
    }
    const auto [least, most] = *reach;
    const int64_t pitch = window.load.from[level], all = own.stride * (extent - 1) + taps.stride * (taps.extent - 1);
    window.first[level] = least / pitch;
    window.count[level] = window.load.extents[level] - (all - (most - least)) / pitch;
  }
  return true;
}

/// Some iterations of an extent of the window are zeros.
bool MatrixNest::emitFill(const MatrixWindow &window, Operand to, unsigned level, int64_t first, int64_t count) {
  if (count == 0)
    return true;
  LoadPlan plan = window.load;
  plan.extents[level] = count;
  const Instruction shape = plan.instruction(left.type, left.type);
  Instruction fill;
  fill.opcode = Opcode::ld_fill;
  fill.dstType = left.type;
  for (unsigned dim = 0; dim < boxRank; ++dim)
    fill.extent[dim] = std::max(1u, shape.extent[dim]);
  fill.stride1[Dst] = shape.stride1[Dst];
  fill.stride2[Dst] = shape.stride2[Dst];
  to.byte += static_cast<uint64_t>(first * (level ? plan.to[level] : 1)) * sizeOf(left.type);
  fill.dst() = to;
  return add(std::move(fill));
}

bool MatrixNest::emitWindow(Operand from, Operand to) {
  const MatrixWindow window = windowOf(tile[M]);
  if (!window.load.elements)
    return refuse("a window of which more than one part lies in the image");
  const auto size = static_cast<int64_t>(sizeOf(left.type));
  const Extents &all = window.load.extents;
  LoadPlan inside = window.load;
  inside.extents = window.count;
  Operand at = to;
  for (unsigned level = 0; level < boxRank; ++level) {
    const int64_t first = window.first[level], end = first + window.count[level];
    if (!emitFill(window, to, level, 0, first) || !emitFill(window, to, level, end, all[level] - end))
      return false;
    from.byte += static_cast<uint64_t>(first * (level ? inside.from[level] : 1) * size);
    at.byte += static_cast<uint64_t>(first * (level ? inside.to[level] : 1) * size);
  }
  if (llvm::is_contained(inside.extents, 0)) // all of it is zeros
    return true;
  Instruction load = inside.instruction(left.type, left.type);
  load.dst() = at;
  load.src(0) = from;
  return add(std::move(load));
}

/// Borders are those of a window's lines, or of its rows.
bool MatrixNest::mayHaveBorders() {
  if (isDepthwise)
    return true;
  for (const accelerator::Border &border : nest.borders) {
    const bool isRow = static_cast<int>(border.loop) == axes[M] || border.loop == rowLoop;
    if (!isRow || static_cast<int>(border.reduced) == axes[K] || changes(true, border.loop) || !mayHoldWindow())
      return refuse("borders that are not those of lines");
  }
  return true;
}

/// Beginnings and lengths of parts along an axis: tiles, and the rest; in front of them and behind, single tiles with a
/// border.
std::vector<std::pair<int64_t, int64_t>> MatrixNest::partsOf(Axis axis) const {
  const int64_t extent = extentOf(axis), length = tile[axis];
  const unsigned cut = rowLoop ? *rowLoop : static_cast<unsigned>(std::max(axes[M], 0));
  int64_t begin = 0, end = extent / length * length;
  for (const accelerator::Border &border : nest.borders) {
    if (axis != M || border.loop != cut || length == extent)
      continue;
    const int64_t line = lineOf(M);
    for (auto [first, last] : border.iterations) {
      begin = std::max(begin, (first * line + length - 1) / length * length);
      end = std::min(end, last * line / length * length);
    }
  }
  std::vector<std::pair<int64_t, int64_t>> parts;
  begin = std::min(begin, extent);
  for (int64_t at = 0; at < begin; at += length)
    parts.emplace_back(at, std::min(length, extent - at));
  if (end > begin)
    parts.emplace_back(begin, end - begin);
  for (int64_t at = std::max(begin, end); at < extent; at += length)
    parts.emplace_back(at, std::min(length, extent - at));
  return parts;
}

/// k elements of the sum, from `base` on, of the iteration that the open loops say.
bool MatrixNest::emitWindowFeed(int64_t base, int64_t k) {
  const MatrixWindow window = windowOf(tile[M]);
  const auto size = static_cast<int64_t>(sizeOf(left.type));
  llvm::SmallVector<Advance, 8> advances;
  for (auto [loop, distance] : window.sums)
    if (loopNumbers[loop])
      advances.push_back({*loopNumbers[loop], distance * size});
  if (outer.size() > spatial.size() + sums.size()) // the loop over pieces
    advances.push_back({*loopNumbers[outer.back()], tile[K] * size});
  std::optional<Operand> from = stream.at(room(MatrixRooms::Left), static_cast<uint64_t>(base * size), advances);
  std::optional<Operand> to = stream.at(room(MatrixRooms::FedLeft));
  if (!from || !to)
    return refuseAddresses();
  const int64_t line = rowLoop ? lineOf(M) : tile[M], lines = tile[M] / line;
  Instruction feed;
  feed.opcode = Opcode::fd_a;
  feed.dstType = feed.src0Type = left.type;
  feed.extent = {static_cast<uint32_t>(k), static_cast<uint32_t>(productRows()), 0};
  feed.dst() = *to;
  feed.src(0) = *from;
  feed.stride1[Src0] = static_cast<uint32_t>(window.row);
  if (lines > 1 && window.line != line * window.row && !hasLines()) {
    feed.opcode = Opcode::fd_a_im2col;
    feed.extent[2] = static_cast<uint32_t>(line);
    feed.stride2[Src0] = static_cast<uint32_t>(window.line);
    feed.window.channels = static_cast<uint16_t>(k);
    feed.window.inputWidth = static_cast<uint16_t>(line);
    feed.window.inputHeight = static_cast<uint16_t>(lines);
  }
  return add(std::move(feed));
}

} // namespace perpend::quoin
