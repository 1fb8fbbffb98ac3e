//===- Matrix.cpp - nests for the matrix unit -----------------------------===//
//
// A sum of products of two loads is a product of matrices along three of its loops: rows (m), which only the left
// operand has, columns (n), which only the right one has, and the sum (k), which both have. The other loops are around
// it. The right operand is the one whose loop is the innermost of the result.
//
//   loops that both operands have, then those of one of them, with its tiles, then those of the other
//     loops of the sum
//       feed a piece of both operands, multiply
//     drain, store
//
// An operand is loaded piece by piece, or held: for all of the sum, at one of the loops around.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Matrix.h"
#include "target/quoin/compile/Choices.h"
#include "target/quoin/compile/Cores.h"
#include "target/quoin/compile/Cost.h"
#include "target/quoin/compile/MatrixNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

using llvm::ArrayRef;
using llvm::SmallVector;

bool MatrixNest::add(Instruction instruction) {
  std::string violated = check(instruction, config);
  if (!violated.empty())
    return refuse(instruction.info().name + ": " + violated);
  stream.add(std::move(instruction));
  return true;
}

unsigned MatrixNest::turnOf(unsigned level) {
  if (level == 0)
    return 0;
  if (rooms->turns.size() <= level)
    rooms->turns.resize(level + 1);
  if (!rooms->turns[level])
    rooms->turns[level] = stream.newTurn();
  return *rooms->turns[level];
}

std::optional<Operand> MatrixNest::farOperand(const ElementAccess &access, DType type, int64_t offset) {
  const auto size = static_cast<int64_t>(sizeOf(type));
  SmallVector<Advance, 8> advances;
  for (unsigned loop : outer)
    if (access.strides[loop])
      advances.push_back({*loopNumbers[loop], access.strides[loop] * size});
  return stream.operand(places[access.buffer].space,
                        places[access.buffer].byte + static_cast<uint64_t>((access.base + offset) * size), advances);
}

/// Loops over tiles, then the order of all.
void MatrixNest::orderLoops() {
  for (Axis axis : {M, N}) {
    if (!isTiled[axis])
      continue;
    nest.loops.push_back({extentOf(axis) / tile[axis], false});
    forEachAccess([&](ElementAccess &access) { access.strides.push_back(distanceOf(access, axis, tile[axis])); });
  }
  SmallVector<unsigned, 8> own[2];
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    if (!isAround(loop))
      continue;
    if (loop == chunkLoop)
      sums.insert(sums.begin(), loop);
    else if (nest.loops[loop].isReduced)
      sums.push_back(loop);
    else if (changes(false, loop) && changes(true, loop))
      spatial.push_back(loop);
    else
      own[changes(true, loop)].push_back(loop);
  }
  const auto both = static_cast<unsigned>(spatial.size());
  const bool first = tiling.columnsOutside;
  llvm::append_range(spatial, own[first]);
  const auto afterFirst = static_cast<unsigned>(spatial.size());
  llvm::append_range(spatial, own[!first]);
  for (bool isRight : {false, true})
    holdLevel[isRight] = tiling.hold[isRight] == Hold::All ? both
                         : isRight == first                ? afterFirst
                                                           : static_cast<unsigned>(spatial.size());
}

SmallVector<unsigned, 8> MatrixNest::heldLoops(bool isRight) const {
  SmallVector<unsigned, 8> loops;
  if (isWindow(isRight))
    return loops;
  for (unsigned loop : ArrayRef(spatial).drop_front(holdLevel[isRight]))
    if (changes(isRight, loop))
      loops.push_back(loop);
  llvm::append_range(loops, sums);
  return loops;
}

uint64_t MatrixNest::blockBytes(bool isRight) const {
  if (isWindow(isRight))
    return static_cast<uint64_t>(windowOf(tile[M]).load.elements) * sizeOf(left.type);
  const int64_t own = tiling.tile[isRight ? N : M];
  return llvm::alignTo(static_cast<uint64_t>(own * extentOf(K)) * sizeOf(factor(isRight).type), 64);
}

bool MatrixNest::makeRoom(MatrixRooms::Role role, Space space, uint64_t bytes, unsigned slots, unsigned turn) {
  if (rooms->rooms[role])
    return true;
  const std::optional<unsigned> loadTurn =
      role == MatrixRooms::Left || role == MatrixRooms::Right ? rooms->loadTurns[role] : std::nullopt;
  rooms->rooms[role] = stream.newRoom(space, bytes, turn == 0 ? 1 : slots, turn, loadTurn);
  return rooms->rooms[role] || refuse("a tile that does not fit");
}

