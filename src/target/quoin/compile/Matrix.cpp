//===- Matrix.cpp - nests for the matrix unit -----------------------------===//
//
// A sum of products of two loads is a product of matrices along three of its loops: rows (m), which only the left
// operand has, columns (n), which only the right one has, and the sum (k), which both have. The other loops are around
// it. The right operand is the one whose loop is the innermost of the result.
//
//   loops that both operands and the result have, rows, columns
//     loops of the sum
//       load a piece of both operands, feed it, multiply
//     drain, store
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/Matrix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {
namespace {

using llvm::ArrayRef;
using llvm::SmallVector;

enum Axis : unsigned { M, N, K };
constexpr unsigned numAxes = 3;
constexpr std::array<int64_t, numAxes> mostExtents = {1024, 1024, 4095};
constexpr int64_t fractalRows = 16, fractalRowBytes = 32;

/// One of the two factors.
struct Factor {
  Access access;
  DType type = DType::None;
};

class MatrixNest {
public:
  MatrixNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream)
      : nest(nest), places(places), config(config), stream(stream) {}
  std::string emit();

private:
  bool findFactors();
  bool assignLoops();
  int longest(llvm::function_ref<bool(unsigned)> isWanted) const;
  bool chooseTiles();
  bool fits(const std::array<int64_t, numAxes> &tile) const;
  std::string emitParts(Axis axis);
  bool emitWhole();
  bool emitPiece(int64_t base, int64_t k, uint8_t loopMask, bool isFirst);
  bool emitFeed(bool isRight, int64_t k);
  bool emitLoad(bool isRight, int64_t k, const Operand &from);
  bool emitResult();
  bool emitSum(const Operand &from, uint32_t rowDistance);
  bool add(Instruction instruction);
  bool refuse(const llvm::Twine &text) { return problem = text.str(), false; }

  int64_t extentOf(Axis axis) const { return axes[axis] < 0 ? 1 : nest.loops[axes[axis]].extent; }
  int64_t strideOf(const Access &access, Axis axis) const { return axes[axis] < 0 ? 0 : access.strides[axes[axis]]; }
  /// Elements along which an operand goes on by one, so that a row of it is a row in memory.
  bool isAlongSum(bool isRight) const;
  std::optional<Operand> farOperand(const Access &access, DType type, int64_t offset);

  Nest nest;
  ArrayRef<Spot> places;
  const Config &config;
  Stream &stream;
  Factor left, right;
  std::array<int, numAxes> axes = {-1, -1, -1};
  std::array<int64_t, numAxes> tile = {1, 1, 1};
  std::vector<std::optional<unsigned>> loopNumbers;
  SmallVector<unsigned, 8> outer, sums; ///< loops around the product; those of them that are the sum's
  uint64_t leftByte = 0, rightByte = 0, resultByte = 0;
  std::string problem;
};

} // namespace

/// The load behind conversions to wider numbers.
static const Node *loadBehind(const Nest &nest, unsigned number) {
  const Node *node = &nest.nodes[number];
  while (node->kind == Node::Apply && node->opcode == Opcode::cvt)
    node = &nest.nodes[node->operands[0]];
  return node->kind == Node::Load ? node : nullptr;
}

bool MatrixNest::findFactors() {
  const Node &product = nest.nodes[nest.value];
  if (nest.combine != Opcode::add || nest.initial != 0 || product.kind != Node::Apply || product.opcode != Opcode::mul)
    return refuse("no sum of products");
  const Node *a = loadBehind(nest, product.operands[0]), *b = loadBehind(nest, product.operands[1]);
  if (!a || !b)
    return refuse("a product of computed values");
  left = {a->access, a->type};
  right = {b->access, b->type};
  const bool areBytes =
      sizeOf(a->type) == 1 && sizeOf(b->type) == 1 && a->type != DType::Pred8 && b->type != DType::Pred8;
  const bool isFloats = a->type == b->type && isFloat(a->type) && product.type == DType::F32;
  if (!isFloats && !(areBytes && product.type == DType::I32))
    return refuse("a product of types that the matrix unit does not take");
  return true;
}

