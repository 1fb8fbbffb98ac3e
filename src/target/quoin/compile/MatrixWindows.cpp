//===- MatrixWindows.cpp - left factors that are images -------------------===//
//
// In a convolution, iterations of the sum read the same pixels for different rows. Those of a tile are loaded once, and
// the feeder takes the rows of each iteration from where they lie: lines of pixels, which im2col of single pixels makes
// rows of a fractal.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/MatrixNest.h"

namespace perpend::quoin {

/// Loops of the sum around the product, without one over pieces.
llvm::SmallVector<unsigned, 8> MatrixNest::windowLoops() const {
  llvm::SmallVector<unsigned, 8> loops;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (isAround(loop) && nest.loops[loop].isReduced && changes(false, loop) &&
        (!rooms || llvm::is_contained(sums, loop)))
      loops.push_back(loop);
  return loops;
}

bool MatrixNest::mayHoldWindow() const {
  return isAlongSum(false) && axes[K] >= 0 && axes[M] >= 0 && !windowLoops().empty();
}

MatrixWindow MatrixNest::windowOf(int64_t rows) const {
  MatrixWindow window;
  llvm::SmallVector<LoadDim, 8> dims;
  auto addDim = [&](int64_t extent, int64_t stride) { dims.push_back({extent, stride}); };
  addDim(extentOf(K), 1);
  addDim(rowLoop ? lineOf(M) : rows, strideOf(left.access, M));
  if (rowLoop)
    addDim(rows / lineOf(M), left.access.strides[*rowLoop]);
  for (unsigned loop : windowLoops()) {
    window.sums.emplace_back(loop, 0);
    addDim(nest.loops[loop].extent, left.access.strides[loop]);
  }
  window.load = planLoad(dims);
  window.row = dims[1].near;
  window.line = rowLoop ? dims[2].near : 0;
  for (size_t each = 0; each < window.sums.size(); ++each)
    window.sums[each].second = dims[dims.size() - window.sums.size() + each].near;
  return window;
}

bool MatrixNest::emitWindow(const Operand &from, const Operand &to) {
  Instruction load = windowOf(tile[M]).load.instruction(left.type, left.type);
  load.dst() = to;
  load.src(0) = from;
  return add(std::move(load));
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
  feed.extent = {static_cast<uint32_t>(k), static_cast<uint32_t>(tile[M]), 0};
  feed.dst() = *to;
  feed.src(0) = *from;
  feed.stride1[Src0] = static_cast<uint32_t>(window.row);
  if (lines > 1 && window.line != line * window.row) {
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
