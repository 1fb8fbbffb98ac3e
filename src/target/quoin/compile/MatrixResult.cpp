//===- MatrixResult.cpp - what is done to each result of a product --------===//
//
// The vector unit drains the accumulators of a tile, and may add a bias and apply an activation while it does. What
// else the nest does to results is one instruction for each node, on the tile in L1.
//
//===----------------------------------------------------------------------===//
#include "target/quoin/compile/MatrixNest.h"
#include "target/quoin/compile/VectorNest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::quoin {

void MatrixNest::forEachAccess(llvm::function_ref<void(ElementAccess &)> visit) {
  for (ElementAccess *access : {&left.access, &right.access, &nest.store})
    visit(*access);
  for (auto [number, node] : llvm::enumerate(nest.nodes))
    if (node.kind == Node::Load &&
        (nest.isAfterSum(static_cast<unsigned>(number)) || llvm::is_contained(sides, static_cast<unsigned>(number))))
      visit(node.access);
}

/// One element for each column, the same for all rows.
bool MatrixNest::isBias(const Node &node) const {
  return node.kind == Node::Load && strideOf(node.access, N) == 1 && strideOf(node.access, M) == 0 &&
         (node.type == sumType() || (isFloat(node.type) && isFloat(sumType())));
}

/// sum * scale + shift is (sum + shift / scale) * scale, which is as exact if the quotient is a number.
bool MatrixNest::addScale(Drain &drain, unsigned user) const {
  const Node &fma = nest.nodes[user];
  if (fma.opcode != Opcode::fma || !isFloat(sumType()) || drain.bias || drain.scale ||
      drain.activation != Activation::None || fma.operands[2] == drain.node)
    return false;
  const unsigned scale = fma.operands[fma.operands[0] == drain.node ? 1 : 0], shift = fma.operands[2];
  const Node &by = nest.nodes[scale], &added = nest.nodes[shift];
  constexpr double most = 1e30;
  if (!isBias(by) || !isBias(added) || by.type != DType::F32 || added.type != DType::F32 ||
      by.access.strides != added.access.strides || by.least == 0 || by.most > most || added.most / by.least > most)
    return false;
  drain.scale = scale;
  drain.shift = shift;
  return true;
}

/// Of two numbers that are the same in each float type.
bool MatrixNest::addActivation(Drain &drain, const Node &next, const Node &other) {
  constexpr double most = 6;
  if (next.opcode == Opcode::max && other.number == 0 && drain.activation == Activation::None)
    drain.activation = Activation::Relu;
  else if (next.opcode == Opcode::min && other.number == most && drain.activation == Activation::Relu)
    drain.activation = Activation::Relu6;
  else
    return false;
  return true;
}

/// Sums are not rounded where the nest goes on with a scale.
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
    return node == nest.result ? std::nullopt : only;
  };
  auto take = [&](unsigned user) {
    drain.node = user;
    drain.done.push_back(user);
  };
  auto isRounding = [&](const Node &next) {
    return next.opcode == Opcode::cvt && isFloat(sumType()) && isFloat(next.type);
  };
  if (std::optional<unsigned> rounded = userOf(drain.node); rounded && isRounding(nest.nodes[*rounded])) {
    const Drain before = drain;
    take(*rounded);
    std::optional<unsigned> user = userOf(*rounded);
    if (user && addScale(drain, *user))
      take(*user);
    else
      drain = before;
  }
  while (std::optional<unsigned> user = userOf(drain.node)) {
    const Node &next = nest.nodes[*user], &now = nest.nodes[drain.node];
    if (next.operands.size() == 2) {
      const unsigned other = next.operands[next.operands[0] == drain.node ? 1 : 0];
      const bool isExact = now.type == sumType();
      const bool isSum = next.opcode == Opcode::add || next.opcode == Opcode::addrelu;
      const bool isBiased = isExact && isSum && drain.activation == Activation::None && !drain.bias && !drain.scale &&
                            isBias(nest.nodes[other]);
      if (isBiased) {
        drain.bias = other;
        drain.activation = next.opcode == Opcode::addrelu ? Activation::Relu : Activation::None;
      } else if (!isFloat(now.type) || nest.nodes[other].kind != Node::Number ||
                 !addActivation(drain, next, nest.nodes[other])) {
        break;
      }
    } else if (now.type == sumType() && isRounding(next)) {
      take(*user);
      continue;
    } else if (now.type != sumType() || !addScale(drain, *user)) {
      break;
    }
    take(*user);
  }
  return drain;
}

/// Of all columns, those of the tile.
std::optional<Operand> MatrixNest::operandOf(const Tile &tile) {
  if (!tile.node)
    return stream.at(tile.room);
  const ElementAccess &access = nest.nodes[*tile.node].access;
  const auto size = static_cast<int64_t>(sizeOf(tile.type));
  llvm::SmallVector<Advance, 8> advances;
  for (unsigned loop : outer)
    if (access.strides[loop])
      advances.push_back({*loopNumbers[loop], access.strides[loop] * size});
  return stream.at(tile.room, static_cast<uint64_t>((access.base - tile.base) * size), advances);
}

bool MatrixNest::setTile(Instruction &instruction, unsigned operand, const Tile &tile) {
  std::optional<Operand> at = operandOf(tile);
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
  if (level == 0 && whole && !emitColumns())
    return false;
  const Drain drain = drainOf();
  for (unsigned number = *nest.sum; number < nest.nodes.size(); ++number) {
    const Node &node = nest.nodes[number];
    if (node.kind == Node::Load && !isOfColumns(number) && levelOf(node.access) == level &&
        !(emitOperand(number, level) && emitWideBias(drain, number, tile[N], level)))
      return false;
  }
  return !drain.scale || isOfColumns(*drain.scale) || levelOf(nest.nodes[*drain.scale].access) != level ||
         emitQuotient(drain, tile[N], level);
}

