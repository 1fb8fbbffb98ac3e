//===- MatrixLoads.cpp - how operands of a product come into L1 -----------===//
#include "target/quoin/compile/MatrixNest.h"

namespace perpend::quoin {

using llvm::ArrayRef;
using llvm::SmallVector;

/// Rows of the operand, as they lie in memory, one behind the other; `more`: loops that are extents of the load, from
/// the innermost.
bool MatrixNest::emitLoad(bool isRight, int64_t k, const Operand &from, const Operand &to, ArrayRef<LoadDim> more) {
  const Axis own = isRight ? N : M;
  Instruction load;
  load.opcode = Opcode::ld_2d;
  load.dstType = load.src0Type = factor(isRight).type;
  const bool isAlong = isAlongSum(isRight);
  const int64_t row = isAlong ? k : tile[own], rows = isAlong ? tile[own] : k;
  load.extent = {static_cast<uint32_t>(row), static_cast<uint32_t>(rows), 0};
  load.src(0) = from;
  load.dst() = to;
  load.stride1[Src0] =
      static_cast<uint32_t>(isFromRing(isRight) ? ringDistance() : strideOf(factor(isRight).access, isAlong ? own : K));
  load.stride1[Dst] = static_cast<uint32_t>(row);
  if (!isRight && rowLoop) {
    load.opcode = Opcode::ld_3d;
    load.extent = {static_cast<uint32_t>(row), static_cast<uint32_t>(lineOf(M)),
                   static_cast<uint32_t>(rows / lineOf(M))};
    load.stride2[Src0] = static_cast<uint32_t>(left.access.strides[*rowLoop]);
    load.stride2[Dst] = static_cast<uint32_t>(row * lineOf(M));
  }
  unsigned rank = 2;
  if (!more.empty() && isOneRow(isRight, k)) {
    load.extent[0] *= load.extent[1];
    rank = 1;
  }
  for (const LoadDim &dim : more) {
    load.extent[rank] = static_cast<uint32_t>(dim.extent);
    (rank == 1 ? load.stride1 : load.stride2)[Src0] = static_cast<uint32_t>(dim.stride);
    (rank == 1 ? load.stride1 : load.stride2)[Dst] = static_cast<uint32_t>(dim.near);
    load.opcode = ++rank == 3 ? Opcode::ld_3d : Opcode::ld_2d;
  }
  return add(std::move(load));
}

/// Whether the rows of a load follow on one another in memory.
bool MatrixNest::isOneRow(bool isRight, int64_t k) const {
  const Axis own = isRight ? N : M;
  const int64_t row = isAlongSum(isRight) ? k : tile[own], rows = isAlongSum(isRight) ? tile[own] : k;
  return row * rows <= mostBox[0] && strideOf(factor(isRight).access, isAlongSum(isRight) ? own : K) == row;
}

/// Whether both factors of each piece are the same elements, in the same order: rows that are multiplied by one
/// another.
bool MatrixNest::isLoadedOnce() const {
  if (ring || isDepthwise || rowLoop || left.value || tiling.hold != std::array{Hold::Pieces, Hold::Pieces} ||
      left.type != right.type || left.access.buffer != right.access.buffer || left.access.base != right.access.base ||
      tile[M] != extentOf(M) || tile[N] != extentOf(N) || tile[M] != tile[N] ||
      strideOf(left.access, M) != strideOf(right.access, N) || strideOf(left.access, K) != strideOf(right.access, K))
    return false;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (isAround(loop) && left.access.strides[loop] != right.access.strides[loop])
      return false;
  return true;
}

/// How many of the innermost loops are extents of a load.
size_t MatrixNest::loopsOfLoad(bool isRight, ArrayRef<unsigned> loops) const {
  if (isWindow(isRight) || (!isRight && (rowLoop || left.value)))
    return 0;
  constexpr int64_t mostStride = (int64_t{1} << 21) - 1;
  const size_t most = isOneRow(isRight, extentOf(K)) ? 2 : 1;
  size_t count = 0;
  auto block = static_cast<int64_t>(blockBytes(isRight));
  while (count < std::min(most, loops.size())) {
    const unsigned loop = loops[loops.size() - 1 - count];
    const int64_t stride = factor(isRight).access.strides[loop], extent = nest.loops[loop].extent;
    if (stride < 0 || stride > mostStride || block > mostStride || extent > mostBox[1])
      break;
    block *= extent;
    ++count;
  }
  return count;
}

/// All of the sum, for all tiles that are inside of here. `ahead`: elements from what this iteration reads.
bool MatrixNest::emitHeld(bool isRight, int64_t ahead) {
  const Factor &held = factor(isRight);
  const auto size = static_cast<int64_t>(sizeOf(held.type));
  SmallVector<unsigned, 8> loops = isDepthwise ? SmallVector<unsigned, 8>() : heldLoops(isRight);
  const unsigned depth = stream.depth();
  SmallVector<Advance, 8> far, near;
  for (auto [level, loop] : llvm::enumerate(ArrayRef(outer).take_front(depth)))
    far.push_back({static_cast<unsigned>(level), held.access.strides[loop] * size});
  auto block = static_cast<int64_t>(blockBytes(isRight));
  SmallVector<LoadDim, 2> inner;
  for (size_t count = loopsOfLoad(isRight, loops); count > 0; --count) {
    const unsigned loop = loops.pop_back_val();
    inner.push_back({nest.loops[loop].extent, held.access.strides[loop], block / size});
    block *= nest.loops[loop].extent;
  }
  for (size_t index = loops.size(); index-- > 0;) {
    const unsigned number = depth + static_cast<unsigned>(index);
    far.push_back({number, held.access.strides[loops[index]] * size});
    near.push_back({number, block});
    block *= nest.loops[loops[index]].extent;
  }
  if (depth + loops.size() > numLoops)
    return refuse("more loops than the sequencer has");
  const Spot &place = places[held.access.buffer];
  std::optional<Operand> from =
      stream.operand(place.space, place.byte + static_cast<uint64_t>((held.access.base + ahead) * size), far);
  std::optional<Operand> to =
      stream.at(room(isRight ? MatrixRooms::Right : MatrixRooms::Left), 0, near, /*isWritten=*/true);
  if (!from || !to)
    return refuseAddresses();
  for (unsigned loop : loops)
    stream.openLoop(static_cast<uint64_t>(nest.loops[loop].extent));
  if (isDepthwise && isRight)
    return emitTapWeights(*from, *to);
  if (isWindow(isRight) ? !emitWindow(*from, *to) : !emitFactor(isRight, 0, extentOf(K), *from, *to, inner))
    return false;
  for (size_t each = 0; each < loops.size(); ++each)
    stream.closeLoop();
  return true;
}

} // namespace perpend::quoin
