//===- MatrixPrologue.cpp - what is computed of a left factor -------------===//
//
// A left factor may be computed of elements that lie in memory as those of a factor do, of numbers, and of values that
// change along the sum alone, such as scales of channels. Elements come into a room of their own; the vector unit
// computes of them what the feeder takes.
//
//   load -> Raw -> an instruction for each node -> Left -> feed
//
// What is held is computed ahead, as it is loaded: in the queue of the vector unit it is then before the drains of the
// tile that is multiplied meanwhile.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/MatrixNest.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>

namespace perpend::quoin {

using llvm::SmallVector;

/// The nodes of which a value is computed, and itself, in order.
static SmallVector<unsigned, 8> nodesOf(const Nest &nest, unsigned value) {
  std::vector<bool> isUsed(value + 1);
  isUsed[value] = true;
  SmallVector<unsigned, 8> nodes;
  for (unsigned number = value + 1; number-- > 0;) {
    if (!isUsed[number])
      continue;
    nodes.push_back(number);
    for (unsigned operand : nest.nodes[number].operands)
      isUsed[operand] = true;
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

/// The load that changes along the most loops is the one of the factor's elements.
std::optional<Factor> MatrixNest::computedFactor(unsigned value) const {
  auto isWide = [&](const Node &node) {
    return node.kind == Node::Apply && node.opcode == Opcode::cvt &&
           isWidening(nest.nodes[node.operands[0]].type, node.type);
  };
  while (isWide(nest.nodes[value]))
    value = nest.nodes[value].operands[0];
  std::optional<unsigned> load;
  ptrdiff_t most = 0;
  for (unsigned number : nodesOf(nest, value)) {
    const Node &node = nest.nodes[number];
    const ptrdiff_t changes = node.kind == Node::Load ? llvm::count_if(node.access.strides, std::identity()) : 0;
    if (changes > most) {
      load = number;
      most = changes;
    }
  }
  if (!load || nest.nodes[*load].type != nest.nodes[value].type)
    return std::nullopt;
  return Factor{nest.nodes[*load].access, nest.nodes[value].type, value, *load};
}

/// Whether the vector unit can compute the left factor on a tile.
bool MatrixNest::findPrologue() {
  prologue.clear();
  sides.clear();
  if (right.value)
    return refuse("a right factor that is computed");
  if (!left.value)
    return true;
  if (isDepthwise || axes[K] < 0 || !isAlongSum(false) || !nest.borders.empty())
    return refuse("a computed factor that does not lie in rows");
  for (unsigned number : nodesOf(nest, *left.value)) {
    const Node &node = nest.nodes[number];
    if (node.kind == Node::Load && number != left.load) {
      for (auto [loop, stride] : llvm::enumerate(node.access.strides))
        if (static_cast<int>(loop) == axes[K] ? stride != 0 && stride != 1 : stride != 0)
          return refuse("a factor that is computed of several tiles");
      sides.push_back(number);
    }
    if (node.kind != Node::Apply)
      continue;
    if (reinterprets(nest, node))
      return refuse("a factor that is computed of other bits");
    prologue.push_back(number);
  }
  return true;
}

/// Passes of the vector unit over each 128 bytes of the factor.
unsigned MatrixNest::prologuePasses() const {
  unsigned passes = 0;
  for (unsigned number : prologue)
    passes += infoOf(nest.nodes[number].opcode).cycleRate;
  return passes;
}

/// The elements as they lie in memory, of a tile.
bool MatrixNest::makeRawRoom() {
  if (!left.value)
    return true;
  const bool isHeld = tiling.hold[false] != Hold::Pieces;
  if (!rooms->rawTurn)
    rooms->rawTurn = isHeld ? stream.newTurn() : *rooms->pieceTurn;
  const auto elements = static_cast<uint64_t>(tile[M] * (isHeld ? extentOf(K) : tile[K]));
  return makeRoom(MatrixRooms::Raw, Space::L1, elements * sizeOf(left.type), tiling.slots[false], *rooms->rawTurn);
}

/// Loads what changes along the sum alone, for all of it. Parts that follow find it in L1.
bool MatrixNest::emitSides() {
  if (rooms->hasSides)
    return true;
  for (unsigned number : sides) {
    const Node &node = nest.nodes[number];
    const int64_t length = strideOf(node.access, K) ? extentOf(K) : 1;
    std::optional<unsigned> room = roomAfter(number, static_cast<uint64_t>(length) * sizeOf(node.type), 1, 0);
    if (!room)
      return false;
    std::optional<Operand> from = farOperand(node.access, node.type, 0), to = stream.at(*room);
    if (!from || !to)
      return refuseAddresses();
    Instruction load;
    load.opcode = Opcode::ld_1d;
    load.dstType = load.src0Type = node.type;
    load.extent = {static_cast<uint32_t>(length), 0, 0};
    load.src(0) = *from;
    load.dst() = *to;
    if (!add(std::move(load)))
      return false;
  }
  return rooms->hasSides = true;
}

/// k elements of the sum, from `base` on, of all rows of the tile.
bool MatrixNest::emitFactor(bool isRight, int64_t base, int64_t k, const Operand &from, const Operand &to,
                            llvm::ArrayRef<LoadDim> more) {
  if (!factor(isRight).value)
    return emitLoad(isRight, k, from, to, more);
  const bool isHeld = tiling.hold[isRight] != Hold::Pieces;
  if (isHeld)
    stream.beginTurn(*rooms->rawTurn);
  std::optional<Operand> raw = stream.at(room(MatrixRooms::Raw));
  if (!raw)
    return refuseAddresses();
  if (!emitLoad(isRight, k, from, *raw, more) || !emitPrologue(base, k, to))
    return false;
  if (isHeld)
    stream.endTurn(*rooms->rawTurn);
  return true;
}

/// An operand of what is computed: of a row for all rows, or a tile.
bool MatrixNest::setPrologueOperand(Instruction &apply, unsigned index, unsigned number, int64_t base, int64_t k) {
  const Node &node = nest.nodes[number];
  SmallVector<Advance, 8> advances;
  unsigned room = 0;
  int64_t first = 0;
  if (number == left.load) {
    room = this->room(MatrixRooms::Raw);
  } else if (node.kind == Node::Number) {
    room = tiles.at(number).room;
  } else if (node.kind == Node::Load) {
    const auto size = static_cast<int64_t>(sizeOf(node.type));
    room = rooms->after.at(number);
    first = base * strideOf(node.access, K) * size;
    for (unsigned loop : outer)
      if (node.access.strides[loop])
        advances.push_back({*loopNumbers[loop], node.access.strides[loop] * size});
  } else {
    room = prologueRooms.at(number);
  }
  std::optional<Operand> at = stream.at(room, static_cast<uint64_t>(first), advances);
  if (!at)
    return refuseAddresses();
  const bool isSide = node.kind == Node::Load && number != left.load, isTile = !isSide && node.kind != Node::Number;
  apply.operands[Src0 + index] = *at;
  apply.inner[Src0 + index] = isTile || (isSide && strideOf(node.access, K)) ? 1 : 0;
  apply.stride1[Src0 + index] = isTile ? static_cast<uint32_t>(k) : 0;
  return true;
}

/// The vector unit computes a tile of the left factor. Where nobody needs an operand any more, the result is written
/// over it.
bool MatrixNest::emitPrologue(int64_t base, int64_t k, const Operand &to) {
  std::map<unsigned, unsigned> users;
  for (unsigned number : prologue)
    for (unsigned operand : nest.nodes[number].operands)
      ++users[operand];
  prologueRooms.clear();
  for (unsigned number : prologue) {
    const Node &node = nest.nodes[number];
    Instruction apply;
    apply.opcode = node.opcode;
    apply.dstType = node.type;
    apply.extent = {static_cast<uint32_t>(k), static_cast<uint32_t>(tile[M]), 1};
    std::optional<unsigned> reused;
    for (auto [index, operand] : llvm::enumerate(operandsOf(nest, node))) {
      const Node &value = nest.nodes[operand];
      const auto position = static_cast<unsigned>(index);
      const bool isLast = --users[operand] == 0;
      if (value.kind == Node::Number && !tiles.contains(operand)) {
        apply.mode = Operands::Scalar;
        setNumber(apply, value.type, value.number);
        continue;
      }
      if (index < 2)
        (index == 0 ? apply.src0Type : apply.src1Type) = value.type;
      if (!setPrologueOperand(apply, position, operand, base, k))
        return false;
      const bool isTile = value.kind == Node::Apply || operand == left.load;
      if (isLast && isTile && sizeOf(value.type) == sizeOf(node.type))
        reused = operand == left.load ? room(MatrixRooms::Raw) : prologueRooms.at(operand);
    }
    apply.inner[Dst] = 1;
    apply.stride1[Dst] = static_cast<uint32_t>(k);
    apply.dst() = to;
    if (number != *left.value) {
      if (!reused)
        reused = roomAfter(number, static_cast<uint64_t>(tile[M] * k) * sizeOf(node.type), 1, 0);
      if (!reused)
        return false;
      prologueRooms[number] = *reused;
      std::optional<Operand> own = stream.at(*reused);
      if (!own)
        return refuseAddresses();
      apply.dst() = *own;
    }
    if (!add(std::move(apply)))
      return false;
  }
  return true;
}

} // namespace perpend::quoin