int MatrixNest::longest(llvm::function_ref<bool(unsigned)> isWanted) const {
  int best = -1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (isWanted(loop) && (best < 0 || nest.loops[loop].extent > nest.loops[best].extent))
      best = static_cast<int>(loop);
  return best;
}

bool MatrixNest::isAlongSum(bool isRight) const {
  return axes[K] < 0 || strideOf((isRight ? right : left).access, K) == 1;
}

bool MatrixNest::assignLoops() {
  auto isIn = [&](const Factor &factor, unsigned loop) { return factor.access.strides[loop] != 0; };
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    if (!isIn(left, loop) && !isIn(right, loop))
      return refuse("a loop along which no operand changes");
    if (nest.loops[loop].isReduced && !(isIn(left, loop) && isIn(right, loop)))
      return refuse("a sum of which one operand is constant");
  }
  auto isOf = [&](const Factor &one, const Factor &other) {
    return [&](unsigned loop) { return !nest.loops[loop].isReduced && isIn(one, loop) && !isIn(other, loop); };
  };
  auto isInner = [&](const Factor &one, const Factor &other) {
    return [&, isOne = isOf(one, other)](unsigned loop) { return isOne(loop) && nest.store.strides[loop] == 1; };
  };
  if (longest(isInner(left, right)) >= 0 || (longest(isInner(right, left)) < 0 && longest(isOf(right, left)) < 0))
    std::swap(left, right);
  axes[N] = longest(isInner(right, left));
  if (axes[N] < 0)
    return refuse("a result whose innermost loop is that of both operands");
  axes[M] = longest(isOf(left, right));
  // Along the sum, or along their own loops, operands lie in rows.
  auto isGood = [&](unsigned loop) {
    if (!nest.loops[loop].isReduced)
      return false;
    const bool leftLies = left.access.strides[loop] == 1 || strideOf(left.access, M) == 1;
    return leftLies && (right.access.strides[loop] == 1 || strideOf(right.access, N) == 1);
  };
  axes[K] = longest(isGood);
  if (axes[K] < 0)
    return refuse("operands that lie in rows along no loop");
  for (const Access *access : {&left.access, &right.access, &nest.store})
    if (llvm::any_of(access->strides, [](int64_t stride) { return stride < 0; }))
      return refuse("an operand that is read backwards");
  return true;
}

static int64_t fractalsOf(int64_t rows, int64_t k, unsigned elementBytes) {
  return static_cast<int64_t>(llvm::divideCeil(rows, fractalRows) *
                              llvm::divideCeil(k * elementBytes, fractalRowBytes));
}

/// Into L0 and, with the result, into L1.
bool MatrixNest::fits(const std::array<int64_t, numAxes> &wanted) const {
  const unsigned size = sizeOf(left.type);
  auto bytes = [&](int64_t elements) { return llvm::alignTo(static_cast<uint64_t>(elements) * size, uint64_t{64}); };
  const int64_t tiles = static_cast<int64_t>(llvm::divideCeil(wanted[M], 16) * llvm::divideCeil(wanted[N], 16));
  return fractalsOf(wanted[M], wanted[K], size) * int64_t{fractalBytes} <= static_cast<int64_t>(config.l0aBytes) &&
         fractalsOf(wanted[N], wanted[K], size) * int64_t{fractalBytes} <= static_cast<int64_t>(config.l0bBytes) &&
         tiles * int64_t{tileBytes} <= static_cast<int64_t>(config.l0cBytes) &&
         bytes(wanted[M] * wanted[K]) + bytes(wanted[N] * wanted[K]) +
                 static_cast<uint64_t>(wanted[M] * wanted[N]) * (nest.continues ? 8 : 4) + 128 <=
             config.l1Bytes;
}