/// Whether all rows have the same, so that one load is enough for all tiles.
bool MatrixNest::isOfColumns(unsigned number) const {
  if (!whole || axes[N] < 0 || !nest.isAfterSum(number) || nest.nodes[number].kind != Node::Load)
    return false;
  for (auto [loop, stride] : llvm::enumerate(whole->nest.nodes[number].access.strides))
    if (stride != (static_cast<int>(loop) == axes[N] ? 1 : 0))
      return false;
  return true;
}

/// Loads what is the same for all rows. Parts that follow find it in L1.
bool MatrixNest::emitColumns() {
  const Drain drain = drainOf();
  MatrixNest all(*this); // its columns are those of all tiles
  all.nest = whole->nest;
  all.outer.clear();
  all.spatial.clear();
  all.tile[N] = whole->extentOf(N);
  for (unsigned number = *nest.sum; number < nest.nodes.size(); ++number) {
    if (!isOfColumns(number))
      continue;
    if (!rooms->hasColumns && !(all.emitOperand(number, 0) && all.emitWideBias(drain, number, all.tile[N], 0)))
      return refuse(all.problem);
    const bool isWide = number == drain.bias && nest.nodes[number].type != sumType();
    tiles[number] = {
        rooms->after.at(isWide ? wideBias() : number), isWide ? sumType() : nest.nodes[number].type, 1, 0, number,
        whole->nest.nodes[number].access.base};
  }
  if (drain.scale && isOfColumns(*drain.scale)) {
    if (!rooms->hasColumns && !all.emitQuotient(drain, all.tile[N], 0))
      return refuse(all.problem);
    tiles[quotient()] = tiles.at(*drain.scale);
    tiles[quotient()].room = rooms->after.at(quotient());
  }
  rooms->hasColumns = true;
  return true;
}

/// A bias has the type of the sum.
bool MatrixNest::emitWideBias(const Drain &drain, unsigned number, int64_t columns, unsigned level) {
  const DType type = nest.nodes[number].type;
  if (number != drain.bias || type == sumType())
    return true;
  Instruction widen;
  widen.opcode = Opcode::mov;
  widen.dstType = sumType();
  widen.src0Type = type;
  widen.extent = {static_cast<uint32_t>(columns), 1, 1};
  std::optional<unsigned> room = roomAfter(wideBias(), static_cast<uint64_t>(columns) * sizeOf(sumType()), 1, level);
  if (!room || !setTile(widen, Src0, tiles[number]))
    return false;
  tiles[number] = {*room, sumType(), 1, 0};
  return setTile(widen, Dst, tiles[number]) && add(std::move(widen));
}

/// What is added before the scale.
bool MatrixNest::emitQuotient(const Drain &drain, int64_t columns, unsigned level) {
  Instruction divide;
  divide.opcode = Opcode::div;
  divide.dstType = divide.src0Type = divide.src1Type = DType::F32;
  divide.extent = {static_cast<uint32_t>(columns), 1, 1};
  std::optional<unsigned> room = roomAfter(quotient(), static_cast<uint64_t>(columns) * sizeof(float), 2, level);
  if (!room)
    return false;
  tiles[quotient()] = {*room, DType::F32, 1, 0};
  return setTile(divide, Src0, tiles.at(*drain.shift)) && setTile(divide, Src1, tiles.at(*drain.scale)) &&
         setTile(divide, Dst, tiles[quotient()]) && add(std::move(divide));
}

/// Numbers that are no operand modes become one element each.
bool MatrixNest::emitNumbers() {
  for (unsigned number : prologue)
    if (!emitNumbersOf(number))
      return false;
  for (unsigned number = nest.sum.value_or(static_cast<unsigned>(nest.nodes.size())); number < nest.nodes.size();
       ++number)
    if (!emitNumbersOf(number))
      return false;
  return true;
}

/// Those that a node reads.
bool MatrixNest::emitNumbersOf(unsigned number) {
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
  const auto columns = static_cast<uint32_t>(tile[N]), rows = static_cast<uint32_t>(productRows());
  const DType type = isResult ? nest.type : nest.nodes[plan.node].type;
  if (!isResult && !makeRoom(MatrixRooms::Drained, Space::L1, uint64_t{columns} * rows * sizeOf(type), 1, 0))
    return false;
  const MatrixRooms::Role result = isResult ? MatrixRooms::Result : MatrixRooms::Drained;
  std::optional<Operand> from = stream.at(room(MatrixRooms::Accumulators)), to = stream.at(room(result));
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
  if (plan.bias || plan.scale) {
    std::optional<Operand> bias = operandOf(tiles.at(plan.scale ? quotient() : *plan.bias));
    if (!bias)
      return refuseAddresses();
    drain.mode = Operands::Row;
    drain.src1Type = sumType();
    drain.src(1) = *bias;
  }
  if (plan.scale) {
    std::optional<Operand> scale = operandOf(tiles.at(*plan.scale));
    if (!scale)
      return refuseAddresses();
    drain.src(2) = *scale;
  }
  if (isDepthwise ? !emitBlocks(drain, result) : !add(std::move(drain)))
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
  const auto columns = static_cast<uint32_t>(tile[N]), rows = static_cast<uint32_t>(productRows());
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