static uint64_t fractals(int64_t rows, int64_t k, unsigned elementBytes) {
  return llvm::divideCeil(static_cast<uint64_t>(rows), 16) *
         llvm::divideCeil(static_cast<uint64_t>(k) * elementBytes, 32) * fractalBytes;
}

/// Of the first part, which has the largest tiles.
bool MatrixNest::makeRooms() {
  using enum MatrixRooms::Role;
  if (!rooms->pieceTurn)
    rooms->pieceTurn = stream.newTurn();
  if (chunkLoop && !rooms->chunkTurn)
    rooms->chunkTurn = stream.newTurn();
  if (isDepthwise && tiling.isInBlocks() && !rooms->blockTurn)
    rooms->blockTurn = stream.newTurn();
  const unsigned tileTurn = turnOf(static_cast<unsigned>(spatial.size())), pieceTurn = *rooms->pieceTurn;
  const unsigned size = sizeOf(left.type);
  for (bool isRight : {false, true}) {
    uint64_t bytes = static_cast<uint64_t>(tile[isRight ? N : M] * tile[K]) * size;
    if (isDepthwise && isRight) {
      bytes = static_cast<uint64_t>(tile[N] * nest.loops[tapAlong].extent * nest.loops[tapAcross].extent) * size;
    } else if (tiling.hold[isRight] != Hold::Pieces) {
      bytes = blockBytes(isRight);
      for (unsigned loop : heldLoops(isRight))
        bytes *= static_cast<uint64_t>(nest.loops[loop].extent);
    }
    const bool isChunk = !isRight && chunkLoop;
    const unsigned turn = isChunk                                ? *rooms->chunkTurn
                          : tiling.hold[isRight] == Hold::Pieces ? pieceTurn
                                                                 : turnOf(holdLevel[isRight]);
    if (!isChunk && tiling.hold[isRight] != Hold::Pieces && turn != 0 && tiling.slots[isRight] == 2 &&
        !rooms->loadTurns[isRight])
      rooms->loadTurns[isRight] = stream.newTurn();
    const uint64_t fed =
        isDepthwise ? depthwiseBytes()[isRight] : fractals(isRight ? tile[N] : productRows(), tile[K], size);
    if (!makeRoom(isRight ? Right : Left, Space::L1, bytes, tiling.slots[isRight], turn) ||
        !makeRoom(isRight ? FedRight : FedLeft, isRight ? Space::L0B : Space::L0A, fed,
                  isDepthwise && isRight ? 2 : tiling.feedSlots, isDepthwise && isRight ? turn : pieceTurn))
      return false;
  }
  if (!makeRawRoom())
    return false;
  const auto rows = static_cast<uint64_t>(productRows()), columns = static_cast<uint64_t>(tile[N]);
  const uint64_t tiles = llvm::divideCeil(rows, 16) * llvm::divideCeil(columns, 16);
  const uint64_t result = rows * columns * sizeOf(nest.type);
  const uint64_t accumulators = isDepthwise ? depthwiseBytes()[2] : tiles * tileBytes;
  return makeRoom(Accumulators, Space::L0C, accumulators, tiling.resultSlots, rooms->blockTurn.value_or(tileTurn)) &&
         makeRoom(Result, Space::L1, result, 2, tileTurn) &&
         (!nest.continues || makeRoom(Addend, Space::L1, result, 2, tileTurn));
}