/// The whole extents, halved until they fit: the longest first, as a multiple of 16.
bool MatrixNest::chooseTiles() {
  for (Axis axis : {M, N, K})
    tile[axis] = std::min(extentOf(axis), mostExtents[axis]);
  while (!fits(tile)) {
    unsigned longestAxis = M;
    for (Axis axis : {N, K})
      if (tile[axis] > tile[longestAxis])
        longestAxis = axis;
    if (tile[longestAxis] <= 16)
      return refuse("a tile of 16 does not fit");
    tile[longestAxis] = static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(tile[longestAxis], 2), 16));
  }
  return true;
}

bool MatrixNest::add(Instruction instruction) {
  std::string violated = check(instruction, config);
  if (!violated.empty())
    return refuse(instruction.info().name + ": " + violated);
  stream.add(std::move(instruction));
  return true;
}

std::optional<Operand> MatrixNest::farOperand(const Access &access, DType type, int64_t offset) {
  const auto size = static_cast<int64_t>(sizeOf(type));
  SmallVector<Advance, 8> advances;
  for (unsigned loop : outer)
    if (access.strides[loop])
      advances.push_back({*loopNumbers[loop], access.strides[loop] * size});
  return stream.operand(places[access.buffer].space,
                        places[access.buffer].byte + static_cast<uint64_t>((access.base + offset) * size), advances);
}

/// Rows of the operand, as they lie in DDR, one behind the other.
bool MatrixNest::emitLoad(bool isRight, int64_t k, const Operand &from) {
  const Factor &factor = isRight ? right : left;
  const Axis own = isRight ? N : M;
  Instruction load;
  load.opcode = Opcode::ld_2d;
  load.dstType = load.src0Type = factor.type;
  const bool isAlong = isAlongSum(isRight);
  const int64_t row = isAlong ? k : tile[own], rows = isAlong ? tile[own] : k;
  load.extent = {static_cast<uint32_t>(row), static_cast<uint32_t>(rows), 0};
  load.src(0) = from;
  load.dst() = {Space::L1, 0, ownCore, isRight ? rightByte : leftByte};
  load.stride1[Src0] = static_cast<uint32_t>(std::max<int64_t>(strideOf(factor.access, isAlong ? own : K), 0));
  load.stride1[Dst] = static_cast<uint32_t>(row);
  return add(std::move(load));
}

bool MatrixNest::emitFeed(bool isRight, int64_t k) {
  const Factor &factor = isRight ? right : left;
  const Axis own = isRight ? N : M;
  const bool isAlong = isAlongSum(isRight);
  Instruction feed;
  feed.opcode = isRight ? (isAlong ? Opcode::fd_b_tr : Opcode::fd_b) : (isAlong ? Opcode::fd_a : Opcode::fd_a_tr);
  feed.dstType = feed.src0Type = factor.type;
  const auto extent = static_cast<uint32_t>(tile[own]), sum = static_cast<uint32_t>(k);
  feed.extent = isRight ? std::array<uint32_t, 3>{extent, sum, 0} : std::array<uint32_t, 3>{sum, extent, 0};
  feed.dst() = {isRight ? Space::L0B : Space::L0A, 0, ownCore, 0};
  feed.src(0) = {Space::L1, 0, ownCore, isRight ? rightByte : leftByte};
  feed.stride1[Src0] = static_cast<uint32_t>(isAlong ? k : tile[own]);
  return add(std::move(feed));
}

