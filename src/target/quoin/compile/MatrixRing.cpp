//===- MatrixRing.cpp - products whose right factor comes in chunks -------===//
//
// Chunks of the same columns follow on one another along the sum, those of the next columns come behind them. All rows
// are one tile, so each chunk is read once. Odd rows are a second tile, whose products come behind those of the first
// in each piece, and whose right factor is a part of the columns that have been fed for that.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Matrix.h"
#include "target/quoin/compile/MatrixNest.h"

#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

std::vector<Tiling> MatrixNest::ringTilings() const {
  std::vector<Tiling> found;
  if (extentOf(N) % ring->columns || extentOf(K) % ring->sum)
    return found;
  constexpr int64_t lanes = 16;
  const int64_t rows = extentOf(M), oddRows = ring->odd.columns > 0 ? ring->odd.rows : 0, step = 32 / sizeOf(left.type);
  auto bytesOf = [&](int64_t own) {
    return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(own), lanes)) * 2;
  };
  if (rows > mostRowsOfRing)
    return found;
  for (int64_t feedSlots : {2, 1}) {
    const int64_t longest =
        std::min(static_cast<int64_t>(config.l0aBytes) / ((bytesOf(rows) + bytesOf(oddRows)) * 16 * feedSlots),
                 static_cast<int64_t>(config.l0bBytes) / (bytesOf(ring->columns) * 16 * feedSlots)) *
        step;
    int64_t length = std::min(longest, ring->sum) / step * step;
    while (length > 0 && ring->sum % length)
      length -= step;
    if (length == 0)
      continue;
    for (Hold hold : {Hold::Pieces, Hold::All})
      for (unsigned resultSlots : {2u, 1u}) {
        Tiling tiling;
        tiling.tile = {rows, ring->columns, length};
        tiling.columnsOutside = true;
        tiling.hold = {hold, Hold::Pieces};
        tiling.slots = {hold == Hold::All ? 1u : 2u, 2};
        tiling.feedSlots = static_cast<unsigned>(feedSlots);
        tiling.resultSlots = resultSlots;
        found.push_back(tiling);
      }
  }
  return found;
}

/// From row to row of a chunk, which has no gaps.
int64_t MatrixNest::ringDistance() const { return isAlongSum(true) ? ring->sum : ring->columns; }

/// The elements of the sum from `base` on, behind those of earlier pieces of the chunk.
std::optional<Operand> MatrixNest::ringOperand(int64_t base) {
  const int64_t step = (isAlongSum(true) ? 1 : ring->columns) * static_cast<int64_t>(sizeOf(right.type));
  return stream.atSlot({Space::LLB, ring->byte, ring->chunkBytes, ring->slots, *rooms->chunkTurn},
                       static_cast<uint64_t>(base * step), {{*loopNumbers[outer.back()], tile[K] * step}});
}

/// Of this nest as it was before its loops were ordered.
void MatrixNest::becomeOdd() {
  const OddRows &rest = ring->odd;
  isOdd = true;
  nest.loops[axes[M]].extent = tile[M] = rest.rows;
  forEachAccess([&](ElementAccess &access) {
    access.base += distanceOf(access, M, rest.row) + rest.column * strideOf(access, N);
  });
  orderLoops();
  tile[N] = rest.columns; // of each chunk
  tiling.tile = tile;
}

/// Turns are those of the other rows, and so is the right factor.
bool MatrixNest::makeOddRooms(const MatrixNest &main, MatrixRooms &own) {
  own.turns = main.rooms->turns;
  own.pieceTurn = main.rooms->pieceTurn;
  for (MatrixRooms::Role role : {MatrixRooms::Right, MatrixRooms::FedRight})
    own.rooms[role] = main.rooms->rooms[role];
  rooms = &own;
  return makeRooms();
}

bool MatrixNest::emitChunks() {
  if (!rooms->chunkTurn)
    rooms->chunkTurn = stream.newTurn();
  uint8_t mask = 0;
  auto addLoop = [](MatrixNest &to, int64_t count, int64_t length) {
    to.loopNumbers.push_back(static_cast<unsigned>(to.outer.size()));
    to.outer.push_back(static_cast<unsigned>(to.nest.loops.size()));
    to.nest.loops.push_back({count, true});
    to.forEachAccess([&](ElementAccess &access) { access.strides.push_back(to.strideOf(access, K) * length); });
  };
  auto open = [&](int64_t count, int64_t length) {
    mask |= static_cast<uint8_t>(1u << outer.size());
    addLoop(*this, count, length);
    if (odd)
      addLoop(*odd, count, length);
    stream.openLoop(static_cast<uint64_t>(count));
  };
  open(extentOf(K) / ring->sum, ring->sum);
  stream.addMeeting(ring->cores);
  stream.beginTurn(*rooms->chunkTurn);
  open(ring->sum / tile[K], tile[K]);
  if (!emitPiece(0, tile[K], mask, true))
    return false;
  stream.closeLoop();
  stream.endTurn(*rooms->chunkTurn);
  stream.closeLoop();
  return true;
}

} // namespace perpend::quoin