bool MatrixNest::emitFeed(bool isRight, int64_t base, int64_t k) {
  if (isWindow(isRight))
    return emitWindowFeed(base, k);
  const Axis own = isRight ? N : M;
  const bool isAlong = isAlongSum(isRight), isHeld = tiling.hold[isRight] != Hold::Pieces;
  const auto size = static_cast<int64_t>(sizeOf(factor(isRight).type));
  SmallVector<Advance, 8> advances;
  const int64_t step = isAlong ? size : size * tile[own]; // from one element of the sum to the next
  int64_t first = isHeld ? base * step : 0;
  if (isHeld) {
    auto block = static_cast<int64_t>(blockBytes(isRight));
    for (unsigned loop : llvm::reverse(heldLoops(isRight))) {
      if (const auto begin = begins.find(loop); begin != begins.end())
        first += begin->second * block;
      advances.push_back({*loopNumbers[loop], block});
      block *= nest.loops[loop].extent;
    }
    for (size_t loop = spatial.size() + sums.size(); loop < outer.size(); ++loop) // over chunks, and over pieces
      advances.push_back({*loopNumbers[outer[loop]], (loop + 1 == outer.size() ? tile[K] : ring->sum) * step});
  }
  std::optional<Operand> from = stream.at(loadedRoom(isRight), static_cast<uint64_t>(first), advances);
  std::optional<Operand> to = stream.at(room(isRight ? MatrixRooms::FedRight : MatrixRooms::FedLeft));
  if (!from || !to)
    return refuseAddresses();
  Instruction feed;
  feed.opcode = isRight ? (isAlong ? Opcode::fd_b_tr : Opcode::fd_b) : (isAlong ? Opcode::fd_a : Opcode::fd_a_tr);
  feed.dstType = feed.src0Type = factor(isRight).type;
  const auto extent = static_cast<uint32_t>(tile[own]), sum = static_cast<uint32_t>(k);
  feed.extent = isRight ? std::array<uint32_t, 3>{extent, sum, 0} : std::array<uint32_t, 3>{sum, extent, 0};
  feed.dst() = *to;
  feed.src(0) = *from;
  feed.stride1[Src0] = static_cast<uint32_t>(!isAlong ? tile[own] : isHeld ? extentOf(K) : k);
  return add(std::move(feed));
}

/// k elements of the sum, from `base` on.
bool MatrixNest::emitPiece(int64_t base, int64_t k, uint8_t loopMask, bool isFirst) {
  stream.beginTurn(*rooms->pieceTurn);
  if (!emitProduct(base, k, loopMask, isFirst))
    return false;
  if (odd && !odd->emitProduct(base, k, loopMask, isFirst))
    return refuse(odd->problem);
  stream.endTurn(*rooms->pieceTurn);
  return true;
}

bool MatrixNest::emitProduct(int64_t base, int64_t k, uint8_t loopMask, bool isFirst) {
  for (bool isRight : {false, true}) {
    if (tiling.hold[isRight] != Hold::Pieces || (isRight && (isOdd || isLoadedOnce())))
      continue;
    const Factor &loaded = factor(isRight);
    std::optional<Operand> from = isFromRing(isRight)
                                      ? ringOperand(base)
                                      : farOperand(loaded.access, loaded.type, base * strideOf(loaded.access, K));
    std::optional<Operand> to = stream.at(room(isRight ? MatrixRooms::Right : MatrixRooms::Left));
    if (!from || !to)
      return refuseAddresses();
    if (!emitFactor(isRight, base, k, *from, *to))
      return false;
  }
  if (!emitFeed(false, base, k) || (!isOdd && !emitFeed(true, base, k)))
    return false;
  const uint64_t before = isOdd ? fractals(ring->odd.column, k, sizeOf(right.type)) : 0;
  std::optional<Operand> a = stream.at(room(MatrixRooms::FedLeft)), b = stream.at(room(MatrixRooms::FedRight), before),
                         c = stream.at(room(MatrixRooms::Accumulators));
  if (!a || !b || !c)
    return refuseAddresses();
  Instruction multiply;
  multiply.opcode = Opcode::mm_acc;
  multiply.dstType = sumType();
  multiply.src0Type = left.type;
  multiply.src1Type = right.type;
  multiply.extent = {static_cast<uint32_t>(tile[N]), static_cast<uint32_t>(productRows()), static_cast<uint32_t>(k)};
  multiply.dst() = *c;
  multiply.src(0) = *a;
  multiply.src(1) = *b;
  multiply.zero = isFirst;
  multiply.loopMask = isFirst ? loopMask : 0;
  return add(std::move(multiply));
}