/// k elements of the sum, from `base` on.
bool MatrixNest::emitPiece(int64_t base, int64_t k, uint8_t loopMask, bool isFirst) {
  for (bool isRight : {false, true}) {
    const Factor &factor = isRight ? right : left;
    std::optional<Operand> from = farOperand(factor.access, factor.type, base * strideOf(factor.access, K));
    if (!from)
      return refuse("more addresses than there are generators");
    if (!emitLoad(isRight, k, *from))
      return false;
  }
  if (!emitFeed(false, k) || !emitFeed(true, k))
    return false;
  Instruction multiply;
  multiply.opcode = Opcode::mm_acc;
  multiply.dstType = isFloat(left.type) ? DType::F32 : DType::I32;
  multiply.src0Type = left.type;
  multiply.src1Type = right.type;
  multiply.extent = {static_cast<uint32_t>(tile[N]), static_cast<uint32_t>(tile[M]), static_cast<uint32_t>(k)};
  multiply.dst() = {Space::L0C, 0, ownCore, 0};
  multiply.src(0) = {Space::L0A, 0, ownCore, 0};
  multiply.src(1) = {Space::L0B, 0, ownCore, 0};
  multiply.zero = isFirst;
  multiply.loopMask = isFirst ? loopMask : 0;
  return add(std::move(multiply));
}

/// Adds the result as it is to the one in L1.
bool MatrixNest::emitSum(const Operand &from, uint32_t rowDistance) {
  const uint64_t byte = resultByte + llvm::alignTo(static_cast<uint64_t>(tile[M] * tile[N]) * sizeOf(nest.type), 64);
  const auto columns = static_cast<uint32_t>(tile[N]), rows = static_cast<uint32_t>(tile[M]);
  Instruction load;
  load.opcode = Opcode::ld_2d;
  load.dstType = load.src0Type = nest.type;
  load.extent = {columns, rows, 0};
  load.src(0) = from;
  load.dst() = {Space::L1, 0, ownCore, byte};
  load.stride1[Src0] = rowDistance;
  load.stride1[Dst] = columns;
  Instruction sum;
  sum.opcode = Opcode::add;
  sum.dstType = sum.src0Type = sum.src1Type = nest.type;
  sum.extent = {columns, rows, 1};
  sum.dst() = sum.src(0) = {Space::L1, 0, ownCore, resultByte};
  sum.src(1) = {Space::L1, 0, ownCore, byte};
  sum.stride1 = {columns, columns, columns, 0};
  return add(std::move(load)) && add(std::move(sum));
}

bool MatrixNest::emitResult() {
  const DType sum = isFloat(left.type) ? DType::F32 : DType::I32;
  Instruction drain;
  drain.opcode = Opcode::drain;
  drain.dstType = nest.type;
  drain.src0Type = sum;
  drain.mode = Operands::Scalar;
  drain.extent = {static_cast<uint32_t>(tile[N]), static_cast<uint32_t>(tile[M]), 0};
  drain.dst() = {Space::L1, 0, ownCore, resultByte};
  drain.src(0) = {Space::L0C, 0, ownCore, 0};
  drain.stride1[Dst] = static_cast<uint32_t>(tile[N]);
  if (!add(std::move(drain)))
    return false;
  std::optional<Operand> to = farOperand(nest.store, nest.type, 0);
  if (!to)
    return refuse("more addresses than there are generators");
  const auto rowDistance = static_cast<uint32_t>(axes[M] < 0 ? tile[N] : strideOf(nest.store, M));
  if (nest.continues && !emitSum(*to, rowDistance))
    return false;
  Instruction store;
  store.opcode = Opcode::st_2d;
  store.dstType = store.src0Type = nest.type;
  store.extent = {static_cast<uint32_t>(tile[N]), static_cast<uint32_t>(tile[M]), 0};
  store.dst() = *to;
  store.src(0) = {Space::L1, 0, ownCore, resultByte};
  store.stride1[Src0] = static_cast<uint32_t>(tile[N]);
  store.stride1[Dst] = rowDistance;
  return add(std::move(store));
}

