//===- MatrixResult.cpp - what is done to each result of a product --------===//
//
// The vector unit drains the accumulators of a tile, and may add a bias and apply an activation while it does. What
// else the nest does to results is one instruction for each node, on the tile in L1.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/MatrixNest.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"

namespace perpend::quoin {

void MatrixNest::forEachAccess(llvm::function_ref<void(ElementAccess &)> visit) {
  for (ElementAccess *access : {&left.access, &right.access, &nest.store})
    visit(*access);
  for (auto [number, node] : llvm::enumerate(nest.nodes))
    if (nest.isAfterSum(static_cast<unsigned>(number)) && node.kind == Node::Load)
      visit(node.access);
}

/// One element for each column, the same for all rows.
bool MatrixNest::isBias(const Node &node) const {
  return node.kind == Node::Load && strideOf(node.access, N) == 1 && strideOf(node.access, M) == 0 &&
         (node.type == sumType() || (isFloat(node.type) && isFloat(sumType())));
}

MatrixNest::Drain MatrixNest::drainOf() const {
  Drain drain;
  if (!nest.sum)
    return drain;
  drain.node = *nest.sum;
  auto userOf = [&](unsigned node) -> std::optional<unsigned> {
    std::optional<unsigned> only;
    for (unsigned user = node + 1; user < nest.nodes.size(); ++user)
      if (llvm::is_contained(nest.nodes[user].operands, node)) {
        if (only || llvm::count(nest.nodes[user].operands, node) > 1)
          return std::nullopt;
        only = user;
      }
    return only;
  };
  while (std::optional<unsigned> user = drain.node == nest.result ? std::nullopt : userOf(drain.node)) {
    const Node &next = nest.nodes[*user];
    if (nest.nodes[drain.node].type != sumType())
      break;
    const bool isRounded = next.opcode == Opcode::cvt && isFloat(sumType()) && isFloat(next.type);
    if (!isRounded && (drain.activation != Activation::None || next.operands.size() != 2))
      break;
    if (isRounded) {
      drain.node = *user;
      drain.done.push_back(*user);
      break;
    }
    const unsigned other = next.operands[next.operands[0] == drain.node ? 1 : 0];
    if (next.opcode == Opcode::add && !drain.bias && isBias(nest.nodes[other]))
      drain.bias = other;
    else if (next.opcode == Opcode::max && isFloat(sumType()) && nest.nodes[other].kind == Node::Number &&
             nest.nodes[other].number == 0)
      drain.activation = Activation::Relu;
    else
      break;
    drain.node = *user;
    drain.done.push_back(*user);
  }
  return drain;
}

bool MatrixNest::setTile(Instruction &instruction, unsigned operand, const Tile &tile) {
  std::optional<Operand> at = stream.at(tile.room);
  if (!at)
    return refuseAddresses();
  instruction.operands[operand] = *at;
  instruction.inner[operand] = tile.inner;
  instruction.stride1[operand] = tile.pitch;
  return true;
}

std::optional<unsigned> MatrixNest::roomAfter(unsigned node, uint64_t bytes, unsigned slots, unsigned level) {
  if (auto known = rooms->after.find(node); known != rooms->after.end())
    return known->second;
  std::optional<unsigned> room = stream.newRoom(Space::L1, bytes, level == 0 ? 1 : slots, turnOf(level));
  if (room)
    rooms->after[node] = *room;
  else
    problem = "a tile that does not fit";
  return room;
}

unsigned MatrixNest::levelOf(const ElementAccess &access) const {
  unsigned level = 0;
  for (auto [position, loop] : llvm::enumerate(spatial))
    if (access.strides[loop])
      level = static_cast<unsigned>(position + 1);
  return level;
}

bool MatrixNest::emitOperand(unsigned number, unsigned level) {
  const Node &node = nest.nodes[number];
  const int64_t along = strideOf(node.access, N), across = strideOf(node.access, M);
  if (along > 1)
    return refuse("an operand whose columns lie apart");
  const int64_t row = along ? tile[N] : 1, rows = across ? tile[M] : 1;
  std::optional<unsigned> room = roomAfter(number, static_cast<uint64_t>(row * rows) * sizeOf(node.type), 2, level);
  std::optional<Operand> from = farOperand(node.access, node.type, 0), to = room ? stream.at(*room) : std::nullopt;
  if (!room)
    return false;
  if (!from || !to)
    return refuseAddresses();
  Instruction load;
  const bool isLine = rows == 1 || (row == 1 && across == 1);
  load.opcode = isLine ? Opcode::ld_1d : Opcode::ld_2d;
  load.dstType = load.src0Type = node.type;
  load.extent = {static_cast<uint32_t>(isLine ? row * rows : row), static_cast<uint32_t>(isLine ? 0 : rows), 0};
  load.src(0) = *from;
  load.dst() = *to;
  if (!isLine) {
    load.stride1[Src0] = static_cast<uint32_t>(across);
    load.stride1[Dst] = static_cast<uint32_t>(row);
  }
  tiles[number] = {*room, node.type, along ? 1u : 0u, across ? static_cast<uint32_t>(row) : 0u};
  return add(std::move(load));
}

/// Loads what nodes behind the sum read, inside of the loops along which it changes.
bool MatrixNest::emitOperands(unsigned level) {
  if (!nest.sum)
    return true;
  const std::optional<unsigned> bias = drainOf().bias;
  for (unsigned number = *nest.sum; number < nest.nodes.size(); ++number) {
    const Node &node = nest.nodes[number];
    if (node.kind != Node::Load || levelOf(node.access) != level)
      continue;
    if (!emitOperand(number, level))
      return false;
    if (number != bias || node.type == sumType())
      continue;
    Instruction widen; // a bias has the type of the sum
    widen.opcode = Opcode::mov;
    widen.dstType = sumType();
    widen.src0Type = node.type;
    widen.extent = {static_cast<uint32_t>(tile[N]), 1, 1};
    const auto wide = static_cast<unsigned>(nest.nodes.size()); // no node has this number
    std::optional<unsigned> room = roomAfter(wide, static_cast<uint64_t>(tile[N]) * sizeOf(sumType()), 1, level);
    if (!room || !setTile(widen, Src0, tiles[number]))
      return false;
    tiles[number] = {*room, sumType(), 1, 0};
    if (!setTile(widen, Dst, tiles[number]) || !add(std::move(widen)))
      return false;
  }
  return true;
}

/// Numbers that are no operand modes become one element each.
bool MatrixNest::emitNumbers() {
  for (unsigned number = nest.sum.value_or(static_cast<unsigned>(nest.nodes.size())); number < nest.nodes.size();
       ++number)
    for (auto [index, operand] : llvm::enumerate(operandsOf(nest, nest.nodes[number]))) {
      const Node &value = nest.nodes[operand];
      const bool isMode = infoOf(nest.nodes[number].opcode).modes && index + 1 == nest.nodes[number].operands.size();
      if (value.kind != Node::Number || isMode || tiles.contains(operand))
        continue;
      if (value.type == DType::Pred8)
        return refuse("a truth that does not change");
      Instruction fill = fillWith(value.type, value.number);
      fill.extent = {1, 1, 1};
      std::optional<unsigned> room = roomAfter(operand, sizeOf(value.type), 1, 0);
      if (!room)
        return false;
      tiles[operand] = {*room, value.type, 1, 1};
      if (!setTile(fill, Dst, tiles[operand]) || !add(std::move(fill)))
        return false;
      tiles[operand].inner = tiles[operand].pitch = 0;
    }
  return true;
}

/// Accumulators of a tile become its result, if nothing else is to be done.
bool MatrixNest::emitDrain() {
  const Drain plan = drainOf();
  const bool isResult = !nest.sum || plan.node == nest.result;
  const auto columns = static_cast<uint32_t>(tile[N]), rows = static_cast<uint32_t>(tile[M]);
  const DType type = isResult ? nest.type : nest.nodes[plan.node].type;
  if (!isResult && !makeRoom(MatrixRooms::Drained, Space::L1, uint64_t{columns} * rows * sizeOf(type), 1, 0))
    return false;
  std::optional<Operand> from = stream.at(room(MatrixRooms::Accumulators)),
                         to = stream.at(room(isResult ? MatrixRooms::Result : MatrixRooms::Drained));
  if (!from || !to)
    return refuseAddresses();
  Instruction drain;
  drain.opcode = Opcode::drain;
  drain.dstType = type;
  drain.src0Type = sumType();
  drain.mode = Operands::Scalar;
  drain.activation = plan.activation;
  drain.extent = {columns, rows, 0};
  drain.dst() = *to;
  drain.src(0) = *from;
  drain.stride1[Dst] = columns;
  if (plan.bias) {
    std::optional<Operand> bias = stream.at(tiles.at(*plan.bias).room);
    if (!bias)
      return refuseAddresses();
    drain.mode = Operands::Row;
    drain.src1Type = sumType();
    drain.src(1) = *bias;
  }
  if (!add(std::move(drain)))
    return false;
  if (isResult)
    return true;
  tiles[plan.node] = {room(MatrixRooms::Drained), type, 1, columns};
  usersLeft.assign(nest.nodes.size(), 0);
  for (const Node &node : nest.nodes)
    for (unsigned operand : node.operands)
      ++usersLeft[operand];
  for (unsigned number = *nest.sum + 1; number < nest.nodes.size(); ++number)
    if (nest.nodes[number].kind == Node::Apply && !llvm::is_contained(plan.done, number) && !emitAfter(number))
      return false;
  return true;
}

bool MatrixNest::emitAfter(unsigned number) {
  const Node &node = nest.nodes[number];
  const llvm::SmallVector<unsigned, 3> operands = operandsOf(nest, node);
  const auto columns = static_cast<uint32_t>(tile[N]), rows = static_cast<uint32_t>(tile[M]);
  Instruction apply;
  apply.opcode = node.opcode;
  apply.dstType = number == nest.result ? nest.type : node.type;
  apply.extent = {columns, rows, 1};
  std::optional<unsigned> reused; // an operand's tile that nobody reads any more
  for (auto [index, operand] : llvm::enumerate(operands)) {
    const Node &value = nest.nodes[operand];
    if (value.kind == Node::Number && !tiles.contains(operand)) {
      apply.mode = Operands::Scalar;
      setNumber(apply, value.type, value.number);
      continue;
    }
    const Tile &tile = tiles.at(operand);
    if (index < 2)
      (index == 0 ? apply.src0Type : apply.src1Type) = tile.type;
    if (!setTile(apply, Src0 + static_cast<unsigned>(index), tile))
      return false;
    const bool isLast = --usersLeft[operand] == 0 && value.kind != Node::Load && value.kind != Node::Number;
    if (isLast && tile.inner == 1 && tile.pitch == columns && sizeOf(tile.type) == sizeOf(apply.dstType))
      reused = tile.room;
  }
  Tile result{room(MatrixRooms::Result), apply.dstType, 1, columns};
  if (number != nest.result) {
    std::optional<unsigned> own =
        reused ? reused : roomAfter(number, uint64_t{columns} * rows * sizeOf(apply.dstType), 1, 0);
    if (!own)
      return false;
    result.room = *own;
  }
  tiles[number] = result;
  return setTile(apply, Dst, result) && add(std::move(apply));
}

} // namespace perpend::quoin