/// Adds the result as it is to the one in L1.
bool MatrixNest::emitSum(const Operand &from, uint32_t rowDistance) {
  const auto columns = static_cast<uint32_t>(tile[N]), rows = static_cast<uint32_t>(tile[M]);
  std::optional<Operand> addend = stream.at(room(MatrixRooms::Addend)), result = stream.at(room(MatrixRooms::Result));
  if (!addend || !result)
    return refuseAddresses();
  Instruction load;
  load.opcode = Opcode::ld_2d;
  load.dstType = load.src0Type = nest.type;
  load.extent = {columns, rows, 0};
  load.src(0) = from;
  load.dst() = *addend;
  load.stride1[Src0] = rowDistance;
  load.stride1[Dst] = columns;
  Instruction sum;
  sum.opcode = Opcode::add;
  sum.dstType = sum.src0Type = sum.src1Type = nest.type;
  sum.extent = {columns, rows, 1};
  sum.dst() = sum.src(0) = *result;
  sum.src(1) = *addend;
  sum.stride1 = {columns, columns, columns, 0};
  return add(std::move(load)) && add(std::move(sum));
}

bool MatrixNest::emitResult() {
  std::optional<Operand> result = stream.at(room(MatrixRooms::Result)), to = farOperand(nest.store, nest.type, 0);
  if (!result || !to)
    return refuseAddresses();
  const auto columns = static_cast<uint32_t>(tile[N]), rows = static_cast<uint32_t>(tile[M]);
  if (!emitDrain())
    return false;
  const auto rowDistance = static_cast<uint32_t>(axes[M] < 0 ? tile[N] : strideOf(nest.store, M));
  if (nest.continues && !emitSum(*to, rowDistance))
    return false;
  Instruction store;
  store.opcode = Opcode::st_2d;
  store.dstType = store.src0Type = nest.type;
  store.extent = {columns, rows, 0};
  store.dst() = *to;
  store.src(0) = *result;
  store.stride1[Src0] = columns;
  store.stride1[Dst] = rowDistance;
  if (hasLines() || hasPartsOfLines) {
    store.opcode = Opcode::st_3d;
    store.extent = {columns, static_cast<uint32_t>(lineOf(M)), rows / static_cast<uint32_t>(lineOf(M))};
    store.stride2[Src0] = static_cast<uint32_t>(hasLines() ? rowsOfLine(windowOf(tile[M])) : lineOf(M)) * columns;
    store.stride2[Dst] = static_cast<uint32_t>(nest.store.strides[*rowLoop]);
  }
  return add(std::move(store));
}

bool MatrixNest::emitSums() {
  if (ring)
    return emitChunks();
  const int64_t whole = extentOf(K) / tile[K], rest = extentOf(K) % tile[K];
  uint8_t mask = 0;
  for (unsigned loop : sums) {
    mask |= static_cast<uint8_t>(1u << *loopNumbers[loop]);
    stream.openLoop(static_cast<uint64_t>(nest.loops[loop].extent));
    if (loop != chunkLoop)
      continue;
    stream.beginTurn(*rooms->chunkTurn);
    if (!emitHeld(false))
      return false;
  }
  if (whole > 1) {
    const auto pieces = static_cast<unsigned>(nest.loops.size());
    nest.loops.push_back({whole, true});
    forEachAccess([&](ElementAccess &access) { access.strides.push_back(strideOf(access, K) * tile[K]); });
    loopNumbers.push_back(static_cast<unsigned>(outer.size()));
    outer.push_back(pieces);
    stream.openLoop(static_cast<uint64_t>(whole));
    if (!emitPiece(0, tile[K], static_cast<uint8_t>(mask | 1u << *loopNumbers[pieces]), true))
      return false;
    stream.closeLoop();
    outer.pop_back();
  } else if (whole && !emitPiece(0, tile[K], mask, true)) {
    return false;
  }
  if (rest && !emitPiece(whole * tile[K], rest, mask, whole == 0))
    return false;
  while (stream.depth() > spatial.size()) {
    if (chunkLoop && stream.depth() == spatial.size() + 1)
      stream.endTurn(*rooms->chunkTurn);
    stream.closeLoop();
  }
  return true;
}

bool MatrixNest::numberLoops() {
  outer = spatial;
  if (!isDepthwise)
    llvm::append_range(outer, sums);
  if (outer.size() + (extentOf(K) / tile[K] > 1) > numLoops)
    return refuse("more loops than the sequencer has");
  loopNumbers.assign(nest.loops.size(), std::nullopt);
  for (auto [number, loop] : llvm::enumerate(outer))
    loopNumbers[loop] = static_cast<unsigned>(number);
  return emitNumbers();
}

bool MatrixNest::emitLoops() {
  return numberLoops() && (!odd || odd->numberLoops() || refuse(odd->problem)) && emitLevel(0);
}