/// Rows and columns are multiples of the tile.
bool MatrixNest::emitWhole() {
  const unsigned size = sizeOf(left.type);
  leftByte = 0;
  rightByte = llvm::alignTo(static_cast<uint64_t>(tile[M] * tile[K]) * size, 64);
  resultByte = rightByte + llvm::alignTo(static_cast<uint64_t>(tile[N] * tile[K]) * size, 64);
  const int64_t whole = extentOf(K) / tile[K], rest = extentOf(K) % tile[K];
  // Loops over tiles, then those of the sum.
  auto strip = [&](Axis axis, int64_t count) {
    nest.loops.push_back({count, axis == K});
    for (Access *access : {&left.access, &right.access, &nest.store})
      access->strides.push_back(strideOf(*access, axis) * tile[axis]);
    return static_cast<unsigned>(nest.loops.size() - 1);
  };
  SmallVector<unsigned, 8> spatial;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (!llvm::is_contained(axes, static_cast<int>(loop)))
      (nest.loops[loop].isReduced ? sums : spatial).push_back(loop);
  for (Axis axis : {M, N})
    if (extentOf(axis) > tile[axis])
      spatial.push_back(strip(axis, extentOf(axis) / tile[axis]));
  const unsigned sumsAround = static_cast<unsigned>(sums.size());
  std::optional<unsigned> pieces;
  if (whole > 1)
    pieces = strip(K, whole);
  outer = spatial;
  llvm::append_range(outer, sums);
  if (outer.size() + (pieces ? 1 : 0) > numLoops)
    return refuse("more loops than the sequencer has");
  loopNumbers.assign(nest.loops.size(), std::nullopt);
  for (auto [number, loop] : llvm::enumerate(outer))
    loopNumbers[loop] = static_cast<unsigned>(number);
  uint8_t mask = 0;
  for (unsigned loop : sums)
    mask |= static_cast<uint8_t>(1u << *loopNumbers[loop]);
  for (unsigned loop : outer)
    stream.openLoop(static_cast<uint64_t>(nest.loops[loop].extent));
  if (pieces) {
    loopNumbers[*pieces] = static_cast<unsigned>(outer.size());
    outer.push_back(*pieces);
    stream.openLoop(static_cast<uint64_t>(whole));
    if (!emitPiece(0, tile[K], static_cast<uint8_t>(mask | 1u << *loopNumbers[*pieces]), true))
      return false;
    stream.closeLoop();
    outer.pop_back();
  } else if (whole && !emitPiece(0, tile[K], mask, true)) {
    return false;
  }
  if (rest && !emitPiece(whole * tile[K], rest, mask, whole == 0))
    return false;
  for (unsigned each = 0; each < sumsAround; ++each)
    stream.closeLoop();
  outer.resize(spatial.size());
  if (!emitResult())
    return false;
  for (size_t each = 0; each < spatial.size(); ++each)
    stream.closeLoop();
  return true;
}

std::string MatrixNest::emit() {
  if (!findFactors() || !assignLoops() || !chooseTiles())
    return problem;
  return emitParts(M);
}

/// What is no multiple of a tile of this axis is a nest of its own.
std::string MatrixNest::emitParts(Axis axis) {
  const int64_t extent = extentOf(axis), rest = extent % tile[axis];
  auto part = [&](int64_t begin, int64_t length) -> std::string {
    MatrixNest copy(*this);
    if (axes[axis] >= 0) {
      copy.nest.loops[axes[axis]].extent = length;
      for (Access *access : {&copy.left.access, &copy.right.access, &copy.nest.store})
        access->base += begin * access->strides[axes[axis]];
    }
    copy.tile[axis] = std::min(copy.tile[axis], length);
    if (axis == M)
      return copy.emitParts(N);
    return copy.emitWhole() ? "" : copy.problem;
  };
  std::string failed = part(0, extent - rest);
  return failed.empty() && rest ? part(extent - rest, rest) : failed;
}

std::string emitMatrixNest(const Nest &nest, ArrayRef<Spot> places, const Config &config, Stream &stream) {
  const size_t before = stream.size();
  stream.freeGenerators();
  std::string failed = MatrixNest(nest, places, config, stream).emit();
  if (!failed.empty())
    stream.abandon(before);
  return failed;
}

} // namespace perpend::quoin