bool MatrixNest::isAhead(bool isRight, unsigned level) const {
  return level && tiling.hold[isRight] != Hold::Pieces && holdLevel[isRight] == level && rooms->loadTurns[isRight];
}

/// Loads of held factors, and of operands of what is done to results, inside of so many loops. A held factor that has
/// two slots is loaded an iteration ahead: its loads would otherwise wait in their unit's queue behind those of the
/// pieces, which wait for the products of this iteration.
bool MatrixNest::emitHeldAt(unsigned level) {
  if (level == 0 && !emitSides())
    return false;
  for (bool isRight : {false, true}) {
    if (tiling.hold[isRight] == Hold::Pieces || holdLevel[isRight] != level || isAhead(isRight, level) ||
        (!isRight && chunkLoop))
      continue;
    const bool isSame = level == 0 && isOnePart[isRight ? N : M];
    if (isSame && rooms->isLoaded[isRight])
      continue;
    if (!emitHeld(isRight) || (isDepthwise && isRight && !feedTapWeights()))
      return false;
    rooms->isLoaded[isRight] = isSame;
  }
  if (isDepthwise && isAhead(true, level) && !feedTapWeights())
    return false;
  return emitOperands(level);
}

/// What is inside of so many loops.
bool MatrixNest::emitLevel(unsigned level) {
  if (!emitHeldAt(level))
    return false;
  if (odd && !odd->emitHeldAt(level))
    return refuse(odd->problem);
  if (level == spatial.size()) {
    if (!isDepthwise && !emitSums())
      return false;
    outer = spatial;
    if (!emitResult())
      return false;
    if (!odd)
      return true;
    odd->outer = odd->spatial;
    return odd->emitResult() || refuse(odd->problem);
  }
  const int64_t count = nest.loops[spatial[level]].extent;
  const bool ahead[2] = {isAhead(false, level + 1), isAhead(true, level + 1)};
  if (!ahead[0] && !ahead[1])
    return emitTurn(level, 0, count, ahead);
  for (bool isRight : {false, true})
    if (ahead[isRight] && !emitAhead(isRight, 0))
      return false;
  constexpr bool none[2] = {false, false};
  return (count == 1 || emitTurn(level, 0, count - 1, ahead)) && emitTurn(level, count - 1, 1, none);
}

/// Loads a held factor for another iteration of the loop that is the next, or has been opened last.
bool MatrixNest::emitAhead(bool isRight, int64_t iteration) {
  const unsigned loop = spatial[holdLevel[isRight] - 1];
  stream.beginTurn(*rooms->loadTurns[isRight]);
  if (!emitHeld(isRight, iteration * factor(isRight).access.strides[loop]))
    return false;
  stream.endTurn(*rooms->loadTurns[isRight]);
  return true;
}

/// Some iterations of the loop at a level, which load these factors for the next ones.
bool MatrixNest::emitTurn(unsigned level, int64_t begin, int64_t count, ArrayRef<bool> ahead) {
  MatrixNest part(*this);
  const unsigned loop = spatial[level];
  part.begins[loop] = begin;
  part.forEachAccess([&](ElementAccess &access) { access.base += begin * access.strides[loop]; });
  stream.openLoop(static_cast<uint64_t>(count));
  stream.beginTurn(turnOf(level + 1));
  for (bool isRight : {false, true})
    if (ahead[isRight] && !part.emitAhead(isRight, 1))
      return refuse(part.problem);
  if (!part.emitLevel(level + 1))
    return refuse(part.problem);
  stream.endTurn(turnOf(level + 1));
  stream.closeLoop();
  return true;
}

/// Rows and columns are multiples of the tile.
bool MatrixNest::emitWhole(MatrixRooms &shared) {
  rooms = &shared;
  MatrixNest rest(*this);
  MatrixRooms restRooms;
  cutIntoChunks();
  orderLoops();
  if (!makeRooms())
    return false;
  if (ring && ring->odd.columns > 0) {
    rest.becomeOdd();
    if (!rest.makeOddRooms(*this, restRooms))
      return refuse(rest.problem);
    odd = &rest;
  }
  return emitLoops();
}

/// What is no multiple of a tile of this axis is a part of its own.
bool MatrixNest::emitParts(Axis axis, MatrixRooms &shared) {
  constexpr size_t mostParts = 8;
  const std::vector<std::pair<int64_t, int64_t>> parts = partsOf(axis);
  if (parts.size() > mostParts)
    return refuse("more tiles at the borders than are worth it");
  return llvm::all_of(parts, [&](const auto &each) {
    const auto [begin, length] = each;
    MatrixNest copy(*this);
    if (axes[axis] >= 0) {
      const unsigned loop = axis == M && rowLoop ? *rowLoop : static_cast<unsigned>(axes[axis]);
      copy.nest.loops[loop].extent = length / lineOf(axis);
      cutBorders(copy.nest, loop, begin / lineOf(axis), (begin + length) / lineOf(axis));
      copy.forEachAccess([&](ElementAccess &access) { access.base += distanceOf(access, axis, begin); });
    }
    copy.tile[axis] = std::min(tile[axis], length);
    return (axis == M ? copy.emitParts(N, shared) : copy.emitWhole(shared)) || refuse(copy.problem);
  });
}

bool MatrixNest::emitTiling(const Tiling &wanted) {
  return (!ring && emitTiling(wanted, true)) || emitTiling(wanted, false);
}

bool MatrixNest::emitTiling(const Tiling &wanted, bool keepsColumns) {
  MatrixNest copy(*this);
  copy.whole = keepsColumns ? this : nullptr;
  copy.tiling = wanted;
  copy.tile = wanted.tile;
  stream.begin();
  MatrixRooms shared;
  if (!copy.emitLines(shared))
    return refuse(copy.problem);
  const bool isAhead = shared.loadTurns[0] || shared.loadTurns[1];
  return !(isAhead || ring) || stream.countsTurns() || refuse("more turns than there are loop registers");
}

/// Of the tilings that are best by a formula, the one whose instructions are.
bool MatrixNest::chooseTiles() {
  std::string shape = shapeOf(nest, places, sharers);
  if (ring)
    for (int64_t each : {ring->columns, ring->sum, ring->odd.rows, ring->odd.columns})
      shape += " ring " + std::to_string(each);
  if (auto known = choices.products.find(shape); known != choices.products.end() && emitTiling(known->second))
    return true;
  std::optional<Tiling> best;
  uint64_t least = 0;
  problem = "a tile of 16 does not fit";
  for (const Tiling &each : ring ? ringTilings() : tilings()) {
    if (!emitTiling(each))
      continue;
    const uint64_t cycles = estimatedCycles(stream.current(), config, sharers);
    if (!best || cycles < least) {
      best = each;
      least = cycles;
    }
  }
  if (!best)
    return false;
  choices.products[shape] = *best;
  return emitTiling(*best);
}

void MatrixNest::forEachWay(llvm::function_ref<void()> visit) {
  if (findFactors() && assignLoops() && mayHaveBorders())
    for (const Tiling &each : tilings())
      if (emitTiling(each))
        visit();
  stream.abandon();
}

std::string MatrixNest::emit() {
  if (findFactors() && assignLoops() && mayHaveBorders() && chooseTiles())
    return "";
  stream.abandon();
  return problem;
}

std::string MatrixNest::emit(const Ring &wanted) {
  ring = &wanted;
  if (!findFactors() || !assignLoops())
    return problem;
  const bool isPlain = !isDepthwise && !rowLoop && nest.borders.empty() && right.access.buffer == ring->buffer &&
                       nest.loops.size() == numAxes && !nest.continues;
  if (isPlain ? chooseTiles() : refuse("more than a product of two matrices"))
    return "";
  stream.abandon();
  return problem;
}

bool isMatrixNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream, Choices &choices) {
  return MatrixNest(nest, places, config, stream, 1, choices).isProduct();
}

bool isDepthwiseNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream, Choices &choices) {
  MatrixNest product(nest, places, config, stream, 1, choices);
  return product.isProduct() && product.hasOwnSums();
}

std::string emitMatrixNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream,
                           unsigned sharers, Choices &choices) {
  return MatrixNest(nest, places, config, stream, sharers, choices).emit();
}

std::string emitMatrixNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream,
                           unsigned sharers, Choices &choices, const Ring &ring) {
  return MatrixNest(nest, places, config, stream, sharers, choices).emit(ring);
}

void forEachMatrixWay(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream, unsigned sharers,
                      llvm::function_ref<void()> visit) {
  Choices none;
  MatrixNest(nest, places, config, stream, sharers, none).forEachWay(visit);
}

} // namespace perpend::quoin
